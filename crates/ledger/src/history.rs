//! Which ledger this is, how often it was opened, and how many of its transactions changed more than counts.

use farm::LedgerId;
use rusqlite::Connection;

use super::LedgerFault;
use super::clock::unix_ms;

/// Gives a new ledger its identity.
pub(super) const NEW_IDENTITY: &str = "INSERT INTO identity VALUES (lower(hex(randomblob(16))), 0)";

/// Notes that the ledger is opened. Returns the number of the opening, which rises.
pub(super) fn record_opening(db: &Connection) -> Result<u32, LedgerFault> {
    Ok(db.query_row(
        "INSERT INTO openings (epoch, opened_at, build) SELECT coalesce(max(epoch), 0) + 1, ?, ? FROM openings \
         RETURNING epoch",
        (unix_ms(), env!("CARGO_PKG_VERSION")),
        |row| row.get(0),
    )?)
}

/// Notes that a transaction changes more than counts.
pub(super) fn note_decision(db: &Connection) -> Result<(), rusqlite::Error> {
    db.prepare_cached("UPDATE identity SET decisions = decisions + 1")?.execute([])?;
    Ok(())
}

/// The ledger's identity.
pub(super) fn identity(db: &Connection) -> Result<LedgerId, LedgerFault> {
    let ledger: String = db.query_row("SELECT ledger FROM identity", [], |row| row.get(0))?;
    let fault = |_| LedgerFault::Content(format!("its identity is unreadable: {ledger:?}"));
    ledger.parse().map_err(fault)
}
