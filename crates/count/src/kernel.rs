//! What every way to count shares: tasks are checked before, and sums are checked after.

use board::{Method, Problem, TaskSlice, Tasks, full_mask};
use thiserror::Error;

use crate::engine::Engine;
use crate::first_rows::FirstRows;
use crate::ground::{Ground, Row};
use crate::halves::{self, Halves};
use crate::ring::Ring;
use crate::task::{is_task, mirrored, mirrored_problem};
use crate::{Backend, Variant, split_search};

/// Why a block of tasks has no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CountError {
    /// A task is none of this problem and method: masks that pass the board or hold another number
    /// of queens than rows, queens that attack each other, or no split.
    #[error(
        "task {index} of the block is no task of {problem} N={n} by {method}: count it under the \
         plan that it was made for"
    )]
    BadTask {
        /// The place of the task in the block.
        index: usize,
        /// What is counted, its [name](Problem::name).
        problem: &'static str,
        /// The size of the board.
        n: u32,
        /// How it was cut.
        method: Method,
    },
    /// The sum is 2^64 or more.
    #[error("the count of the block passes 2^64 - 1: give fewer tasks at a time")]
    Overflow,
}

/// A counting loop for one problem and method, with its buffers.
///
/// It is made once per thread and used for every block of tasks of a plan.
pub struct Kernel {
    problem: Problem,
    method: Method,
    /// Whether the work is for the mirror images of problem and tasks.
    is_mirrored: bool,
    work: Work,
}

/// What is done with tasks.
enum Work {
    /// The same rows are searched below every one.
    Rows(Engine, Vec<Row>),
    /// The inner rows are searched.
    Ring(Engine, Ring),
    /// Upper and lower half-boards are joined.
    Halves(Box<Halves>),
    /// The rows below the first ones are searched, of problems that are no total.
    FirstRows(FirstRows),
    /// Boards of splits are searched.
    SplitSearch,
}

/// The bytes that one [`Kernel`] takes, where that is worth planning for: by `halves`. 0 otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryNeed {
    /// With less it cannot count.
    pub least: u64,
    /// With more it counts no faster.
    pub most: u64,
}

/// What a [`Kernel`] for `problem` takes.
#[must_use]
pub fn memory_needed(problem: Problem, method: Method) -> MemoryNeed {
    match method {
        Method::Rows { .. } | Method::Ring { .. } => MemoryNeed::default(),
        Method::Halves => halves::needs(problem.n()),
    }
}

impl Kernel {
    /// A kernel for the tasks of all placements on a board of size `n` (`0..=32`), cut by `method`,
    /// which takes as much memory as is of use.
    ///
    /// # Panics
    ///
    /// As [`of`](Kernel::of).
    #[must_use]
    pub fn new(variant: impl Into<Variant>, n: u32, method: Method) -> Kernel {
        Kernel::of(u64::MAX, variant, Problem::Total { n }, method)
    }

    /// A kernel for the tasks of `problem`, cut by `method`, that takes at most `memory` bytes, or the
    /// [`least`](MemoryNeed::least) that it needs if that is more. A [`Backend`] is a variant:
    /// [`Straight`](Variant::Straight).
    ///
    /// # Panics
    ///
    /// If the problem cannot be cut so ([`Problem::suits`]) or the tasks not be counted so
    /// ([`Variant::suits`]), or the processor lacks the backend, which [`Backend::require`] tells.
    #[must_use]
    pub fn of(
        memory: u64,
        variant: impl Into<Variant>,
        problem: Problem,
        method: Method,
    ) -> Kernel {
        let variant = variant.into();
        assert!(problem.suits(method), "{problem} by {method}");
        assert!(variant.suits(method), "{method} by {variant}");
        let (work, is_mirrored) = match variant {
            Variant::Straight(backend) => (Work::new(memory, backend, problem, method), false),
            Variant::Mirrored(backend) => {
                (Work::new(memory, backend, mirrored_problem(problem), method), true)
            }
            Variant::Search => (Some(Work::SplitSearch), false),
        };
        let work = work.unwrap_or_else(|| panic!("a processor that has {variant}"));
        Kernel { problem, method, is_mirrored, work }
    }

    /// The sum of weight times completions over `tasks`: a partial count.
    ///
    /// Completions are added up in u64. A search meets them a few at a time, at most 10^10 a second,
    /// so that 2^64 of them are more than fifty years away; a join's sum is checked by its residue,
    /// and so is what either is multiplied by and added to.
    ///
    /// A completion is a way to place queens in all rows that are left; by `halves` it is counted as
    /// often as its share says ([`board::halves::Shares`]). Tasks of one weight are
    /// counted together, so that a block goes fastest where equal weights are neighbours.
    ///
    /// # Errors
    ///
    /// [`CountError::BadTask`] for the first task that is not a state of this board, in which case
    /// nothing is counted, and [`CountError::Overflow`].
    pub fn count(&mut self, tasks: TaskSlice<'_>) -> Result<u64, CountError> {
        let mut sum = 0;
        self.count_runs(tasks, u8::eq, |count| {
            sum = add(sum, count)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// Calls `each` with the weight times completions of every task, in order. It takes a little
    /// longer than [`count`](Kernel::count), whose sum it tells apart.
    ///
    /// # Errors
    ///
    /// As [`count`](Kernel::count): of a bad task before the first call, and
    /// [`CountError::Overflow`] in place of the call for a task whose count is so large.
    pub fn count_each(
        &mut self,
        tasks: TaskSlice<'_>,
        mut each: impl FnMut(u64),
    ) -> Result<(), CountError> {
        self.count_runs(
            tasks,
            |_, _| false,
            |count| {
                each(count);
                Ok(())
            },
        )
    }

    /// Calls `each` with the weight times completions of all tasks of every run, in order: neighbours
    /// are of one run where `are_together` says so of their weights, which must then be equal.
    fn count_runs(
        &mut self,
        tasks: TaskSlice<'_>,
        are_together: fn(&u8, &u8) -> bool,
        mut each: impl FnMut(u64) -> Result<(), CountError>,
    ) -> Result<(), CountError> {
        self.check(tasks)?;
        let images;
        let tasks = if self.is_mirrored {
            images = self.images(tasks);
            images.as_slice()
        } else {
            tasks
        };
        let mut start = 0;
        for run in tasks.weight.chunk_by(are_together) {
            let end = start + run.len();
            each(weighted(run[0], self.completions(tasks.slice(start..end))?)?)?;
            start = end;
        }
        Ok(())
    }

    fn check(&self, tasks: TaskSlice<'_>) -> Result<(), CountError> {
        let Kernel { problem, method, .. } = *self;
        let bad = (0..tasks.len()).find(|&i| !is_task(&problem, method, tasks.get(i).0));
        bad.map_or(Ok(()), |index| {
            Err(CountError::BadTask { index, problem: problem.name(), n: problem.n(), method })
        })
    }

    fn images(&self, tasks: TaskSlice<'_>) -> Tasks {
        let mut images = Tasks::with_capacity(tasks.len());
        for (task, weight) in (0..tasks.len()).map(|i| tasks.get(i)) {
            images.push(mirrored(&self.problem, self.method, task), weight);
        }
        images
    }

    /// The completions of checked tasks, without their weights.
    fn completions(&mut self, tasks: TaskSlice<'_>) -> Result<u64, CountError> {
        let n = self.problem.n();
        match &mut self.work {
            Work::Rows(engine, rows) => {
                Ok(engine.completions(Ground { columns: full_mask(n), rows }, tasks))
            }
            Work::Ring(engine, ring) => Ok(ring.completions(engine, tasks)),
            Work::Halves(halves) => halves.completions(tasks),
            Work::FirstRows(first) => Ok(first.completions(tasks)),
            Work::SplitSearch => {
                let completions = |i| split_search::completions(n, tasks.get(i).0);
                (0..tasks.len()).map(completions).try_fold(0, add)
            }
        }
    }

    /// How many states the searches have stored so far, those of tasks not counted: what is left of
    /// the tree after look-ahead, without its last rows. `None` where none are stored: by the
    /// reference, by a join, and by the search of splits.
    #[must_use]
    pub fn nodes(&self) -> Option<u64> {
        match &self.work {
            Work::Rows(engine, _) | Work::Ring(engine, _) => engine.nodes(),
            Work::Halves(_) | Work::FirstRows(_) | Work::SplitSearch => None,
        }
    }
}

impl Work {
    /// `None` if the processor lacks the backend.
    fn new(memory: u64, backend: Backend, problem: Problem, method: Method) -> Option<Work> {
        let n = problem.n();
        Some(match (problem, method) {
            (Problem::Total { .. } | Problem::Fundamental { .. }, Method::Rows { rows }) => {
                let rows_left = n - rows;
                let rows = vec![Row::OPEN; rows_left as usize];
                Work::Rows(Engine::new(backend, n, rows_left)?, rows)
            }
            (_, Method::Rows { rows }) => Work::FirstRows(FirstRows::new(backend, problem, rows)?),
            (_, Method::Ring { width }) => {
                let (columns, most_rows) = Ring::size(n, width);
                Work::Ring(Engine::new(backend, columns, most_rows)?, Ring::new(n, width))
            }
            (_, Method::Halves) => Work::Halves(Box::new(Halves::new(memory, backend, n)?)),
        })
    }
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
