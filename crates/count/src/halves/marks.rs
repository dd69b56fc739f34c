//! Marks: bits of a half-board's key that no diagonal has. They tell whether a list that serves several
//! tasks holds the half-board for one of them.
//!
//! ```text
//!   left    N ..       the closed columns: with the centre row's queen there the half-board does not
//!                      count, because it attacks her or has the centre column's queen too far out
//!   left    31         whether it attacks the first column's square, on a diagonal that the other
//!   right   27         half does not touch, so that no view has it
//!   right   28 .. 31   how far out the centre column's queen is: 1 in the row next to the centre
//! ```

use board::halves::SHARED_LISTS_MAX_N;

use super::pairs::Pairs;

/// Whether tasks of a board of size `n` share lists. Lists of a larger board would take too much memory, and
/// its keys have no room for marks. With classes there is no code that suits all tasks of a list, because their
/// diagonals depend on the centre row's queen.
pub(crate) fn shares_lists(n: u32, pairs: Pairs) -> bool {
    pairs == Pairs::Together && n % 2 == 1 && n <= SHARED_LISTS_MAX_N
}

/// The bits of an upper half-board's key that are its marks.
pub(crate) const UPPER_MARKS: [u32; 5] = {
    const FIRST: u32 = 32 + CORNER_OF_UPPER;
    [FIRST, FIRST + 1, FIRST + 2, FIRST + 3, FIRST + 4]
};

/// The bit of a lower half-board's key that is its mark.
pub(crate) const LOWER_MARKS: [u32; 1] = [CORNER_OF_LOWER];

const CORNER_OF_UPPER: u32 = 27;

const CORNER_OF_LOWER: u32 = 31;

/// The marks of a quarter-board with the key `far`. `number` is its part of the half-board's number, whose
/// one bit is the row of the centre column's queen. The marks of a half-board are those of both quarters.
pub(crate) fn marks(n: u32, far: u64, number: u32) -> u64 {
    let half = n / 2;
    let (distance, not_beyond) = match number.checked_ilog2() {
        None => (0, 0),
        Some(bit) => (u64::from(bit) + 1, u64::MAX << (half - 1 - bit)),
    };
    let closed = (far | far >> 32 | not_beyond) & ((1 << half) - 1);
    let corner = far >> 32 & 1;
    let upper = corner << CORNER_OF_UPPER | distance << (CORNER_OF_UPPER + 1);
    closed << n | corner << CORNER_OF_LOWER | upper << 32
}
