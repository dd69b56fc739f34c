//! A search that counts the tasks of `halves`: its reference. It shares no code with the joins, so
//! it can check them.
//!
//! The search places the queens of each board of a split from the top row to the bottom row, each
//! in the columns of its half. It counts each complete board as often as the [`Shares`] say. The
//! queen of an odd board's centre row is given.
//!
//! ```text
//!   row 0        the split's columns   \  the upper half's number, from its highest bit on: it ends
//!    ...                               /  the search where no number in the window is left
//!   centre       its queen                closes its diagonals in all rows from the start
//!    ...         the other columns     \  the lower half's number, from its lowest bit on: it is
//!   row N-1                            /  complete in the last row only
//! ```

use board::halves::{Shares, Split};
use board::{MAX_N, Prefix, bits, full_mask};

/// The count of a task of `halves` on a board of size `n`: the sum of the shares of all its boards.
/// A slice is known as soon as the outer queens of its half are placed. In the upper half these are
/// placed first, and in the lower half last.
pub(crate) fn completions(n: u32, split: Split) -> u64 {
    let Split { centre, columns, .. } = split;
    let half = n / 2;
    let mut open = [0; MAX_N as usize];
    for (row, open) in (0..n).zip(&mut open) {
        let away = row.abs_diff(half);
        *open = if row < half {
            columns & !(centre << away | centre >> away)
        } else if row == half && n % 2 == 1 {
            centre
        } else {
            split.others(n) & !(centre << away | centre >> away)
        };
    }
    Search { n, half, open, split, shares: Shares::new(n, split) }.upper(0, Prefix::EMPTY, 0)
}

struct Search {
    n: u32,
    half: u32,
    /// The columns that the queen of each row may take.
    open: [u32; MAX_N as usize],
    split: Split,
    shares: Shares,
}

impl Search {
    /// The sum of the shares of all boards that begin with these `row` rows of the upper half.
    /// `number` is the part of the upper half's number so far.
    fn upper(&self, row: u32, prefix: Prefix, number: u32) -> u64 {
        let rows_left = self.half - row;
        let (least, window) = (number << rows_left, self.shares.upper);
        let most = least | ((1 << rows_left) - 1);
        if (most as i32) < window.below || least as i32 > window.above {
            return 0;
        }
        if row == self.half / 2 && !self.split.upper.has(self.split.columns, prefix.down) {
            return 0;
        }
        if rows_left == 0 {
            let times =
                window.tie(number).map_or([0; 2], |tie| self.shares.times[usize::from(tie)]);
            return if times == [0; 2] { 0 } else { self.centre(prefix, times) };
        }
        let with_queen = |bit| {
            let number = number << 1 | u32::from(bit & self.shares.columns != 0);
            self.upper(row + 1, prefix.place(self.n, bit), number)
        };
        bits(prefix.free(self.n) & self.open[row as usize]).map(with_queen).sum()
    }

    /// The sum of the shares of all boards with this complete upper half. `times` has the shares
    /// for a lower half that is no tie and for one that is a tie.
    fn centre(&self, prefix: Prefix, times: [u64; 2]) -> u64 {
        if self.n.is_multiple_of(2) {
            return self.lower(0, prefix, 0, times);
        }
        // The upper half has no queen on the centre queen's diagonals, so nothing attacks it.
        let centre = self.open[self.half as usize];
        self.lower(0, prefix.place(self.n, centre), 0, times)
    }

    /// The sum of the shares of all boards that begin with a complete upper half and `row` rows of
    /// the lower half.
    fn lower(&self, row: u32, prefix: Prefix, number: u32, times: [u64; 2]) -> u64 {
        if row == self.half - self.half / 2 {
            let (others, outer) = (self.split.others(self.n), full_mask(self.n) & !prefix.down);
            if !self.split.lower.has(others, outer) {
                return 0;
            }
        }
        if row == self.half {
            return self.shares.lower.tie(number).map_or(0, |tie| times[usize::from(tie)]);
        }
        let with_queen = |bit| {
            let number = number | u32::from(bit & self.shares.columns != 0) << row;
            self.lower(row + 1, prefix.place(self.n, bit), number, times)
        };
        let open = self.open[(self.n - self.half + row) as usize];
        bits(prefix.free(self.n) & open).map(with_queen).sum()
    }
}
