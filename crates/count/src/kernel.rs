//! What every backend shares: tasks are checked before, and sums are checked after.
//!
//! A task may come from another machine. A malformed one would give a number that means nothing,
//! so that each is held against the board's size and the rows placed before it is counted.

use board::{MAX_N, TaskSlice, full_mask};
use thiserror::Error;

use crate::Backend;
use crate::portable::Portable;
use crate::reference;

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

enum Engine {
    Reference,
    Portable(Portable),
}

impl Kernel {
    /// A kernel for tasks of `rows` placed rows (`0..=n`) on a board of size `n` (`0..=32`).
    ///
    /// # Panics
    ///
    /// If `n` or `rows` is out of its range.
    #[must_use]
    pub fn new(backend: Backend, n: u32, rows: u32) -> Kernel {
        assert!(n <= MAX_N, "a board of size {n}, of at most {MAX_N}");
        assert!(rows <= n, "{rows} rows of a board of size {n}");
        let engine = match backend {
            Backend::Reference => Engine::Reference,
            Backend::Portable => Engine::Portable(Portable::new(n, rows)),
        };
        Kernel { n, rows, engine }
    }

    /// The sum of weight times completions over `tasks`: a partial count.
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
            let completions = self.completions(tasks.slice(start..end));
            sum = add_weighted(sum, run[0], completions)?;
            start = end;
        }
        Ok(sum)
    }

    fn check(&self, tasks: TaskSlice<'_>) -> Result<(), CountError> {
        let beyond = !full_mask(self.n);
        for index in 0..tasks.len() {
            let (task, _) = tasks.get(index);
            let outside = (task.left | task.down | task.right) & beyond != 0;
            if outside || task.down.count_ones() != self.rows {
                return Err(CountError::BadTask { index, n: self.n, rows: self.rows });
            }
        }
        Ok(())
    }

    /// Unweighted. Both backends add at most a few hundred at a time, so that a sum of 2^64 is
    /// decades away.
    fn completions(&mut self, tasks: TaskSlice<'_>) -> u64 {
        match &mut self.engine {
            Engine::Reference => (0..tasks.len())
                .map(|i| reference::completions(self.n, tasks.get(i).0, self.n - self.rows))
                .sum(),
            Engine::Portable(portable) => portable.completions(tasks),
        }
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
