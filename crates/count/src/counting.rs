//! Counts a whole problem, or a shard of it, on the threads of this process.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use board::{Given, Method, MethodChoice, PlanError, PlanIndex, Problem, Shard, Square};
use thiserror::Error;

use crate::pool::{Pool, RefusedThread, fair_chunk, next_chunk};
use crate::{
    Answer, AnswerError, Answering, Backend, CountError, Kernel, SelfTestError, self_test,
};

/// The number that answers a problem, counted on all processors. A plain number `n` is
/// [`Problem::Total`]: Q(`n`), the number of ways to place `n` queens on an `n` x `n` board so that
/// none attacks another.
///
/// Q(18) takes about a second on two cores with AVX-512. Each increase of N by one multiplies the
/// time by four to seven. [`Counting`] reports progress and can be stopped.
///
/// ```
/// use queens_count::{board::Problem, count};
///
/// assert_eq!(count(12)?, 14_200);
/// assert_eq!(count(Problem::Fundamental { n: 8 })?, 12);
/// assert_eq!(count(Problem::completions(8, &["a1".parse()?])?)?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`CountingError`] if the board is larger than [`Problem::max_n`], or if this machine miscounts.
pub fn count(problem: impl Into<Problem>) -> Result<u128, CountingError> {
    Ok(Counting::new(problem).run()?.answer.count())
}

/// The reason why a problem was not counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CountingError {
    /// The method cannot divide the problem.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The backend cannot be used on this machine.
    #[error(transparent)]
    SelfTest(#[from] SelfTestError),
    /// A range of tasks has no count.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The sum over all tasks gives no answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// A shard of a problem that counts orbits. An orbit may have placements in several shards.
    #[error(
        "orbits are not counted by shards: add up the shards of the total, and derive the orbits from the sum"
    )]
    Orbits,
    /// The system refuses to start as many threads as were asked for.
    #[error(transparent)]
    Threads(#[from] RefusedThread),
    /// The stop flag was set before the count was complete.
    #[error("stopped after {tasks_done} of {tasks} tasks")]
    Stopped {
        /// The number of tasks that were counted.
        tasks_done: u64,
        /// The number of tasks of the problem, or of its shard.
        tasks: u64,
    },
}

/// The progress of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Progress {
    /// The number of tasks that have been counted.
    pub tasks_done: u64,
    /// The number of all tasks of the problem, or of its shard. The costs of tasks differ by large
    /// factors, so the share of counted tasks is only roughly the share of time.
    pub tasks: u64,
    /// The sum over the counted tasks.
    pub placements: u128,
    /// The number of threads that count.
    pub threads: usize,
}

/// The result of a [`Counting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counted {
    /// The answer to the problem. Of a shard, it is the part of the answer that the shard adds.
    pub answer: Answer,
    /// The number of threads that counted.
    pub threads: usize,
}

/// A count of a problem, or of a shard of it, on the threads of this process.
///
/// ```
/// use queens_count::Counting;
///
/// let mut reports = 0;
/// let counted = Counting::new(12)
///     .threads(2)
///     .on_progress(|progress| {
///         reports += 1;
///         assert!(progress.tasks_done <= progress.tasks);
///     })
///     .run()?;
/// assert_eq!((counted.answer.count(), counted.threads), (14_200, 2));
/// assert!(reports > 0);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// The count stops when another thread or a signal handler sets a flag:
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use queens_count::{Counting, CountingError};
///
/// let stop = AtomicBool::new(true);
/// let stopped = Counting::new(28).stop(&stop).run();
/// assert!(matches!(stopped, Err(CountingError::Stopped { tasks_done: 0, .. })));
/// ```
pub struct Counting<'a> {
    problem: Problem,
    blocked: &'a [Square],
    shard: Shard,
    backend: Backend,
    threads: usize,
    on_progress: Box<dyn FnMut(Progress) + 'a>,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Counting<'a> {
    /// A count of `problem` by the method that suits it, on all processors, by the fastest backend
    /// that this processor has.
    #[must_use]
    pub fn new(problem: impl Into<Problem>) -> Counting<'a> {
        Counting {
            problem: problem.into(),
            blocked: &[],
            shard: Shard::ALL,
            backend: Backend::detect(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            on_progress: Box::new(|_| {}),
            stop: None,
        }
    }

    /// A count of the placements that have the given queens, and none on the `blocked` squares.
    /// These are squares of the board without a given queen. Boards of size 4 to 32 are counted so,
    /// by colours.
    ///
    /// ```
    /// use queens_count::Counting;
    /// use queens_count::board::Given;
    ///
    /// let blocked = ["d1".parse()?, "h8".parse()?];
    /// let counted = Counting::blocking(Given::new(8, &[])?, &blocked).run()?;
    /// assert_eq!(counted.answer.count(), 71);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn blocking(given: Given, blocked: &'a [Square]) -> Counting<'a> {
        Counting { blocked, ..Counting::new(Problem::Completions(given)) }
    }

    /// Counts only this shard of the problem. The answers of all shards add up to the answer of the
    /// whole problem, if the same version of this crate counts them; processors and backends may
    /// differ. All shards take about as long. A problem that counts orbits has no shards: for
    /// [`Problem::Fundamental`], give the sum over the shards of [`Problem::Total`] to
    /// [`Answer::new`].
    ///
    /// ```
    /// use queens_count::{Counting, count};
    /// use queens_count::board::Shard;
    ///
    /// let mut sum = 0;
    /// for index in 1..=3 {
    ///     sum += Counting::new(12).shard(Shard::new(index, 3)?).run()?.answer.count();
    /// }
    /// assert_eq!(sum, count(12)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shard(self, shard: Shard) -> Counting<'a> {
        Counting { shard, ..self }
    }

    /// Counts by this backend.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Counting<'a> {
        Counting { backend, ..self }
    }

    /// Counts on this number of threads. 0 counts as 1, and a single thread is the caller's own.
    /// Fewer threads count if the problem has fewer tasks. [`Progress`] and [`Counted`] have their
    /// number. A thread takes some MiB of memory.
    #[must_use]
    pub fn threads(self, threads: usize) -> Counting<'a> {
        Counting { threads: threads.max(1), ..self }
    }

    /// Calls `report` on the caller's thread whenever some tasks have been counted. There are about
    /// twenty calls a second for each counting thread, or fewer if single tasks take longer. The
    /// threads wait for `report`, so it should return soon.
    #[must_use]
    pub fn on_progress(self, report: impl FnMut(Progress) + 'a) -> Counting<'a> {
        Counting { on_progress: Box::new(report), ..self }
    }

    /// Ends with [`CountingError::Stopped`] soon after `flag` is set. Threads finish the tasks that
    /// they have begun, but only the caller's own thread is waited for. If the problem counts
    /// orbits, placements that rotations fix are searched for, too. On a single thread, this search
    /// does not look at the flag. It takes less than a second up to N = 22.
    #[must_use]
    pub fn stop(self, flag: &'a AtomicBool) -> Counting<'a> {
        Counting { stop: Some(flag), ..self }
    }

    /// Runs the count.
    ///
    /// # Errors
    ///
    /// [`CountingError`]. The counts so far are then lost.
    ///
    /// # Panics
    ///
    /// Panics if the function given to [`on_progress`](Counting::on_progress) panics. The counting
    /// threads then end soon.
    pub fn run(self) -> Result<Counted, CountingError> {
        let choice = match self.blocked {
            [] => MethodChoice::suggested(self.problem),
            _ => MethodChoice::Colours,
        };
        if self.problem.counts_orbits() && !self.shard.is_all() {
            return Err(CountingError::Orbits);
        }
        self_test(self.backend, [choice])?;
        let method = choice.for_problem(self.problem);
        let index = PlanIndex::new(self.problem, method)?;
        let left = Left::new(self.shard.ordinals(index.len()));
        let threads = left.tasks.max(1).min(self.threads as u64) as usize;
        let done = Progress { tasks_done: 0, tasks: left.tasks, placements: 0, threads };
        let tasks = Tasks {
            problem: self.problem,
            method,
            blocked: self.blocked.to_vec(),
            backend: self.backend,
            threads,
            index,
            left: Mutex::new(left),
        };
        Sum { done, answering: None, stop: self.stop, on_progress: self.on_progress }.of(tasks)
    }
}

impl fmt::Debug for Counting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counting { problem, backend, threads, .. } = self;
        write!(f, "Counting of {problem} by {backend} on {threads} threads")
    }
}

/// The approximate time that a thread counts before it takes other tasks, and the caller reads the
/// stop flag again.
const STEP: Duration = Duration::from_millis(50);

/// Whether time can be measured. Without a clock each task is a step.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// What a thread has found.
enum Found {
    /// The number of tasks that were counted, and the sum of their counts.
    Count(u64, u64),
    /// What the answer needs besides the sum.
    Answering(Answering),
}

/// The tasks of the problem, which all threads take and count.
struct Tasks {
    problem: Problem,
    method: Method,
    blocked: Vec<Square>,
    backend: Backend,
    threads: usize,
    index: PlanIndex,
    left: Mutex<Left>,
}

/// The tasks that no thread has taken.
struct Left {
    ranges: VecDeque<Range<u64>>,
    tasks: u64,
}

impl Left {
    fn new(ranges: impl Iterator<Item = Range<u64>>) -> Left {
        let ranges: VecDeque<Range<u64>> = ranges.collect();
        let tasks = ranges.iter().map(|range| range.end - range.start).sum();
        Left { ranges, tasks }
    }

    /// Takes up to `most` neighbouring tasks.
    fn take(&mut self, most: u64) -> Option<Range<u64>> {
        let range = self.ranges.front_mut()?;
        let taken = range.start..range.end.min(range.start + most);
        range.start = taken.end;
        if range.is_empty() {
            self.ranges.pop_front();
        }
        self.tasks -= taken.end - taken.start;
        Some(taken)
    }
}

impl Tasks {
    /// Counts tasks on a thread until none is left, or until `send` returns `false`.
    fn count(&self, thread: usize, send: &mut dyn FnMut(Result<Found, CountingError>) -> bool) {
        // The first thread also finds what the answer needs besides the sum.
        if thread == 0 {
            let answering = Answering::new(self.problem, self.problem.counts_orbits());
            if !send(answering.map(Found::Answering).map_err(CountingError::from)) {
                return;
            }
        }
        let mut kernel = self.kernel();
        let mut most = 1;
        while let Some(range) = self.take(most) {
            let tasks = range.end - range.start;
            let begun = HAS_CLOCK.then(Instant::now);
            let count = kernel.count_range(&self.index, range);
            let elapsed = begun.map_or(STEP, |begun| begun.elapsed());
            most = next_chunk(tasks as usize, elapsed, STEP);
            if !send(count.map(|count| Found::Count(tasks, count)).map_err(CountingError::from)) {
                return;
            }
        }
    }

    fn kernel(&self) -> Kernel {
        let Tasks { backend, problem, method, .. } = *self;
        let kernel = match &self.blocked[..] {
            [] => Kernel::new(backend, problem, method),
            blocked => Kernel::blocking(backend, problem, blocked),
        };
        kernel.expect("the backend was tested, and the method cuts the problem")
    }

    /// Takes up to `most` tasks.
    fn take(&self, most: usize) -> Option<Range<u64>> {
        let mut left = self.left.lock().expect("no thread panics while holding it");
        let waiting = usize::try_from(left.tasks).unwrap_or(usize::MAX);
        left.take(fair_chunk(most, waiting, self.threads) as u64)
    }
}

/// What the threads have found so far.
struct Sum<'a> {
    done: Progress,
    answering: Option<Answering>,
    stop: Option<&'a AtomicBool>,
    on_progress: Box<dyn FnMut(Progress) + 'a>,
}

impl Sum<'_> {
    /// The answer from all tasks.
    fn of(mut self, tasks: Tasks) -> Result<Counted, CountingError> {
        let threads = NonZero::new(self.done.threads).expect("there is at least one");
        if self.is_stopped() {
            // Nothing is begun.
        } else if threads.get() == 1 {
            let mut result = Ok(());
            tasks.count(0, &mut |found| {
                result = found.and_then(|found| self.add(found));
                result.is_ok() && !self.is_stopped()
            });
            result?;
        } else {
            let mut pool = Pool::start(threads, move |thread, send| tasks.count(thread, send))?;
            while !self.is_stopped() {
                match pool.next(self.stop.map(|_| Instant::now() + STEP)) {
                    Ok(found) => self.add(found?)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        }
        let Progress { tasks_done, tasks, placements, threads } = self.done;
        match self.answering {
            Some(answering) if tasks_done == tasks => {
                Ok(Counted { answer: answering.answer(placements)?, threads })
            }
            _ => Err(CountingError::Stopped { tasks_done, tasks }),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn add(&mut self, found: Found) -> Result<(), CountingError> {
        match found {
            Found::Answering(answering) => self.answering = Some(answering),
            Found::Count(tasks, count) => {
                self.done.tasks_done += tasks;
                let sum = self.done.placements.checked_add(count.into());
                self.done.placements = sum.ok_or(CountError::Overflow)?;
                (self.on_progress)(self.done);
            }
        }
        Ok(())
    }
}
