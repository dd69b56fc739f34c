//! The threads that count. All of them are started here: those of a [`Counting`](crate::Counting),
//! and those of the workers, estimates and recounts of a farm.
//!
//! ```text
//!                      +-- thread 0: take a chunk, count it, send --+
//!   Pool::start(...) --+-- thread 1: take a chunk, count it, send --+--> Pool::next
//!                      +-- ...                                  --+
//! ```
//!
//! A thread cannot be stopped within a chunk, and a single task may take days. So nobody waits for
//! a thread. Once the pool is dropped, its threads cannot send any more, and end by themselves.

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// Threads that count, and what they send.
#[derive(Debug)]
pub struct Pool<T> {
    /// What was counted, or the panic of a thread.
    counted: Receiver<Result<T, Box<dyn Any + Send>>>,
}

/// The system refuses to start as many threads as were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("the system refuses thread {} of {wanted} ({reason}): ask for fewer", started + 1)]
#[non_exhaustive]
pub struct RefusedThread {
    /// The number of threads that were started.
    pub started: usize,
    /// The number of threads that were asked for.
    pub wanted: usize,
    /// The reason that the system gives.
    pub reason: String,
}

impl<T: Send + 'static> Pool<T> {
    /// Starts `threads` threads. Each calls `count` with its number, from 0 on, and with a function
    /// that sends to this pool what was counted. The function waits until there is room. It returns
    /// `false` if the pool was dropped; the thread should then end.
    ///
    /// # Errors
    ///
    /// [`RefusedThread`]. The threads that were started before end as soon as they send.
    pub fn start(
        threads: NonZero<usize>,
        count: impl Fn(usize, &mut dyn FnMut(T) -> bool) + Send + Sync + 'static,
    ) -> Result<Pool<T>, RefusedThread> {
        let (sender, counted) = mpsc::sync_channel(threads.get());
        start(threads, move |index| {
            let mut send = |counted| sender.send(Ok(counted)).is_ok();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| count(index, &mut send))) {
                // If the pool was dropped, nobody receives the panic.
                let _ = sender.send(Err(panic));
            }
        })?;
        Ok(Pool { counted })
    }

    /// The next thing that was counted. Waits for it, until `end` at most if there is one.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if the time is over, and [`RecvTimeoutError::Disconnected`] if
    /// all threads have ended.
    ///
    /// # Panics
    ///
    /// Panics if a thread has panicked, with the same panic.
    pub fn next(&mut self, end: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        let counted = match end {
            Some(end) => self.counted.recv_timeout(left(end)),
            None => self.counted.recv().map_err(RecvTimeoutError::from),
        };
        counted.map(|counted| counted.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

/// Starts `threads` threads that call `count` with their number, from 0 on. It is for programs
/// whose threads send what they count in another way. Others start a [`Pool`].
///
/// # Errors
///
/// [`RefusedThread`]. The threads that were started before go on.
pub fn start(
    threads: NonZero<usize>,
    count: impl Fn(usize) + Send + Sync + 'static,
) -> Result<(), RefusedThread> {
    let count = Arc::new(count);
    for started in 0..threads.get() {
        let count = count.clone();
        let thread = thread::Builder::new().name(format!("count-{started}"));
        thread.spawn(move || count(started)).map_err(|error| RefusedThread {
            started,
            wanted: threads.get(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// The number of tasks that a thread should take next so that they take about `aim`, if the last
/// `tasks` tasks took `elapsed`. It is at least 1, and at most eight times `tasks`.
///
/// ```
/// use std::time::Duration;
/// use queens_count::pool::next_chunk;
///
/// let ms = Duration::from_millis;
/// assert_eq!(next_chunk(100, ms(5), ms(10)), 200);
/// assert_eq!(next_chunk(1, ms(20), ms(10)), 1); // A long task: one at a time.
/// assert_eq!(next_chunk(100, ms(0), ms(10)), 800); // Short tasks: by steps, not by leaps.
/// ```
#[must_use]
pub fn next_chunk(tasks: usize, elapsed: Duration, aim: Duration) -> usize {
    let ideal = tasks as f64 * aim.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
    (ideal as usize).clamp(1, tasks.saturating_mul(8))
}

/// The number of tasks that one of `threads` threads takes if `waiting` tasks are left: at most
/// `most`. Near the end a thread takes fewer, so that each thread gets some. It does not take so
/// few that taking them costs more than waiting for another thread.
///
/// ```
/// use queens_count::pool::fair_chunk;
///
/// assert_eq!(fair_chunk(640, 1_000_000, 2), 640);
/// assert_eq!(fair_chunk(640, 1_000, 2), 250);
/// assert_eq!(fair_chunk(640, 12, 2), 10);
/// ```
#[must_use]
pub fn fair_chunk(most: usize, waiting: usize, threads: usize) -> usize {
    /// While enough tasks are left, a thread takes at least `most` divided by this number.
    const LEAST_SHARE: usize = 64;
    most.min(waiting.div_ceil(2 * threads).max(most / LEAST_SHARE).max(1)).min(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: NonZero<usize> = NonZero::new(2).expect("2 is not 0");

    #[test]
    fn each_thread_has_its_number_and_all_that_they_send_arrives() {
        let pool = Pool::start(TWO, |index, send| {
            (0..100).for_each(|number| assert!(send(100 * index + number)));
        });
        let mut pool = pool.expect("the system gives two threads");
        let mut sent: Vec<usize> = std::iter::from_fn(|| pool.next(None).ok()).collect();
        sent.sort_unstable();
        assert!(sent.into_iter().eq(0..200));
    }

    #[test]
    fn threads_of_a_dropped_pool_end() {
        let (ended, ends) = mpsc::channel();
        let pool = Pool::start(TWO, move |_, send| {
            while send(()) {}
            ended.send(()).expect("the test waits");
        });
        drop(pool.expect("the system gives two threads"));
        assert_eq!((ends.recv(), ends.recv()), (Ok(()), Ok(())));
    }

    #[test]
    fn whoever_waits_hears_of_a_panic_while_other_threads_count() {
        let pool = Pool::start(TWO, |index, send| {
            assert_eq!(index, 0, "as it is asked to");
            while send(()) {}
        });
        let mut pool = pool.expect("the system gives two threads");
        let panic = catch_unwind(AssertUnwindSafe(|| while pool.next(None).is_ok() {}));
        let panic = panic.expect_err("a thread has panicked");
        let text = panic.downcast_ref::<String>().expect("it has a text");
        assert!(text.contains("as it is asked to"), "{text}");
    }

    #[test]
    fn a_thread_that_counts_for_long_is_not_waited_for() {
        let (end, ends) = mpsc::channel::<()>();
        let ends = std::sync::Mutex::new(ends);
        let one = NonZero::<usize>::MIN;
        let pool = Pool::start(one, move |_, _: &mut dyn FnMut(()) -> bool| {
            let _ = ends.lock().expect("nobody panics").recv();
        });
        let mut pool = pool.expect("the system gives a thread");
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(pool.next(Some(soon)), Err(RecvTimeoutError::Timeout));
        drop(end);
        assert_eq!(pool.next(None), Err(RecvTimeoutError::Disconnected));
    }
}
