//! The ledger: the durable set of accepted partial counts, an ordinary SQLite file.
//!
//! One process holds it at a time (an advisory lock on `FILE-lock`, so that anybody may still read
//! it with `sqlite3` meanwhile), one thread writes it ([`writer`]), every write is durable before
//! it is spoken of (WAL, `synchronous=FULL`). What it reads back is checked like anything that
//! comes from outside: file, tables, every row.

mod entry;
mod evidence;
mod fault;
mod merge;
mod open;
mod restore;
mod seal;
mod store;
mod writer;

pub(crate) use evidence::Evidence;
pub(crate) use fault::LedgerFault;
pub(crate) use merge::{Absorbed, MergeFault};
pub(crate) use open::{CheckedLedger, Ledger, LedgerLock, unix_ms};
pub(crate) use writer::{LedgerEvent, LedgerHandle, spawn};

#[cfg(test)]
mod crashes;
#[cfg(test)]
mod tests;
