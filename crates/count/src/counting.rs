//! Counts a whole problem on the threads of this process.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, io};

use board::{Given, MethodChoice, PlanError, PlanIndex, Problem, Square};
use thiserror::Error;

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
    /// The system refuses to start as many threads as were asked for.
    #[error("the system refuses thread {} of {wanted} ({reason}): ask for fewer", started + 1)]
    Threads {
        /// The number of threads that were running, including this one.
        started: usize,
        /// The number of threads that were asked for.
        wanted: usize,
        /// The reason that the system gives.
        reason: String,
    },
    /// The stop flag was set before the count was complete.
    #[error("stopped after {tasks_done} of {tasks} tasks")]
    Stopped {
        /// The number of tasks that were counted.
        tasks_done: u64,
        /// The number of tasks of the problem.
        tasks: u64,
    },
}

/// The progress of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Progress {
    /// The number of tasks that have been counted.
    pub tasks_done: u64,
    /// The number of all tasks. The costs of tasks differ by large factors, so the share of counted
    /// tasks is only roughly the share of time.
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
    /// The answer to the problem.
    pub answer: Answer,
    /// The number of threads that counted.
    pub threads: usize,
}

/// A count of a whole problem on the threads of this process.
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
    backend: Backend,
    threads: usize,
    on_progress: Report<'a>,
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
            backend: Backend::detect(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            on_progress: Box::new(|_| {}),
            stop: None,
        }
    }

    /// A count of the placements that have the given queens, and none on the `blocked` squares. These are squares of
    /// the board without a given queen. Boards of size 4 to 32 are counted so, by colours.
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

    /// Counts by this backend.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Counting<'a> {
        Counting { backend, ..self }
    }

    /// Counts on this number of threads, one of which is the caller's. 0 counts as 1. Fewer threads
    /// count if the problem has fewer tasks. [`Progress`] and [`Counted`] have their number. A
    /// thread takes some MiB of memory.
    #[must_use]
    pub fn threads(self, threads: usize) -> Counting<'a> {
        Counting { threads: threads.max(1), ..self }
    }

    /// Calls `report` from the counting threads whenever some tasks have been counted, one call at
    /// a time. Each thread makes about twenty calls a second, or fewer if single tasks take longer.
    /// The threads wait for `report`, so it should return soon.
    #[must_use]
    pub fn on_progress(self, report: impl FnMut(Progress) + Send + 'a) -> Counting<'a> {
        Counting { on_progress: Box::new(report), ..self }
    }

    /// Ends with [`CountingError::Stopped`] soon after `flag` is set. Each thread first finishes
    /// the tasks that it has begun. If the problem counts orbits, the search for placements that
    /// rotations fix does not look at the flag. This search takes less than a second up to N = 22.
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
    /// Panics if the function given to [`on_progress`](Counting::on_progress) panics. The other
    /// threads then stop soon.
    pub fn run(self) -> Result<Counted, CountingError> {
        let choice = match self.blocked {
            [] => MethodChoice::suggested(self.problem),
            _ => MethodChoice::Colours,
        };
        self_test(self.backend, [choice])?;
        let method = choice.for_problem(self.problem);
        let index = PlanIndex::new(self.problem, method)?;
        let threads = index.len().max(1).min(self.threads as u64);
        let wanted = threads as usize;
        let done = Progress { tasks_done: 0, tasks: index.len(), placements: 0, threads: wanted };
        let shared = Shared {
            index: &index,
            piece: (index.len() / (16 * threads)).clamp(1, MOST_PIECE),
            next: AtomicU64::new(0),
            stop: self.stop,
            failed: AtomicBool::new(false),
            done: Mutex::new((done, self.on_progress)),
        };
        let work = || {
            shared.or_stop_others(|| {
                let kernel = match self.blocked {
                    [] => Kernel::new(self.backend, self.problem, method),
                    blocked => Kernel::blocking(self.backend, self.problem, blocked),
                };
                let mut kernel =
                    kernel.expect("the backend was tested, and the method cuts the problem");
                shared.count(&mut kernel)
            })
        };
        let answering = thread::scope(|scope| {
            let mut others = Vec::new();
            for started in 1..wanted {
                let other = thread::Builder::new().spawn_scoped(scope, work);
                others.push(shared.or_stop_others(|| {
                    let reason = |error: io::Error| error.to_string();
                    let refused = |reason| CountingError::Threads { started, wanted, reason };
                    other.map_err(reason).map_err(refused)
                })?);
            }
            let own = shared
                .or_stop_others(|| Ok(Answering::new(self.problem, self.problem.counts_orbits())?));
            let own = own.and_then(|answering| work().map(|()| answering));
            for thread in others {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            }
            own
        })?;
        let (Progress { tasks_done, tasks, placements, threads }, _) =
            shared.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if tasks_done < tasks {
            return Err(CountingError::Stopped { tasks_done, tasks });
        }
        Ok(Counted { answer: answering.answer(placements)?, threads })
    }
}

impl fmt::Debug for Counting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counting { problem, backend, threads, .. } = self;
        write!(f, "Counting of {problem} by {backend} on {threads} threads")
    }
}

/// The largest number of tasks that a thread takes at a time.
const MOST_PIECE: u64 = 4096;

/// The approximate time that a thread counts before it reads the stop flag again.
const STEP: Duration = Duration::from_millis(50);

/// Whether time can be measured. Without a clock each task is a step.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

struct Shared<'a> {
    index: &'a PlanIndex,
    /// The number of tasks that a thread takes at a time.
    piece: u64,
    /// The first task that no thread has taken.
    next: AtomicU64,
    stop: Option<&'a AtomicBool>,
    /// Whether a thread has failed or panicked, so that the others can stop.
    failed: AtomicBool,
    done: Mutex<(Progress, Report<'a>)>,
}

type Report<'a> = Box<dyn FnMut(Progress) + Send + 'a>;

impl Shared<'_> {
    /// Calls `work`. If it fails or panics, the other threads stop soon.
    fn or_stop_others<T>(
        &self,
        work: impl FnOnce() -> Result<T, CountingError>,
    ) -> Result<T, CountingError> {
        let done = catch_unwind(AssertUnwindSafe(work));
        if !matches!(done, Ok(Ok(_))) {
            self.failed.store(true, Ordering::Relaxed);
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Counts pieces until none is left, or until the count has to end.
    fn count(&self, kernel: &mut Kernel) -> Result<(), CountingError> {
        let tasks = self.index.len();
        let mut step = 1;
        loop {
            let mut start = self.next.fetch_add(self.piece, Ordering::Relaxed).min(tasks);
            let end = tasks.min(start + self.piece);
            if start == end {
                return Ok(());
            }
            while start < end {
                let is_asked_to_stop = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
                if is_asked_to_stop || self.failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let begun = HAS_CLOCK.then(Instant::now);
                let step_end = end.min(start + step);
                let count = kernel.count_range(self.index, start..step_end)?;
                self.note(step_end - start, count)?;
                // The number of tasks is halved or doubled, so that a step takes between half of
                // STEP and STEP in every part of the plan.
                match begun.map(|begun| begun.elapsed()) {
                    Some(took) if took > STEP => step = (step / 2).max(1),
                    Some(took) if took < STEP / 2 => step = (2 * step).min(self.piece),
                    _ => {}
                }
                start = step_end;
            }
        }
    }

    fn note(&self, tasks: u64, count: u64) -> Result<(), CountError> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let (progress, report) = &mut *done;
        progress.tasks_done += tasks;
        let sum = progress.placements.checked_add(count.into());
        progress.placements = sum.ok_or(CountError::Overflow)?;
        report(*progress);
        Ok(())
    }
}
