//! What every backend shares: tasks are checked before, and sums are checked after.
//!
//! A task may come from another machine. A malformed one would give a number that means nothing,
//! so that each is held against the board's size and the rows placed before it is counted.

use board::{Method, Prefix, Problem, TaskSlice, full_mask};
use thiserror::Error;

use crate::Backend;
use crate::engine::Engine;
use crate::first_rows::FirstRows;
use crate::ground::{Ground, Row};
use crate::halves::{self, Halves};
use crate::ring::Ring;

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
    /// A kernel for the tasks of all placements on a board of size `n` (`0..=32`), cut by `method`.
    ///
    /// # Panics
    ///
    /// As [`within`](Kernel::within).
    #[must_use]
    pub fn new(backend: Backend, n: u32, method: Method) -> Kernel {
        let problem = Problem::Total { n };
        Kernel::within(memory_needed(problem, method).most, backend, problem, method)
    }

    /// A kernel for the tasks of `problem`, cut by `method`, that takes at most `memory` bytes, or the
    /// [`least`](MemoryNeed::least) that it needs if that is more.
    ///
    /// # Panics
    ///
    /// If the problem cannot be cut so ([`Problem::suits`]), or the processor lacks the backend, which
    /// [`Backend::require`] tells.
    #[must_use]
    pub fn within(memory: u64, backend: Backend, problem: Problem, method: Method) -> Kernel {
        assert!(problem.suits(method), "{problem} by {method}");
        let work = match (problem, method) {
            (Problem::Total { n } | Problem::Fundamental { n }, _) => {
                Kernel::total(memory, backend, n, method)
            }
            (_, Method::Rows { rows }) => {
                FirstRows::new(backend, problem, rows).map(Work::FirstRows)
            }
            (_, Method::Ring { .. } | Method::Halves) => unreachable!("only a total suits them"),
        };
        let work = work.unwrap_or_else(|| panic!("a processor that has {backend}"));
        Kernel { problem, method, work }
    }

    /// `None` if the processor lacks the backend.
    fn total(memory: u64, backend: Backend, n: u32, method: Method) -> Option<Work> {
        Some(match method {
            Method::Rows { rows } => {
                let rows_left = n - rows;
                let rows = vec![Row::OPEN; rows_left as usize];
                Work::Rows(Engine::new(backend, n, rows_left)?, rows)
            }
            Method::Ring { width } => {
                let (columns, most_rows) = Ring::size(n, width);
                Work::Ring(Engine::new(backend, columns, most_rows)?, Ring::new(n, width))
            }
            Method::Halves => Work::Halves(Box::new(Halves::new(memory, backend, n)?)),
        })
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
        self.check(tasks)?;
        let mut sum = 0;
        let mut start = 0;
        for run in tasks.weight.chunk_by(|a, b| a == b) {
            let end = start + run.len();
            let completions = self.completions(tasks.slice(start..end))?;
            sum = add_weighted(sum, run[0], completions)?;
            start = end;
        }
        Ok(sum)
    }

    /// How many states the searches have stored so far, those of tasks not counted: what is left of
    /// the tree after look-ahead, without its last rows. `None` where none are stored: by the
    /// reference, and by a join.
    #[must_use]
    pub fn nodes(&self) -> Option<u64> {
        match &self.work {
            Work::Rows(engine, _) | Work::Ring(engine, _) => engine.nodes(),
            Work::Halves(_) | Work::FirstRows(_) => None,
        }
    }

    fn completions(&mut self, tasks: TaskSlice<'_>) -> Result<u64, CountError> {
        match &mut self.work {
            Work::Rows(engine, rows) => {
                Ok(engine.completions(Ground { columns: full_mask(self.problem.n()), rows }, tasks))
            }
            Work::Ring(engine, ring) => Ok(ring.completions(engine, tasks)),
            Work::Halves(halves) => halves.completions(tasks),
            Work::FirstRows(first) => Ok(first.completions(tasks)),
        }
    }

    fn check(&self, tasks: TaskSlice<'_>) -> Result<(), CountError> {
        let Kernel { problem, method, .. } = *self;
        let n = problem.n();
        let is_bad = |&i: &usize| {
            let record @ Prefix { left, down, right } = tasks.get(i).0;
            match &self.work {
                Work::Rows(_, rows_left) => {
                    let queens = n - rows_left.len() as u32;
                    (left | down | right) & !full_mask(n) != 0 || down.count_ones() != queens
                }
                Work::Ring(_, ring) => !ring.holds(record),
                Work::Halves(halves) => !halves.holds(record),
                Work::FirstRows(first) => !first.holds(record),
            }
        };
        let bad = (0..tasks.len()).find(is_bad);
        bad.map_or(Ok(()), |index| {
            Err(CountError::BadTask { index, problem: problem.name(), n, method })
        })
    }
}

fn add_weighted(sum: u64, weight: u8, completions: u64) -> Result<u64, CountError> {
    u64::from(weight)
        .checked_mul(completions)
        .and_then(|product| sum.checked_add(product))
        .ok_or(CountError::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_at_the_limit_is_a_sum_and_beyond_it_an_error() {
        assert_eq!(add_weighted(1, 2, (u64::MAX - 1) / 2), Ok(u64::MAX));
        assert_eq!(add_weighted(2, 2, (u64::MAX - 1) / 2), Err(CountError::Overflow));
        assert_eq!(add_weighted(0, 2, u64::MAX / 2 + 1), Err(CountError::Overflow));
    }
}
