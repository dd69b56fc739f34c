//! The date and the machine of a reproduction.

use std::time::{SystemTime, UNIX_EPOCH};

use count::Backend;
use sysinfo::{CpuRefreshKind, RefreshKind, System};
use time::{Date, OffsetDateTime};

/// The data that a reader needs to judge measured figures.
#[derive(Debug)]
pub struct Machine {
    /// The day, in UTC.
    pub date: Date,
    /// The processor's name.
    pub processor: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The fastest backend of the processor.
    pub backend: &'static str,
    /// The average number of runnable threads over the last minute.
    pub load: f64,
}

impl Machine {
    /// Describes this machine.
    #[must_use]
    pub fn look() -> Machine {
        let cpu = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
        let system = System::new_with_specifics(cpu);
        let processor = system.cpus().first().map_or("", |cpu| cpu.brand()).trim();
        Machine {
            date: today(),
            processor: if processor.is_empty() { "an unknown processor" } else { processor }.into(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            backend: Backend::detect().name(),
            load: System::load_average().one,
        }
    }

    /// Whether other programs ran at the same time.
    #[must_use]
    pub fn was_shared(&self) -> bool {
        self.load >= 1.0
    }
}

#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
fn today() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (OffsetDateTime::UNIX_EPOCH + since).date()
}
