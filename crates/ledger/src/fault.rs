//! The errors of a ledger.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use farm::Range;
use rusqlite::{ErrorCode, ffi};

/// The result of reading or writing a ledger.
pub(crate) type Result<T, E = LedgerFault> = std::result::Result<T, E>;

/// Why the ledger cannot be used any more. [`LedgerFault::at`] adds the place.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFault {
    /// It cannot be read or written any more.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// The disk is full, or a limit or a quota keeps a file of it from growing.
    #[error(transparent)]
    Full(std::io::Error),
    /// The content is damaged.
    #[error("{0}")]
    Content(String),
    /// The file is missing or empty, where a ledger was.
    #[error("{0}")]
    Lost(String),
    /// Another version of the program wrote it.
    #[error("{0}")]
    Version(String),
    /// The file system reported an error, or the file cannot be a ledger's.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// The file system lacks something that a ledger needs.
    #[error("{0}")]
    FileSystem(String),
    /// Another process holds the ledger.
    #[error("locked by another process")]
    Locked,
    /// Another coordinator has begun to write it, although this one holds its lock.
    #[error("another coordinator has begun to write it")]
    Taken,
    /// Its file has several names, and a lock protects only one of them.
    #[error("its file has another name (a hard link)")]
    Linked,
    /// Another program has read it or locked it for too long.
    #[error("another program has read or locked it for a minute")]
    Busy,
    /// The name no longer leads to the file that was opened.
    #[error("{0}")]
    Gone(&'static str),
    /// It holds other jobs than the requested one.
    #[error("it holds {holds}, not {wanted}")]
    AnotherPlan {
        /// The jobs that it holds.
        holds: String,
        /// The job that was requested.
        wanted: String,
    },
    /// This many of its ranges are disputed, or wait for a count by another machine or owner.
    #[error("{0} ranges of it wait for another machine")]
    Unsettled(u64),
    /// Its count of some tasks differs from that of the ledgers that were joined before it.
    #[error("it counts {there} for the tasks {range}, and the ledgers before it {here}")]
    Conflict {
        /// The tasks.
        range: Range,
        /// The count in the ledgers that were joined before.
        here: u128,
        /// The count in this ledger.
        there: u128,
    },
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

/// The errors of SQLite when the system neither grants nor refuses a lock.
const LOCKS: [i32; 6] = [
    ffi::SQLITE_IOERR_LOCK,
    ffi::SQLITE_IOERR_RDLOCK,
    ffi::SQLITE_IOERR_UNLOCK,
    ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
    ffi::SQLITE_IOERR_SHMLOCK,
    ffi::SQLITE_PROTOCOL,
];

impl From<rusqlite::Error> for LedgerFault {
    fn from(error: rusqlite::Error) -> LedgerFault {
        // SQLite does not pass on why the system has refused a call, which this thread made last.
        let system = std::io::Error::last_os_error();
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            _ if extended.is_some_and(|code| LOCKS.contains(&code)) => {
                LedgerFault::FileSystem(format!("its locks do not work: {error}"))
            }
            _ if extended == Some(ffi::SQLITE_IOERR_SHMMAP) => {
                let text =
                    "it does not map memory that processes share, or this process may map no more";
                LedgerFault::FileSystem(format!("{text}: {error} (SQLITE_IOERR_SHMMAP)"))
            }
            // The file ends before a page that it should have.
            _ if extended == Some(ffi::SQLITE_IOERR_SHORT_READ) => {
                LedgerFault::Content(error.to_string())
            }
            // SQLite reports `Unknown` if a table or a column is missing.
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown,
            )
            | None => LedgerFault::Content(error.to_string()),
            Some(ErrorCode::TooBig) => {
                LedgerFault::Content("a row of it is larger than any that is written".into())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerFault::Busy,
            Some(ErrorCode::NotADatabase) => {
                let text =
                    "it does not begin like a ledger: it is none, or its beginning is damaged";
                LedgerFault::Content(text.into())
            }
            Some(ErrorCode::OutOfMemory) => std::io::Error::from(ErrorKind::OutOfMemory).into(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
                if matches!(
                    system.kind(),
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
                ) =>
            {
                LedgerFault::Full(system)
            }
            Some(ErrorCode::CannotOpen) if is_out_of_files(&system) => system.into(),
            Some(ErrorCode::CannotOpen) => std::io::Error::other(error.to_string()).into(),
            Some(_) => LedgerFault::Sqlite(error),
        }
    }
}

/// Whether the process or the system may open no further file. Unix has the same numbers
/// everywhere.
fn is_out_of_files(error: &std::io::Error) -> bool {
    const NFILE: i32 = 23;
    const MFILE: i32 = 24;
    cfg!(unix) && error.raw_os_error().is_some_and(|code| [NFILE, MFILE].contains(&code))
}

impl LedgerFault {
    /// The file has no byte. A ledger has some from the moment at which it gets its name.
    pub(crate) fn emptied() -> LedgerFault {
        LedgerFault::Lost("its file is empty, which a ledger never is".into())
    }

    /// Names the ledger that the fault is about: the one that is read, or the one that is written
    /// meanwhile.
    pub fn between(self, from: Option<&Path>, to: Option<&Path>) -> LedgerError {
        let code = |error: &rusqlite::Error| error.sqlite_error().map(|error| error.extended_code);
        let is_read = Some(ffi::SQLITE_IOERR_READ);
        let is_write = match &self {
            LedgerFault::Sqlite(error) => code(error) != is_read,
            fault => matches!(fault, LedgerFault::Full(_)),
        };
        self.at(if is_write { to } else { from })
    }

    /// The fault of the ledger at `path`.
    pub fn at(self, path: Option<&Path>) -> LedgerError {
        let path = path.map_or_else(|| PathBuf::from(":memory:"), Path::to_path_buf);
        LedgerError { path, fault: self }
    }
}
