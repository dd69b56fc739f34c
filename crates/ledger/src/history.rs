//! Numbers the openings of a ledger.

use rusqlite::Connection;

use super::LedgerFault;
use super::clock::unix_ms;

/// Notes that the ledger is opened. Returns the number of the opening, which rises.
pub(super) fn record_opening(db: &Connection) -> Result<u32, LedgerFault> {
    Ok(db.query_row(
        "INSERT INTO openings (epoch, opened_at, build) SELECT coalesce(max(epoch), 0) + 1, ?, ? FROM openings \
         RETURNING epoch",
        (unix_ms(), env!("CARGO_PKG_VERSION")),
        |row| row.get(0),
    )?)
}
