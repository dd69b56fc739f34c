//! The kernel, which is the counting loop for one board and method. It refuses tasks that do not
//! belong to this board and method, and sums that exceed 64 bits.

mod sampled;

use std::fmt;
use std::ops::Range;

use board::{Method, PlanIndex, Prefix, Problem, RangeError, Square, Task, TaskKind, full_mask};
use thiserror::Error;

use crate::colours::{self, CountSplits, Draws};
use crate::engine::{Engine, engine};
use crate::first_rows::FirstRows;
use crate::remaining::{OpenRow, Remaining};
use crate::stop::Stop;
use crate::task::{is_task, mirrored, mirrored_problem};
use crate::{Backend, MissingBackend, Variant};

/// The reason why there is no kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The method does not divide the problem.
    #[error("{0} cannot be cut by {1}")]
    Problem(Problem, Method),
    /// The processor lacks the backend.
    #[error(transparent)]
    Backend(#[from] MissingBackend),
}

/// The reason why a block of tasks has no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CountError {
    /// The record at this place of the block is not a task of the problem and the method. Its masks
    /// exceed the board or hold another number of queens than rows, its queens attack each other,
    /// or it is no split.
    #[error(
        "task {0} of the block is no task of this plan: count it under the plan that it was made for"
    )]
    BadTask(usize),
    /// The plan does not have the range of tasks.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The kernel was asked to stop ([`Kernel::stop_at`]).
    #[error("the count was asked to stop")]
    Stopped,
    /// The sum is 2^64 or more.
    #[error("the count of the block passes 2^64 - 1: give fewer tasks at a time")]
    Overflow,
}

/// A counting loop for one problem and method, with its buffers.
///
/// It is made once per thread and used for every block of tasks of a plan.
///
/// ```
/// use queens_count::board::{PlanIndex, Method, Problem};
/// use queens_count::{Backend, Kernel};
///
/// let (problem, method) = (Problem::Total { n: 12 }, Method::Rows { rows: 3 });
/// let index = PlanIndex::new(problem, method)?;
/// let mut kernel = Kernel::new(Backend::detect(), problem, method)?;
/// let half = index.len() / 2;
/// let (first, second) = (kernel.count_range(&index, 0..half)?, kernel.count_range(&index, half..index.len())?);
/// assert_eq!(first + second, 14_200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Kernel {
    problem: Problem,
    kind: TaskKind,
    /// Whether it counts the mirror images of the problem and its tasks.
    is_mirrored: bool,
    work: Work,
    stop: Stop,
}

/// The way in which tasks are counted.
enum Work {
    /// Searches the same rows below every task.
    Rows(Box<dyn Engine>, Vec<OpenRow>),
    /// Multiplies the placements of both colours.
    Colours(Box<dyn CountSplits>),
    /// Searches the rows below the first ones, of problems that are not the total.
    FirstRows(FirstRows),
}

/// The most tasks of a range that are made at a time. They are few enough to stay in the cache, and
/// enough to be searched together.
const BLOCK: usize = 4096;

impl Kernel {
    /// A kernel for the tasks of `problem`, divided by `method`. A plain number `n` is
    /// [`Problem::Total`]. A [`Backend`] is a variant: [`Straight`](Variant::Straight).
    ///
    /// # Errors
    ///
    /// [`KernelError`] if the method cannot divide the problem ([`Method::cuts`]), or if the
    /// processor lacks the backend ([`Backend::require`]).
    pub fn new(
        variant: impl Into<Variant>,
        problem: impl Into<Problem>,
        method: Method,
    ) -> Result<Kernel, KernelError> {
        let problem = problem.into();
        let kind = TaskKind::of(problem, method).ok_or(KernelError::Problem(problem, method))?;
        let work =
            |backend, problem| Work::new(backend, problem, kind).ok_or(MissingBackend(backend));
        let (work, is_mirrored) = match variant.into() {
            Variant::Straight(backend) => (work(backend, problem)?, false),
            Variant::Mirrored(backend) => (work(backend, mirrored_problem(problem, kind))?, true),
        };
        Ok(Kernel { problem, kind, is_mirrored, work, stop: Stop::default() })
    }

    /// A kernel for completions that are cut by colours, for the boards without a queen on the
    /// `blocked` squares.
    pub(crate) fn blocking(
        backend: Backend,
        problem: Problem,
        blocked: &[Square],
    ) -> Result<Kernel, KernelError> {
        let kernel = Kernel::new(backend, problem, Method::Colours)?;
        let counter = colours::counter(backend, problem, blocked);
        Ok(Kernel { work: Work::Colours(counter.ok_or(MissingBackend(backend))?), ..kernel })
    }

    /// From now on, counting fails with [`CountError::Stopped`] once `stop` is asked. A search
    /// looks every few microseconds, and by `colours` after each task, which takes seconds at most.
    pub fn stop_at(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// The sum of weight times completions over the tasks of `index` whose ordinals are in `range`.
    ///
    /// # Errors
    ///
    /// The errors of [`count`](Kernel::count), and [`CountError::Range`] if the index does not have
    /// the range.
    pub fn count_range(&mut self, index: &PlanIndex, range: Range<u64>) -> Result<u64, CountError> {
        blocks(index, range)?.try_fold(0, |sum, tasks| add(sum, self.count(&tasks)?))
    }

    /// Calls `each` with the weight times completions of every task of `index` whose ordinal is in
    /// `range`, in order.
    ///
    /// # Errors
    ///
    /// The errors of [`count_each`](Kernel::count_each), and [`CountError::Range`] if the index
    /// does not have the range.
    pub fn count_each_of_range(
        &mut self,
        index: &PlanIndex,
        range: Range<u64>,
        mut each: impl FnMut(u64),
    ) -> Result<(), CountError> {
        blocks(index, range)?.try_for_each(|tasks| self.count_each(&tasks, &mut each))
    }

    /// The sum of weight times completions over `tasks`: a partial count.
    ///
    /// Completions are added up in a u64. A search finds at most 10^10 of them a second, a few at a
    /// time, so it takes more than fifty years to reach 2^64. A product of two colours has 128
    /// bits. Multiplications by weights and the additions after them are checked.
    ///
    /// A completion is a way to place queens in all rows that are left. By `colours` it counts as
    /// often as its share says ([`board::colours`]). Neighbouring tasks of one weight are
    /// counted together, so blocks with long runs of equal weights are the fastest.
    ///
    /// # Errors
    ///
    /// [`CountError::BadTask`] for the first task that does not belong to this problem and method;
    /// nothing is counted then. [`CountError::Overflow`] if the sum is too large.
    pub fn count(&mut self, tasks: &[Task]) -> Result<u64, CountError> {
        let records = self.records(tasks)?;
        let (mut start, mut sum) = (0, 0);
        for run in tasks.chunk_by(|one, other| one.weight == other.weight) {
            let end = start + run.len();
            let count = weighted(run[0].weight, self.completions(&records[start..end])?)?;
            sum = add(sum, count)?;
            start = end;
        }
        Ok(sum)
    }

    /// Calls `each` with the weight times completions of every task, in order. It takes a little
    /// longer than [`count`](Kernel::count), which returns the sum of the same numbers.
    ///
    /// # Errors
    ///
    /// [`CountError::BadTask`] before the first call. [`CountError::Overflow`] instead of the call
    /// for a task whose count is too large.
    pub fn count_each(
        &mut self,
        tasks: &[Task],
        mut each: impl FnMut(u64),
    ) -> Result<(), CountError> {
        for (task, record) in tasks.iter().zip(self.records(tasks)?) {
            each(weighted(task.weight, self.completions(&[record])?)?);
        }
        Ok(())
    }

    /// The records of the tasks that are counted in place of `tasks`: themselves, or their mirror
    /// images.
    fn records(&self, tasks: &[Task]) -> Result<Vec<Prefix>, CountError> {
        let Kernel { problem, kind, is_mirrored, .. } = self;
        if let Some(bad) = tasks.iter().position(|task| !is_task(problem, *kind, task.record)) {
            return Err(CountError::BadTask(bad));
        }
        let image = |task: &Task| mirrored(problem, *kind, task.record);
        Ok(match is_mirrored {
            true => tasks.iter().map(image).collect(),
            false => tasks.iter().map(|task| task.record).collect(),
        })
    }

    /// The completions of checked tasks, without their weights.
    fn completions(&mut self, tasks: &[Prefix]) -> Result<u64, CountError> {
        let (n, stop) = (self.problem.n(), self.stop.clone());
        let found = match &mut self.work {
            Work::Rows(engine, rows) => {
                engine.completions(Remaining { columns: full_mask(n), rows }, tasks, &stop)
            }
            Work::Colours(_) => tasks
                .iter()
                .take_while(|_| !stop.is_asked())
                .map(|&task| self.colour_product(task, Draws::ALL))
                .try_fold(0, |sum, count| add(sum, count?))?,
            Work::FirstRows(first) => first.completions(tasks, &stop),
        };
        // The search ended early only if this is true now: it is never taken back.
        if stop.is_asked() { Err(CountError::Stopped) } else { Ok(found) }
    }

    /// The completions of a checked task by `colours`, or those of them that are drawn.
    ///
    /// # Panics
    ///
    /// Panics if it is a kernel for another method.
    fn colour_product(&mut self, task: Prefix, draws: Draws) -> Result<u64, CountError> {
        let Work::Colours(counter) = &mut self.work else { panic!("no kernel for colours") };
        let split = board::colours::Split::unpack(self.problem.n(), task).expect("it is a task");
        u64::try_from(counter.count(split, draws)).map_err(|_| CountError::Overflow)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kernel { problem, kind, .. } = self;
        write!(f, "Kernel for {kind:?} of {problem}")
    }
}

impl Work {
    /// `None` if the processor lacks the backend.
    fn new(backend: Backend, problem: Problem, kind: TaskKind) -> Option<Work> {
        let n = problem.n();
        Some(match kind {
            TaskKind::Prefix { rows } => {
                let rows_left = n - rows;
                let rows = vec![OpenRow::PLAIN; rows_left as usize];
                Work::Rows(engine(backend, n, rows_left)?, rows)
            }
            TaskKind::Colours => Work::Colours(colours::counter(backend, problem, &[])?),
            TaskKind::FirstRows { rows } => {
                Work::FirstRows(FirstRows::new(backend, problem, rows)?)
            }
        })
    }
}

/// The tasks of a range of ordinals, one block after the other.
fn blocks(
    index: &PlanIndex,
    range: Range<u64>,
) -> Result<impl Iterator<Item = Vec<Task>>, RangeError> {
    // The whole range is checked first, so that nothing is counted if a part of it is beyond the
    // end.
    index.check(&range)?;
    let end = range.end;
    Ok(range.step_by(BLOCK).map(move |start| {
        let block = start..end.min(start + BLOCK as u64);
        index.tasks(block).expect("the plan has the whole range")
    }))
}

fn add(sum: u64, count: u64) -> Result<u64, CountError> {
    sum.checked_add(count).ok_or(CountError::Overflow)
}

fn weighted(weight: u8, completions: u64) -> Result<u64, CountError> {
    u64::from(weight).checked_mul(completions).ok_or(CountError::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_at_the_limit_is_a_sum_and_beyond_it_an_error() {
        assert_eq!(weighted(2, (u64::MAX - 1) / 2), Ok(u64::MAX - 1));
        assert_eq!(weighted(2, u64::MAX / 2 + 1), Err(CountError::Overflow));
        assert_eq!(add(1, u64::MAX - 1), Ok(u64::MAX));
        assert_eq!(add(2, u64::MAX - 1), Err(CountError::Overflow));
    }
}
