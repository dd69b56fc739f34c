//! The processor time of a thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time for which the calling thread has had a processor. Unlike time on the wall it does not pass
/// while other programs run.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("it began at 0");
    Duration::new(seconds, u32::try_from(time.tv_nsec).expect("it is less than a second"))
}
