//! The machine on which figures were reproduced, and when.

use std::time::{SystemTime, UNIX_EPOCH};

use count::Backend;
use sysinfo::{CpuRefreshKind, RefreshKind, System};
use time::{Date, OffsetDateTime};

/// What a reader must know to judge measured figures.
#[derive(Debug)]
pub struct Machine {
    /// The day, in UTC.
    pub date: Date,
    /// The processor as it calls itself.
    pub processor: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The fastest backend that it has.
    pub backend: &'static str,
    /// How many threads wanted to run, on average over the last minute.
    pub load: f64,
}

impl Machine {
    /// Looks at this machine.
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
