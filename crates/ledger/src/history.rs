//! Which ledger this is, and what it has been through: see [`farm::History`].

use farm::{History, LedgerId, Opening};
use rusqlite::Connection;

use super::entry::unsigned;
use super::open::unix_ms;
use super::{LedgerFault, table_seals};

/// Makes the identity of a ledger that has none.
pub(super) const NEW_IDENTITY: &str = "INSERT INTO identity SELECT lower(hex(randomblob(16))), 0, TRUE \
                                       WHERE NOT EXISTS (SELECT 1 FROM identity)";

/// By how much the number of an opening rises that gives up what was served before. More openings than that of a lost
/// ledger cannot be given up at once.
const GAP: i64 = 4_096;

/// Notes that the ledger is opened. Returns the number of the opening.
pub(super) fn record_opening(db: &Connection, gives_up: bool) -> Result<u32, LedgerFault> {
    db.execute("UPDATE identity SET is_closed = FALSE", [])?;
    Ok(db.query_row(
        "INSERT INTO openings (epoch, opened_at, build, nonce, decisions, gives_up) \
         SELECT coalesce(max(epoch), 0) + ?, ?, ?, random() & ?, (SELECT decisions FROM identity), ? \
         FROM openings RETURNING epoch",
        (if gives_up { GAP } else { 1 }, unix_ms(), env!("CARGO_PKG_VERSION"), i64::MAX, gives_up),
        |row| row.get(0),
    )?)
}

/// Notes that a transaction changes more than counts.
pub(super) fn note_decision(db: &Connection) -> Result<(), rusqlite::Error> {
    db.prepare_cached("UPDATE identity SET decisions = decisions + 1")?.execute([])?;
    Ok(())
}

/// Notes that the ledger is closed, if it has an identity.
pub(super) fn note_closing(db: &Connection) -> Result<(), LedgerFault> {
    // Whoever closes it may have written nothing before.
    table_seals::keep(db)?;
    db.execute("UPDATE identity SET is_closed = TRUE", [])?;
    Ok(())
}

/// Whether the file by itself is the whole ledger.
pub(super) fn is_closed(db: &Connection) -> bool {
    db.query_row("SELECT is_closed FROM identity", [], |row| row.get(0)).unwrap_or(false)
}

/// Reads it back.
pub(super) fn read(db: &Connection) -> Result<History, LedgerFault> {
    let query = "SELECT ledger, decisions FROM identity";
    let (ledger, decisions) =
        db.query_row(query, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let fault = |_| LedgerFault::Content(format!("its identity is unreadable: {ledger:?}"));
    let mut statement =
        db.prepare("SELECT epoch, nonce, decisions, gives_up FROM openings ORDER BY epoch")?;
    let opening = |row: &rusqlite::Row<'_>| {
        let (nonce, decisions) = (unsigned(row, 1)?, unsigned(row, 2)?);
        Ok(Opening { epoch: row.get(0)?, nonce, decisions, gives_up: row.get(3)? })
    };
    let openings = statement.query_and_then([], opening)?.collect::<Result<_, LedgerFault>>()?;
    let ledger: LedgerId = ledger.parse().map_err(fault)?;
    let decisions = u64::try_from(decisions)
        .map_err(|_| LedgerFault::Content("it has made a negative number of decisions".into()))?;
    Ok(History { ledger, openings, decisions })
}
