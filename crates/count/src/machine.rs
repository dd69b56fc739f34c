//! Reads how much memory the machine has.

/// The memory that this process may use, in bytes. It is the machine's memory, or less if a control
/// group of this process allows less. If neither is known, as in a browser, it is 2 GiB.
#[must_use]
pub fn machine_memory() -> u64 {
    has().unwrap_or(2 << 30)
}

#[cfg(target_os = "linux")]
fn has() -> Option<u64> {
    // The number is in kB, as proc_meminfo(5) says, but these are KiB.
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let limit = crate::cgroup::memory_limit(std::path::Path::new("/"));
    Some(limit.map_or(1024 * total, |limit| limit.min(1024 * total)))
}

#[cfg(not(any(target_os = "linux", target_family = "wasm")))]
fn has() -> Option<u64> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    Some(system.total_memory()).filter(|total| *total > 0)
}

#[cfg(target_family = "wasm")]
fn has() -> Option<u64> {
    None
}
