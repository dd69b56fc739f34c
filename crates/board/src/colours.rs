//! Tasks of the method `colours`: every way to say which rows' queens stand in even columns.
//!
//! Rows and columns are numbered from 0. A square is black if its row and its column are both even
//! or both odd. Along a diagonal the colour does not change, so a black and a white queen meet only
//! in a row or in a column.
//!
//! ```text
//!   N = 6     column  0 1 2 3 4 5
//!             row 0   . w . . . .      w, b: a queen on a white, on a black square
//!             row 1   . . . b . .
//!             row 2   . . . . . w      S  = rows 3, 4, 5:    their queens stand in even columns
//!             row 3   w . . . . .      S2 = columns 1, 2, 5: their queens stand in even rows
//!             row 4   . . b . . .
//!             row 5   . . . . w .      black: rows 1 and 4, columns 2 and 3
//! ```
//!
//! The *split* S of a board is the set of rows whose queens stand in even columns. The even rows in
//! S and the odd rows that are not in S hold black queens; all others hold white ones. So a split
//! says of each row which colour its queen stands on, and [`Split`] has the rows of black queens.
//! S2 is the split of the transposed board, and says the same of each column. Both have ceil(N/2)
//! lines.
//!
//! A task is one split, and counts the boards that have it:
//!
//! ```text
//!   record    left = right = 0    down = S    weight 4 or 2 (N even), 2 or 1 (N odd)
//! ```
//!
//! For each S2 these boards are the placements of black queens times those of white queens: the
//! *colour product*, which is this project's own. [`share()`] removes what is left of the symmetry.
//!
//! # The order of tasks
//!
//! Tasks are ordered by the number k of even rows with a black queen, then by the set of odd rows
//! with a black queen, then by the set of even rows, which for even N is read from the other end.
//! Neighbours have the odd rows in common, and with them the sets of columns that their kernels go
//! through. A plan is a list of runs with the same odd rows, so the task of an ordinal is found by
//! a binary search.
//!
//! No symmetry is used for boards with given queens. Every split that agrees with them is a task of
//! weight 1, and counts each of its boards once.

mod completions;
mod plan;
mod share;

pub(crate) use self::completions::CompletionsPlan;
pub use self::completions::agrees;
pub(crate) use self::plan::ColoursPlan;
pub use self::plan::sets;
pub use self::share::{Class, share, share_bounds};
use crate::{Prefix, full_mask};

/// The smallest board that is split by colours.
pub const MIN_N: u32 = 4;

/// The largest board that is split by colours: the largest that masks hold.
pub const MAX_N: u32 = crate::MAX_N;

/// The number of even lines of a board of size `n`.
#[must_use]
pub const fn even_lines(n: u32) -> u32 {
    n.div_ceil(2)
}

/// The number of odd lines of a board of size `n`.
#[must_use]
pub const fn odd_lines(n: u32) -> u32 {
    n / 2
}

/// The lines of a board, its rows or its columns, that hold a black queen. All other lines hold
/// white queens.
///
/// There are `even_lines(n) - odd_lines(n)` more even lines with a black queen than odd ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The even lines with a black queen: bit `i` is line `2 * i`.
    pub even: u32,
    /// The odd lines with a black queen: bit `i` is line `2 * i + 1`.
    pub odd: u32,
}

/// The even lines of a mask of lines.
const EVEN: u32 = 0x5555_5555;

impl Split {
    /// The split of a record of a board of size `n`, or `None` if the record is no split. The split
    /// need not be a task of a plan.
    #[must_use]
    pub fn unpack(n: u32, Prefix { left, down, right }: Prefix) -> Option<Split> {
        let is_split = n <= MAX_N
            && left | right == 0
            && down & !full_mask(n) == 0
            && down.count_ones() == even_lines(n);
        is_split.then(|| {
            let odd = !down & full_mask(n) & !EVEN;
            Split { even: gathered(down & EVEN), odd: gathered(odd >> 1) }
        })
    }

    /// The split as a record of a board of size `n`: `down` has the rows whose queens stand in even
    /// columns.
    #[must_use]
    pub fn pack(self, n: u32) -> Prefix {
        let white_odd = !self.odd & full_mask(odd_lines(n));
        Prefix { left: 0, down: spread(self.even) | spread(white_odd) << 1, right: 0 }
    }

    /// The split read from the other end: that of the board with its rows in reverse order, or, for
    /// the split of columns, with its columns in reverse order.
    #[must_use]
    #[inline(always)]
    pub fn reversed(self, n: u32) -> Split {
        let Split { even, odd } = self;
        if n % 2 == 1 {
            return Split { even: reversed(even, even_lines(n)), odd: reversed(odd, odd_lines(n)) };
        }
        // Reading from the other end exchanges even and odd rows, but no columns, so it exchanges
        // the colours.
        let Split { even, odd } = Split { even, odd }.complement(n);
        Split { even: reversed(odd, n / 2), odd: reversed(even, n / 2) }
    }

    /// The split with its colours exchanged, for even N only. It is that of the board with its
    /// columns in reverse order, or, for the split of columns, with its rows in reverse order.
    #[must_use]
    #[inline(always)]
    pub fn complement(self, n: u32) -> Split {
        let full = full_mask(n / 2);
        Split { even: !self.even & full, odd: !self.odd & full }
    }
}

/// Every second bit of a mask, from bit 0 on, moved together.
fn gathered(mask: u32) -> u32 {
    let mask = mask & EVEN;
    let mask = (mask | mask >> 1) & 0x3333_3333;
    let mask = (mask | mask >> 2) & 0x0f0f_0f0f;
    let mask = (mask | mask >> 4) & 0x00ff_00ff;
    (mask | mask >> 8) & 0xffff
}

/// The lowest 16 bits of a mask, moved to every second bit from bit 0 on.
fn spread(mask: u32) -> u32 {
    let mask = mask & 0xffff;
    let mask = (mask | mask << 8) & 0x00ff_00ff;
    let mask = (mask | mask << 4) & 0x0f0f_0f0f;
    let mask = (mask | mask << 2) & 0x3333_3333;
    (mask | mask << 1) & EVEN
}

/// The lowest `lines` bits of a mask in reverse order. `lines` is at least 1.
#[must_use]
#[inline(always)]
pub const fn reversed(mask: u32, lines: u32) -> u32 {
    mask.reverse_bits() >> (u32::BITS - lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_split_that_was_packed() {
        for (n, even, odd) in [(8, 0b1010, 0b0011), (9, 0b10110, 0b0101), (32, 0xff00, 0x0ff0)] {
            let record = Split { even, odd }.pack(n);
            assert_eq!(record.down.count_ones(), even_lines(n));
            assert_eq!(Split::unpack(n, record), Some(Split { even, odd }));
            for bad in [
                Prefix { left: 1, ..record },
                Prefix { right: 2, ..record },
                Prefix { down: record.down & (record.down - 1), ..record },
            ] {
                assert_eq!(Split::unpack(n, bad), None);
            }
        }
        let beyond = Prefix { left: 0, down: 0b1_0000_0111, right: 0 };
        assert_eq!(Split::unpack(8, beyond), None);
        assert_eq!(Split::unpack(33, beyond), None);
    }
}
