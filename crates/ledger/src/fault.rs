//! The errors of a ledger.

use std::path::{Path, PathBuf};

use farm::Contradiction;
use rusqlite::ErrorCode;

/// Why the ledger cannot be used any more. [`LedgerFault::at`] adds the place.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFault {
    /// SQLite reported an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The content is damaged.
    #[error("{0}")]
    Content(String),
    /// Another version of the program wrote it.
    #[error("{0}")]
    Version(String),
    /// The file system reported an error.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// Another process holds the ledger.
    #[error("locked by another process")]
    Locked,
    /// Another program reads it, or has locked it, and does not come to an end.
    #[error("another program has read or locked it for a minute")]
    Busy,
    /// The file cannot be the ledger of a coordinator.
    #[error("{0}")]
    Place(String),
    /// The file is not the one any more that was opened.
    #[error("{0}")]
    Gone(&'static str),
}

/// A fault of a ledger, with the ledger's file.
#[derive(Debug, thiserror::Error)]
#[error("the ledger {}: {fault}", path.display())]
pub struct LedgerError {
    /// The ledger's file; `:memory:` if it has none.
    pub path: PathBuf,
    /// The fault.
    pub fault: LedgerFault,
}

/// What a fault means to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Another process holds it.
    Locked,
    /// Another program reads it, or has locked it.
    Busy,
    /// Its content cannot be trusted.
    Damaged,
    /// It does not begin like a ledger.
    NoLedger,
    /// Another version of the program made it.
    Version,
    /// It cannot be opened.
    Open,
    /// Its file was removed or replaced while it was in use.
    Gone,
    /// It cannot be read or written any more.
    Write,
}

impl From<Contradiction> for LedgerFault {
    fn from(contradiction: Contradiction) -> LedgerFault {
        LedgerFault::Content(contradiction.to_string())
    }
}

impl LedgerFault {
    /// The fault of the ledger at `path`.
    pub fn at(self, path: Option<&Path>) -> LedgerError {
        let path = path.map_or_else(|| PathBuf::from(":memory:"), Path::to_path_buf);
        LedgerError { path, fault: self }
    }

    /// What the fault means.
    pub fn kind(&self) -> FaultKind {
        match self {
            LedgerFault::Locked => FaultKind::Locked,
            LedgerFault::Busy => FaultKind::Busy,
            LedgerFault::Content(_) => FaultKind::Damaged,
            LedgerFault::Version(_) => FaultKind::Version,
            LedgerFault::File(_) | LedgerFault::Place(_) => FaultKind::Open,
            LedgerFault::Gone(_) => FaultKind::Gone,
            LedgerFault::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FaultKind::Busy,
                Some(ErrorCode::NotADatabase) => FaultKind::NoLedger,
                _ if LedgerFault::is_damage(error) => FaultKind::Damaged,
                Some(ErrorCode::CannotOpen) => FaultKind::Open,
                _ => FaultKind::Write,
            },
        }
    }

    /// Whether an error of SQLite says that the file itself is wrong.
    pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
        // A file that ends before a page that it should have.
        let code = error.sqlite_error().map(|error| error.extended_code);
        code == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
            || matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                // No such table, no such column.
                | ErrorCode::Unknown,
                ) | None
            )
    }
}
