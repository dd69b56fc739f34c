//! The ledger's place on the disk.

use std::path::Path;

use ledger::file_bytes;
use rustix::fs::statvfs;

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
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let system = statvfs(folder).ok();
        Disk {
            ledger: file_bytes(path).ok(),
            total: system.as_ref().map(|system| system.f_blocks * system.f_frsize),
            free: system.as_ref().map(|system| system.f_bavail * system.f_frsize),
        }
    }
}
