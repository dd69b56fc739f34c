//! What every backend shares: tasks are checked before, and sums are checked after.
//!
//! A task may come from another machine. A malformed one would give a number that means nothing,
//! so that each is held against the board's size and the rows placed before it is counted.

use board::{MAX_N, TaskSlice, full_mask};
use thiserror::Error;

use crate::Backend;
use crate::engine::Engine;

/// Why a block of tasks has no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CountError {
    /// A task's masks pass the board, or its `down` has more or fewer queens than rows placed.
    #[error(
        "task {index} of the block does not hold {rows} placed rows of a board of size {n}: \
         count it under the plan that it was made for"
    )]
    BadTask {
        /// The place of the task in the block.
        index: usize,
        /// The size of the board.
        n: u32,
        /// The rows placed.
        rows: u32,
    },
    /// The sum is 2^64 or more.
    #[error("the count of the block passes 2^64 - 1: give fewer tasks at a time")]
    Overflow,
}

/// A counting loop for one board size and number of placed rows, with its buffers.
///
/// It is made once per thread and used for every block of tasks of a plan.
pub struct Kernel {
    n: u32,
    rows: u32,
    engine: Engine,
}

impl Kernel {
    /// A kernel for tasks of `rows` placed rows (`0..=n`) on a board of size `n` (`0..=32`).
    ///
    /// # Panics
    ///
    /// If `n` or `rows` is out of its range, or the processor lacks the backend, which
    /// [`Backend::require`] tells.
    #[must_use]
    pub fn new(backend: Backend, n: u32, rows: u32) -> Kernel {
        assert!(n <= MAX_N, "a board of size {n}, of at most {MAX_N}");
        assert!(rows <= n, "{rows} rows of a board of size {n}");
        let engine = Engine::new(backend, n, rows);
        let engine = engine.unwrap_or_else(|| panic!("a processor that has {backend}"));
        Kernel { n, rows, engine }
    }

    /// The sum of weight times completions over `tasks`: a partial count.
    ///
    /// Completions are added up in u64. Every backend meets them a few at a time, at most 10^10 a
    /// second, so that 2^64 of them are more than fifty years away; what they are multiplied by
    /// and added to is checked.
    ///
    /// A completion is a way to place queens in all rows that are left. Tasks of one weight are
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
            let completions = self.engine.completions(tasks.slice(start..end));
            sum = add_weighted(sum, run[0], completions)?;
            start = end;
        }
        Ok(sum)
    }

    fn check(&self, tasks: TaskSlice<'_>) -> Result<(), CountError> {
        let (n, rows) = (self.n, self.rows);
        let beyond = !full_mask(n);
        let is_bad = |left: u32, down: u32, right: u32| {
            (left | down | right) & beyond != 0 || down.count_ones() != rows
        };
        let bad = (0..tasks.len()).find(|&i| is_bad(tasks.left[i], tasks.down[i], tasks.right[i]));
        bad.map_or(Ok(()), |index| Err(CountError::BadTask { index, n, rows }))
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
