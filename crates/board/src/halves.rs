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
//! Order: for odd N those with c left of the centre first. Their upper halves have a queen in the
//! centre column. Up to N = 21 neighbours have the same split, or splits that are the same right of
//! the centre, so that most of their half-boards serve several tasks. On larger boards, where these
//! would have to be kept for too long, neighbours have the same c, and splits are in the order of
//! masks. With c in the centre, and for even N, too, `splits` has the order.
//!
//! Ordinals are computed with, not looked up: a plan holds two numbers, and a task takes less
//! than 1 us from anywhere (N = 19).

mod shares;
mod splits;

use std::ops::Range;

use thiserror::Error;

pub use self::shares::{Shares, Window};
use crate::{Prefix, RangeError, Tasks};

/// The smallest board that is split.
pub const MIN_N: u32 = 4;

/// The largest board that is split: of a larger one a task would take hours, and nobody has measured
/// how long its lists are.
pub const MAX_N: u32 = 29;

/// The largest odd board whose tasks are in the order of splits, so that neighbours share lists of
/// half-boards. On larger odd boards they are in the order of the centre row's squares.
pub(crate) const SHARED_LISTS_MAX_N: u32 = 21;

/// Why a plan cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
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
        let beside = if n % 2 == 1 { splits::len_beside(half) } else { 0 };
        Ok(HalvesPlan { n, len: beside + splits::len(half) })
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
    /// # Errors
    ///
    /// [`RangeError`], if `range` passes [`len`](HalvesPlan::len) or starts after its end.
    pub fn fill(&self, range: Range<u64>, out: &mut Tasks) -> Result<(), RangeError> {
        RangeError::check(&range, self.len())?;
        for ordinal in range {
            let (prefix, weight) = self.task(ordinal);
            out.push(prefix, weight);
        }
        Ok(())
    }

    fn task(&self, ordinal: u64) -> (Prefix, u8) {
        let half = self.n / 2;
        if self.n.is_multiple_of(2) {
            return (Prefix { left: 0, down: splits::get(half, ordinal), right: 0 }, 2);
        }
        let beside = splits::len_beside(half);
        let (centre, down, weight) = if ordinal < beside {
            let in_order = if self.n <= SHARED_LISTS_MAX_N {
                splits::beside
            } else {
                splits::beside_by_square
            };
            let (centre, down) = in_order(half, ordinal);
            (centre, down, 4)
        } else {
            (1 << half, splits::leave_out(splits::get(half, ordinal - beside), half), 2)
        };
        (Prefix { left: centre, down, right: centre }, weight)
    }
}
