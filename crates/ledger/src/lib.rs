//! The ledger: the durable set of accepted partial counts, an ordinary SQLite file.
//!
//! One process holds the ledger at a time, by an advisory lock on `FILE-lock`. Other programs such
//! as `sqlite3` may still read the file. One writer writes it ([`spawn`] starts it on a thread),
//! and every write is durable (WAL, `synchronous=FULL`) before the farm hears of it. Everything
//! that is read back is checked like input from outside: the file, the tables and every row.
//!
//! This crate knows SQLite, files, rows, and the rules by which a command changes them. It
//! deliberately does not decide which commands there are (`farm` does), and knows nothing about
//! sockets or options.

#![forbid(unsafe_code)]

mod backup;
mod check_file;
mod credentials;
mod entry;
mod evidence;
mod fault;
mod format;
mod join;
mod looking;
mod making;
mod merge;
mod open;
mod patrol;
mod place;
mod planted;
mod queries;
mod restore;
mod rules;
mod store;
mod task_counts;
mod view;
mod writer;

pub use backup::Draft;
pub use check_file::{Contents, check_file};
pub use credentials::{Credential, Role};
pub use evidence::{Evidence, JobEvidence};
pub(crate) use fault::Result;
pub use fault::{LedgerError, LedgerFault};
pub use join::{Joined, join_ledgers};
pub use making::make_ledger;
pub use merge::Absorbed;
pub use open::{CheckedLedger, Ledger, LedgerLock, file_bytes};
pub use place::{behind_links, canonical, folder_of, with_suffix};
#[cfg(unix)]
pub use planted::{OtherOwner, owner_elsewhere};
pub use store::unix_ms;
pub use view::LedgerView;
pub use writer::{LedgerEvent, LedgerHandle, LedgerRequest, spawn};

#[cfg(test)]
mod tests;
