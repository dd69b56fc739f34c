//! This process, as the system sees it.

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, get_current_pid};

/// What the system says of this process. What it does not say is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    /// Time of processors, seconds.
    pub(super) cpu_seconds: Option<f64>,
    /// Memory that is in use, bytes.
    pub(super) resident_bytes: Option<u64>,
    /// Memory that is mapped, bytes.
    pub(super) virtual_bytes: Option<u64>,
    /// When it was started, Unix seconds.
    pub(super) started_at: Option<u64>,
    /// Open files and connections.
    pub(super) open_files: Option<u64>,
    /// How many of these it may have.
    pub(super) most_files: Option<u64>,
}

impl Process {
    /// Asks the system.
    pub(super) fn now() -> Process {
        let Ok(pid) = get_current_pid() else { return Process::default() };
        let mut system = System::new();
        let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, wanted);
        let Some(process) = system.process(pid) else { return Process::default() };
        Process {
            cpu_seconds: Some(process.accumulated_cpu_time() as f64 / 1e3),
            resident_bytes: Some(process.memory()),
            virtual_bytes: Some(process.virtual_memory()),
            started_at: Some(process.start_time()),
            open_files: process.open_files().map(|files| files as u64),
            most_files: process.open_files_limit().map(|files| files as u64),
        }
    }
}
