//! A disk with little room. Mounting it requires root.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use super::Scratch;
use super::process::run;

/// A file system that is almost full.
pub(crate) struct SmallDisk(Scratch);

impl SmallDisk {
    pub(crate) const KIB: usize = 16 << 10;

    pub(crate) fn mount() -> SmallDisk {
        let disk = SmallDisk(Scratch::new());
        let size = format!("size={}k", SmallDisk::KIB);
        let mut mount = Command::new("mount");
        run(mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(disk.path(""))).success();
        disk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Leaves this much room besides the existing files, in KiB.
    pub(crate) fn leave(&self, kib: u64) {
        const BLOCK: [u8; 4096] = [0; 4096];
        let mut ballast = File::create(self.path("ballast")).expect("there is room for a name");
        let blocks = (0..).take_while(|_: &u64| ballast.write_all(&BLOCK).is_ok()).count();
        let full = blocks as u64 * BLOCK.len() as u64;
        ballast.set_len(full.saturating_sub(kib << 10)).expect("it becomes smaller");
    }

    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.path("ballast")).expect("it is there");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path("")).status();
    }
}
