//! The ledger's place on the disk.

use std::path::Path;

use ledger::file_bytes;

use crate::os::{disk_space, folder_of};

/// Sizes in bytes. What cannot be found out is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disk {
    /// Of the ledger, with its journal.
    pub(super) ledger: Option<u64>,
    /// Of the file system.
    pub(super) total: Option<u64>,
    /// Of what this process may still write there.
    pub(super) free: Option<u64>,
}

impl Disk {
    /// Asks the system about the ledger at `path`. A disk may be slow.
    pub(super) fn of(path: &Path) -> Disk {
        let space = disk_space(folder_of(path)).ok();
        Disk {
            ledger: file_bytes(path).ok(),
            total: space.map(|space| space.total),
            free: space.map(|space| space.free),
        }
    }
}
