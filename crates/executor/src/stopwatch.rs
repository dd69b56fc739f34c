//! A stopwatch that other programs on the machine do not disturb.

use std::time::{Duration, Instant};

/// Measures the processor time of the calling thread. Unlike time on the wall it does not pass
/// while other programs run.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    begun: Instant,
    thread_time: Duration,
}

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Stopwatch {
        Stopwatch { begun: Instant::now(), thread_time: clock::thread_time() }
    }

    /// The processor time since the start. It is at most a tick of the system too long, and never
    /// longer than on the wall.
    pub fn elapsed(&self) -> Duration {
        let busy = clock::thread_time() - self.thread_time;
        self.begun.elapsed().min(busy + clock::TICK)
    }
}

#[cfg(unix)]
mod clock {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// By how much the clock may be late.
    pub(super) const TICK: Duration = Duration::ZERO;

    /// The time for which the calling thread has had a processor.
    pub(super) fn thread_time() -> Duration {
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it began at 0")
    }
}

#[cfg(windows)]
mod clock {
    use std::time::Duration;

    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

    /// By how much the clock may be late: it goes on when the system looks at what runs, 64 times a
    /// second.
    pub(super) const TICK: Duration = Duration::from_micros(15_625);

    /// The time for which the calling thread has had a processor.
    pub(super) fn thread_time() -> Duration {
        let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
        // SAFETY: the handle is that of the calling thread, and the four times are written to.
        let reported = unsafe {
            GetThreadTimes(GetCurrentThread(), &mut created, &mut ended, &mut kernel, &mut user)
        };
        assert_ne!(reported, 0, "a thread may ask for its own times");
        let ticks =
            |time: FILETIME| (u64::from(time.dwHighDateTime) << 32) + u64::from(time.dwLowDateTime);
        Duration::from_nanos(100 * (ticks(kernel) + ticks(user)))
    }
}
