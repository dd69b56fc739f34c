//! A whole problem, counted on the threads of this process.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use board::{Cut, CutError, Given, GivenError, MethodChoice, Problem, Square};
use thiserror::Error;

use crate::{
    Answer, AnswerError, Answering, Backend, CountError, Kernel, KernelError, SelfTestError,
    memory_needed, self_test,
};

/// Q(`n`): the number of ways to place `n` queens on an `n` x `n` board, none attacking another
/// (A000170).
///
/// It takes about a second for N = 18 on two cores with AVX-512, and six to eight times as long for every
/// N beyond. [`Counting`] reports progress and can be stopped.
///
/// ```
/// assert_eq!(queens_count::total(12)?, 14_200);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// # Errors
///
/// [`CountingError`], if `n` is greater than 32, or this machine miscounts.
pub fn total(n: u32) -> Result<u128, CountingError> {
    count(Problem::Total { n })
}

/// The number of placements of `n` queens up to the eight symmetries of the square (A002562).
///
/// ```
/// assert_eq!(queens_count::fundamental(8)?, 12);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// # Errors
///
/// [`CountingError`], if `n` is greater than 32, or this machine miscounts.
pub fn fundamental(n: u32) -> Result<u128, CountingError> {
    count(Problem::Fundamental { n })
}

/// The number of placements of `n` queens on a torus, where diagonals continue at the opposite edge
/// (A007705).
///
/// ```
/// assert_eq!(queens_count::toroidal(11)?, 88);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// # Errors
///
/// [`CountingError`], if `n` is greater than 32, or this machine miscounts.
pub fn toroidal(n: u32) -> Result<u128, CountingError> {
    count(Problem::Toroidal { n })
}

/// The number of placements of `n` queens that also move as knights (A051223).
///
/// ```
/// assert_eq!(queens_count::superqueens(10)?, 4);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// # Errors
///
/// [`CountingError`], if `n` is greater than 32, or this machine miscounts.
pub fn superqueens(n: u32) -> Result<u128, CountingError> {
    count(Problem::Superqueens { n })
}

/// The number of placements of `n` queens that have all of the `given` ones.
///
/// ```
/// let given = queens_count::board::squares::parse_squares("a1 c2")?;
/// assert_eq!(queens_count::completions(8, &given)?, 0);
/// assert_eq!(queens_count::completions(8, &given[..1])?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`CountingError`], if `n` is greater than 64, the given queens attack each other or are off the board,
/// or this machine miscounts.
pub fn completions(n: u32, given: &[Square]) -> Result<u128, CountingError> {
    count(Problem::Completions(Given::new(n, given)?))
}

fn count(problem: Problem) -> Result<u128, CountingError> {
    Ok(Counting::new(problem).run()?.count())
}

/// Why a problem was not counted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CountingError {
    /// The problem cannot be cut by the method.
    #[error(transparent)]
    Cut(#[from] CutError),
    /// The given queens cannot stand so.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// The backend cannot be used on this machine.
    #[error(transparent)]
    SelfTest(#[from] SelfTestError),
    /// There is no kernel for the problem.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A range of tasks has no count.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The sum over all tasks gives no answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Not even one thread can count within the memory that was allowed.
    #[error("a thread needs {needed} bytes of memory, and {allowed} are allowed")]
    TooLittleMemory {
        /// What one thread needs, bytes.
        needed: u64,
        /// What all threads together may take, bytes.
        allowed: u64,
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

/// How far a count has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of tasks that are counted.
    pub tasks_done: u64,
    /// The number of all tasks. Tasks differ in cost by large factors, so that the share of tasks done is
    /// only roughly the share of time.
    pub tasks: u64,
    /// The sum over the tasks that are counted.
    pub placements: u128,
}

/// A count of a whole problem on the threads of this process.
///
/// ```
/// use queens_count::{Counting, board::Problem};
///
/// let mut reports = 0;
/// let answer = Counting::new(Problem::Total { n: 12 })
///     .threads(2)
///     .on_progress(|progress| {
///         reports += 1;
///         assert!(progress.tasks_done <= progress.tasks);
///     })
///     .run()?;
/// assert_eq!(answer.count(), 14_200);
/// assert!(reports > 0);
/// # Ok::<(), queens_count::CountingError>(())
/// ```
///
/// A flag that another thread or a signal handler sets stops it:
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use queens_count::{Counting, CountingError, board::Problem};
///
/// let stop = AtomicBool::new(true);
/// let stopped = Counting::new(Problem::Total { n: 28 }).stop(&stop).run();
/// assert!(matches!(stopped, Err(CountingError::Stopped { tasks_done: 0, .. })));
/// ```
pub struct Counting<'a> {
    problem: Problem,
    method: MethodChoice,
    backend: Backend,
    threads: usize,
    memory: Option<u64>,
    on_progress: Option<Box<dyn FnMut(Progress) + Send + 'a>>,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Counting<'a> {
    /// The memory that counts take at most if nothing else is asked for: 1 GiB for all threads together.
    /// If that is not enough for one thread, one thread takes what it needs.
    pub const USUAL_MEMORY: u64 = 1 << 30;

    /// A count of `problem` by the method that suits it, on all processors, by the fastest backend that
    /// this processor has.
    #[must_use]
    pub fn new(problem: Problem) -> Counting<'a> {
        Counting {
            problem,
            method: MethodChoice::suggested(problem),
            backend: Backend::detect(),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            memory: None,
            on_progress: None,
            stop: None,
        }
    }

    /// Cuts the problem by this method.
    #[must_use]
    pub fn method(self, method: MethodChoice) -> Counting<'a> {
        Counting { method, ..self }
    }

    /// Counts by this backend.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Counting<'a> {
        Counting { backend, ..self }
    }

    /// Counts on so many threads, or on fewer if the memory is not enough for all; 0 counts as 1.
    #[must_use]
    pub fn threads(self, threads: usize) -> Counting<'a> {
        Counting { threads: threads.max(1), ..self }
    }

    /// Takes at most so many bytes of memory for all threads together.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Counting<'a> {
        Counting { memory: Some(bytes), ..self }
    }

    /// Calls `report` from the counting threads, one at a time, each time that some tasks are counted:
    /// about twenty times a second for each thread, or more rarely if single tasks take longer. The
    /// threads wait for it, so it should return soon.
    #[must_use]
    pub fn on_progress(self, report: impl FnMut(Progress) + Send + 'a) -> Counting<'a> {
        Counting { on_progress: Some(Box::new(report)), ..self }
    }

    /// Ends with [`CountingError::Stopped`] soon after `flag` is set: each thread finishes the tasks that
    /// it has begun. The search for placements that rotations fix, of a problem that counts orbits, does
    /// not look at the flag; it takes less than a second up to N = 22.
    #[must_use]
    pub fn stop(self, flag: &'a AtomicBool) -> Counting<'a> {
        Counting { stop: Some(flag), ..self }
    }

    /// Counts.
    ///
    /// # Errors
    ///
    /// [`CountingError`]. What was counted so far is lost.
    pub fn run(self) -> Result<Answer, CountingError> {
        self_test(self.backend, [self.method])?;
        let method = self.method.for_problem(self.problem);
        let cut = Cut::new(self.problem, method)?;
        let need = memory_needed(self.problem, method);
        let allowed = self.memory.unwrap_or_else(|| Self::USUAL_MEMORY.max(need.least));
        let fitting = allowed.checked_div(need.least).unwrap_or(u64::MAX);
        let threads = fitting.min(self.threads as u64);
        if threads == 0 {
            return Err(CountingError::TooLittleMemory { needed: need.least, allowed });
        }
        let bytes = need.most.min(allowed / threads);
        let kernel = || Kernel::of(bytes, self.backend, self.problem, method);

        let done = Progress { tasks_done: 0, tasks: cut.len(), placements: 0 };
        let shared = Shared {
            cut: &cut,
            piece: (cut.len() / (16 * threads)).clamp(1, MOST_PIECE),
            next: AtomicU64::new(0),
            stop: self.stop,
            failed: AtomicBool::new(false),
            done: Mutex::new((done, self.on_progress)),
        };
        let answering = thread::scope(|scope| {
            let work = || kernel().map_err(CountingError::from).and_then(|it| shared.count(it));
            let counting: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let answering = Answering::new(self.problem);
            for thread in counting {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok::<_, CountingError>(answering?)
        })?;
        let (Progress { tasks_done, tasks, placements }, _) =
            shared.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if tasks_done < tasks {
            return Err(CountingError::Stopped { tasks_done, tasks });
        }
        Ok(answering.answer(placements)?)
    }
}

/// The most tasks that a thread takes for itself at a time: neighbours share work.
const MOST_PIECE: u64 = 4096;

/// Between two looks at the stop flag a thread counts tasks for about so long.
const STEP: Duration = Duration::from_millis(50);

/// What the threads share.
struct Shared<'a> {
    cut: &'a Cut,
    /// Tasks that a thread takes at a time.
    piece: u64,
    /// The first task that no thread has taken.
    next: AtomicU64,
    stop: Option<&'a AtomicBool>,
    /// A thread has failed, and the others need not go on.
    failed: AtomicBool,
    done: Mutex<(Progress, Option<Report<'a>>)>,
}

type Report<'a> = Box<dyn FnMut(Progress) + Send + 'a>;

impl Shared<'_> {
    /// Counts pieces until none is left, or the count is to end.
    fn count(&self, mut kernel: Kernel) -> Result<(), CountingError> {
        let result = self.count_pieces(&mut kernel);
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn count_pieces(&self, kernel: &mut Kernel) -> Result<(), CountingError> {
        let tasks = self.cut.len();
        let mut step = 1;
        loop {
            let mut start = self.next.fetch_add(self.piece, Ordering::Relaxed).min(tasks);
            let end = tasks.min(start + self.piece);
            if start == end {
                return Ok(());
            }
            while start < end {
                if self.is_over() {
                    return Ok(());
                }
                let begun = Instant::now();
                let step_end = end.min(start + step);
                let count = kernel.count_range(self.cut, start..step_end)?;
                self.note(step_end - start, count)?;
                // Half and double, so that a step takes from half of STEP to STEP wherever the plan is.
                if begun.elapsed() > STEP {
                    step = (step / 2).max(1);
                } else if begun.elapsed() < STEP / 2 {
                    step = (2 * step).min(self.piece);
                }
                start = step_end;
            }
        }
    }

    fn is_over(&self) -> bool {
        let is_asked_to_stop = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_asked_to_stop || self.failed.load(Ordering::Relaxed)
    }

    fn note(&self, tasks: u64, count: u64) -> Result<(), CountError> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let (progress, report) = &mut *done;
        progress.tasks_done += tasks;
        let sum = progress.placements.checked_add(count.into());
        progress.placements = sum.ok_or(CountError::Overflow)?;
        if let Some(report) = report {
            report(*progress);
        }
        Ok(())
    }
}
