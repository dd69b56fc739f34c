//! The `halves` method's tasks: every way to give half of the columns to the upper half's queens.
//!
//! The queens of the upper N/2 rows stand in N/2 columns, the *split*; those of the lower half
//! stand in the others. A task is one split. On an odd board the centre row comes first: a task is
//! the column of its queen and a split of the columns that are left.
//!
//! Each board stands for its eight images under the symmetries of the square. Mirroring and
//! turning upside down act on splits, so that one canonical split stands for four; transposing does
//! not, but it shows in each half-board by itself, so that only some half-boards of a task are
//! counted: [`Shares`] draws how.
//!
//! ```text
//!   record      left       right      down                              weight
//!   N even      0          0          the upper half's columns          2
//!   N odd       1 << c     1 << c     (c: the centre row's queen)       4, in the centre 2
//! ```
//!
//! What a task counts is the sum of its completions' shares. Shares times weights of a board's
//! eight images add up to eight, so that the sum over all tasks is Q(N).
//!
//! Order: for odd N by c first, ascending up to the centre column, so that neighbouring tasks share
//! it. Left of the centre the upper half has a queen in the centre column, and splits are in the
//! order of masks. With c in the centre, and for even N, `splits` has the order.
//!
//! Ordinals are computed with, not looked up: a plan holds two numbers, and a task takes less
//! than 1 us from anywhere (N = 19).

mod shares;
mod splits;

use std::ops::Range;

use thiserror::Error;

pub use self::shares::{Shares, Window};
use crate::{Prefix, Tasks};

/// The smallest board that is split.
pub const MIN_N: u32 = 4;

/// The largest board that is split: of a larger one a task would take hours, and nobody has measured
/// how long its lists are.
pub const MAX_N: u32 = 29;

/// Why a plan cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HalvesError {
    /// The board is too small to split, or its masks do not fit.
    #[error("a board of size {n}: the method halves takes sizes from {MIN_N} to {MAX_N}")]
    BoardOutOfRange {
        /// The size of the board.
        n: u32,
    },
}

/// The tasks of one board, by ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalvesPlan {
    n: u32,
    len: u64,
}

impl HalvesPlan {
    /// Plans a board of size `n` ([`MIN_N`]`..=`[`MAX_N`]).
    ///
    /// # Errors
    ///
    /// [`HalvesError`], if the board is smaller or larger.
    pub fn new(n: u32) -> Result<HalvesPlan, HalvesError> {
        if !(MIN_N..=MAX_N).contains(&n) {
            return Err(HalvesError::BoardOutOfRange { n });
        }
        let half = n / 2;
        let beside_centre = if n % 2 == 1 { u64::from(half) * splits_beside(n) } else { 0 };
        Ok(HalvesPlan { n, len: beside_centre + splits::len(half) })
    }

    /// The size of the board.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// The number of tasks: about C(N, N/2)/4, and N/4 times C(N - 1, (N - 1)/2) for odd N.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no task; there always is one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the tasks whose ordinals are in `range` to `out`, in order.
    ///
    /// # Panics
    ///
    /// If `range` passes [`len`](HalvesPlan::len), or starts after its end.
    pub fn fill(&self, range: Range<u64>, out: &mut Tasks) {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "range {range:?} of a plan of {} tasks",
            self.len
        );
        for ordinal in range {
            let (prefix, weight) = self.task(ordinal);
            out.push(prefix, weight);
        }
    }

    fn task(&self, ordinal: u64) -> (Prefix, u8) {
        let half = self.n / 2;
        if self.n.is_multiple_of(2) {
            return (Prefix { left: 0, down: splits::get(half, ordinal), right: 0 }, 2);
        }
        let beside = splits_beside(self.n);
        let column = u64::from(half).min(ordinal / beside) as u32;
        let ordinal = ordinal - u64::from(column) * beside;
        let (down, weight) = if column == half {
            (leave_out(splits::get(half, ordinal), half), 2)
        } else {
            let others = leave_out(splits::combination(half - 1, ordinal), column);
            (leave_out(others, half) | 1 << half, 4)
        };
        let centre = 1 << column;
        (Prefix { left: centre, down, right: centre }, weight)
    }
}

/// The number of splits of an odd board that have the centre column, for one other column of the
/// centre row's queen.
fn splits_beside(n: u32) -> u64 {
    splits::binomial(n - 2, n / 2 - 1)
}

/// A set of all columns but `column`, from a set of one column less.
fn leave_out(set: u32, column: u32) -> u32 {
    let below = set & ((1 << column) - 1);
    (set - below) << 1 | below
}
