//! Numbers the openings of a ledger.

use rusqlite::Connection;

use super::LedgerFault;
use super::clock::unix_ms;

/// Notes that the ledger is opened. Returns the epoch, which rises.
pub(super) fn record_epoch(db: &Connection) -> Result<u32, LedgerFault> {
    Ok(db.query_row(
        "INSERT INTO epochs (epoch, opened_at, build) SELECT coalesce(max(epoch), 0) + 1, ?, ? FROM epochs \
         RETURNING epoch",
        (unix_ms(), env!("CARGO_PKG_VERSION")),
        |row| row.get(0),
    )?)
}
