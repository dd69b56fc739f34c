//! What can be wrong with a ledger.

use std::path::{Path, PathBuf};

use farm::Contradiction;
use rusqlite::ErrorCode;

use crate::failure::Failure;

/// Why the ledger cannot be used any more. The place is added at the edge: [`LedgerFault::at`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFault {
    /// What SQLite says.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// What we find on reading.
    #[error("{0}")]
    Content(String),
    /// What another version wrote.
    #[error("{0}")]
    Version(String),
    /// What the file system says.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// Another process has it.
    #[error("held by another process")]
    Held,
}

impl From<Contradiction> for LedgerFault {
    fn from(contradiction: Contradiction) -> LedgerFault {
        LedgerFault::Content(contradiction.to_string())
    }
}

impl LedgerFault {
    /// The same as a failure of the program, about the ledger at `path`.
    pub(crate) fn at(self, path: Option<&Path>) -> Failure {
        let path = path.map_or_else(|| PathBuf::from(":memory:"), Path::to_path_buf);
        let reason = self.to_string();
        match self {
            LedgerFault::Held => Failure::LedgerHeld { path },
            LedgerFault::Content(_) => Failure::LedgerCorrupt { path, reason },
            LedgerFault::Version(_) => Failure::LedgerVersion { path, reason },
            LedgerFault::File(_) => Failure::LedgerOpen { path, reason },
            LedgerFault::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    Failure::LedgerHeld { path }
                }
                Some(
                    ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::TypeMismatch
                    // No such table, no such column.
                    | ErrorCode::Unknown,
                ) => Failure::LedgerCorrupt { path, reason },
                Some(ErrorCode::CannotOpen) => Failure::LedgerOpen { path, reason },
                Some(_) => Failure::LedgerWrite { path, reason },
                None => Failure::LedgerCorrupt { path, reason },
            },
        }
    }
}
