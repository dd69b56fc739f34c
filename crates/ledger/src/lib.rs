//! The ledger: the durable set of accepted partial counts, an ordinary SQLite file.
//!
//! One process holds it at a time (an advisory lock on `FILE-lock`, so that anybody may still read
//! it with `sqlite3` meanwhile), one thread writes it ([`writer`]), every write is durable before
//! it is spoken of (WAL, `synchronous=FULL`). What it reads back is checked like anything that
//! comes from outside: file, tables, every row.

#![forbid(unsafe_code)]

mod entry;
mod evidence;
mod fault;
mod join;
mod merge;
mod open;
mod restore;
mod seal;
mod store;
mod writer;

pub use evidence::Evidence;
pub use fault::{FaultKind, LedgerError, LedgerFault};
pub use join::{JoinError, Joined, join_ledgers};
pub use merge::{Absorbed, MergeFault};
pub use open::{CheckedLedger, Ledger, LedgerLock, unix_ms};
pub use writer::{LedgerEvent, LedgerHandle, spawn};

#[cfg(test)]
mod crashes;
#[cfg(test)]
mod tests;
