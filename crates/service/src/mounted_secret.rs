//! Secrets that an engine has mounted into a container.
//!
//! Docker gives them the mode 0444 and Kubernetes 0644, because it does not know which user the container's
//! process will be. Nobody else can reach them all the same: they lie in memory, in a file system that is
//! mounted read-only for this container alone.

use std::path::Path;

/// Whether the file at `path` lies on a read-only tmpfs, and this process is in a container. Outside of one, such
/// a file system may be there for all users of the machine.
#[cfg(target_os = "linux")]
pub(crate) fn is_mounted_secret(path: &Path) -> bool {
    use rustix::fs::{StatVfsMountFlags, statfs, statvfs};
    /// How Linux names a tmpfs in `statfs`.
    const TMPFS_MAGIC: i128 = 0x0102_1994;
    let is_tmpfs = statfs(path).is_ok_and(|found| i128::from(found.f_type) == TMPFS_MAGIC);
    let is_read_only =
        statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
    is_tmpfs && is_read_only && is_in_container()
}

/// Whether this process has process numbers of its own, as in a container. The kernel gives the namespace of the
/// machine's process numbers always the same number.
#[cfg(target_os = "linux")]
fn is_in_container() -> bool {
    /// `PROC_PID_INIT_INO` of the kernel.
    const MACHINE: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace != Path::new(MACHINE))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_mounted_secret(_: &Path) -> bool {
    false
}
