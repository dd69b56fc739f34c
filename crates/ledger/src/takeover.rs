//! A copy that followed a ledger takes over from it, and may follow again once somebody else has taken over later.
//!
//! ```text
//!   FILE + FILE-wal                   a mirror, or a ledger that somebody else has
//!   FILE + FILE-wal + FILE-leads      a mirror that has taken over: it is a ledger that follows nobody
//! ```
//!
//! The file tells a process that is started again which of the two it has. It is no part of the ledger, because a copy of the
//! ledger elsewhere has not taken over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use farm::rules::Jobs;

use crate::place::{private, sync_folder_of, with_suffix};
use crate::replace::{mend, remove};
use crate::{CheckedLedger, Ledger, LedgerFault, LedgerLock};

/// How a coordinator begins with a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// It goes on with what is there.
    GoOn,
    /// It gives up what was decided in later states.
    GiveUpLaterStates,
    /// A copy that followed takes over: see [`take_over`].
    TakeOver,
}

impl Beginning {
    /// Opens the ledger in the file `path`.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if a process holds it, or it is not sound.
    pub fn open(self, path: &Path) -> Result<Ledger, LedgerFault> {
        match self {
            Beginning::GoOn => CheckedLedger::open(path)?.begin(),
            Beginning::GiveUpLaterStates => {
                CheckedLedger::open(path)?.giving_up_later_states().begin()
            }
            Beginning::TakeOver => take_over(path),
        }
    }
}

/// Opens a copy that followed a ledger as one that goes on by itself: what was decided in later states is given up. From now
/// on it leads: see [`leads`].
///
/// # Errors
///
/// [`LedgerFault`], if a process holds it, or it is not sound.
pub fn take_over(path: &Path) -> Result<Ledger, LedgerFault> {
    let lock = LedgerLock::of(path)?;
    mend(path)?;
    // A program that reads the copy keeps there what it knew of the log, and SQLite would believe that this is all.
    remove(&with_suffix(path, "-shm"))?;
    let copy = CheckedLedger::open_locked(path, lock, Jobs::Live)?;
    let ledger = copy.giving_up_later_states().begin()?;
    // Nobody was served yet: one that dies before this may follow again.
    private().create(true).truncate(true).open(marker(path))?.sync_all()?;
    sync_folder_of(path)?;
    Ok(ledger)
}

/// Whether the copy in the file `path` has taken over and has not stepped down since.
///
/// # Errors
///
/// The system's, if it cannot tell.
pub fn leads(path: &Path) -> io::Result<bool> {
    Ok(path.try_exists()? && marker(path).try_exists()?)
}

/// Somebody else has taken over later, so that the ledger in the file `path` may become a copy again.
///
/// # Errors
///
/// The system's.
pub fn step_down(path: &Path) -> io::Result<()> {
    match fs::remove_file(marker(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_folder_of(path),
    }
}

fn marker(path: &Path) -> PathBuf {
    with_suffix(path, "-leads")
}
