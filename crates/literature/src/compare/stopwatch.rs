//! A stopwatch that other programs on the machine do not disturb.

use std::time::Duration;

/// Measures the processor time of the calling thread.
pub(super) struct Stopwatch {
    begun: Time,
}

type Time = rustix::time::Timespec;

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        Stopwatch { begun: now() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        Duration::try_from(now() - self.begun).unwrap_or_default()
    }
}

fn now() -> Time {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_takes_no_time_and_work_does() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(50));
        assert!(watch.elapsed() < Duration::from_millis(25), "{:?}", watch.elapsed());
        let mut steps = 0_u64;
        while watch.elapsed() < Duration::from_millis(30) {
            steps += 1;
        }
        assert!(steps > 0);
    }
}
