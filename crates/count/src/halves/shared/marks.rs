//! Marks: bits of a half-board's key that no diagonal uses. They decide for which of the tasks that
//! share a list the half-board counts.
//!
//! ```text
//!   left    N ..       the closed columns: with the centre row's queen there the half-board does not
//!                      count, because it attacks that queen or has the centre column's too far out
//!   right   28 .. 30   how far out the centre column's queen is: 0 in the row next to the centre, and
//!                      7 from the eighth row on
//! ```
//!
//! The closed columns decide whether an upper half-board counts with the queen on one of the first
//! two squares of the centre row. They number its bucket, together with the code, because items
//! have no room for them. For the other squares the attacked diagonals and the distance are enough.
//! For a lower half-board the diagonals are enough for all squares but the first, for which its
//! item has a mark.

/// The bits of the keys that are marks in records.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    /// The number of first columns whose bits number the buckets of the upper half, as the lowest
    /// bits.
    pub(crate) columns: u32,
    /// The lowest of the bits that follow the diagonals of an upper item, and their number.
    pub(crate) upper: (u32, u32),
    /// The same as `upper`, for a lower item.
    pub(crate) lower: (u32, u32),
}

impl Marks {
    /// The marks of a board of size `n` whose tasks share lists.
    pub(crate) fn of(n: u32) -> Marks {
        Marks { columns: CLOSED_COLUMNS, upper: (DISTANCE, DISTANCE_BITS), lower: (n, 1) }
    }
}

/// The number of columns of the centre row for which the marks say whether they are closed. For the
/// other columns, the distance decides whether the centre column's queen is too far out. There it
/// is at most seven rows, so the distance has enough values.
pub(crate) const CLOSED_COLUMNS: u32 = 2;

/// The lowest bit of the distance, and the number of its bits.
const DISTANCE: u32 = 32 + 28;
const DISTANCE_BITS: u32 = 3;

/// The marks of a quarter-board with the key `far`. `number` is its part of the half-board's
/// number, whose one bit is the row of the centre column's queen. The marks of a half-board are
/// those of both quarters.
pub(crate) fn marks(n: u32, far: u64, number: u32) -> u64 {
    let half = n / 2;
    let (distance, not_beyond) = match number.checked_ilog2() {
        None => (0, 0),
        Some(rows) => (rows.min((1 << DISTANCE_BITS) - 1), u64::MAX << (half - 1 - rows)),
    };
    let closed = (far | far >> 32 | not_beyond) & ((1 << half) - 1);
    closed << n | u64::from(distance) << DISTANCE
}

/// The largest value of an upper item with this many diagonals whose half-board counts with the
/// centre row's queen in this column. The column is not one of the first ones and not next to the
/// centre.
pub(crate) fn most(n: u32, column: u32, diagonals: u32) -> u32 {
    ((n / 2 - 1 - column) << diagonals) - 1
}
