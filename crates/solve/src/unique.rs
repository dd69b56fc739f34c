//! The direct search for one placement of each orbit, as in takaken's program ("N-Queens Homepage in
//! Japanese", version 3.2, 2011). It visits the least placement of each orbit, by columns from row 0 on, in this order.
//!
//! If a queen stands in a corner, the least placement has it in row 0 and column 0. Then only the reflection
//! in the diagonal can give a lesser one, and row 1 and column 1 decide about it. If no queen stands in a
//! corner, each side has a queen of its own, and that of row 0 must be as near to a corner as any other. If
//! another side's queen is as near, a rotation takes it to the square of row 0's queen (the reflected square
//! is attacked), and the whole boards are compared.

mod jobs;

use std::cmp::Ordering;
use std::ops::ControlFlow;

use board::Census;

use crate::BoardTooLarge;
use crate::bits::{low_bits, ones};

pub use jobs::{Job, JobSizes, jobs};

/// The largest board.
pub const UNIQUE_MAX: u32 = board::MAX_N;

/// Calls `visit` with the columns of the least placement of each orbit and with the size of the orbit (8, 4
/// or 2, and 1 for `n` below 2), in lexicographic order, until it breaks. `n` is at most [`UNIQUE_MAX`].
///
/// Returns what `visit` broke with, if it did.
///
/// # Errors
///
/// [`BoardTooLarge`], if `n` is greater than [`UNIQUE_MAX`].
pub fn unique<B>(
    n: u32,
    visit: impl FnMut(&[u32], u32) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, BoardTooLarge> {
    BoardTooLarge::check(n)?;
    Ok(Search { n, board: vec![0; n as usize], first: 0, visit }.all())
}

/// The census of the board of size `n`, by the direct search; `n` is at most [`UNIQUE_MAX`]. From N = 19
/// on it takes more than minutes.
///
/// # Errors
///
/// [`BoardTooLarge`], if `n` is greater than [`UNIQUE_MAX`].
pub fn census(n: u32) -> Result<Census, BoardTooLarge> {
    let (mut total, mut half_turn, mut quarter_turn) = (0, 0, 0);
    let _: ControlFlow<()> = unique(n, |_, size| {
        total += u128::from(size);
        half_turn += if size <= 4 { u128::from(size) } else { 0 };
        quarter_turn += if size <= 2 { u128::from(size) } else { 0 };
        ControlFlow::Continue(())
    })?;
    Ok(Census::from_counts(n, total, half_turn, quarter_turn).expect("whole orbits were counted"))
}

struct Search<V> {
    n: u32,
    /// Column of each row's queen; rows that are not filled yet have old values.
    board: Vec<u32>,
    /// The column in row 0, or in row 1 if that of row 0 is 0.
    first: u32,
    visit: V,
}

/// The columns that are attacked in the next row.
#[derive(Clone, Copy, Default)]
struct Attacked {
    columns: u64,
    left: u64,
    right: u64,
}

impl Attacked {
    fn after(self, queen: u64) -> Attacked {
        Attacked {
            columns: self.columns | queen,
            left: (self.left | queen) >> 1,
            right: (self.right | queen) << 1,
        }
    }
}

impl<B, V: FnMut(&[u32], u32) -> ControlFlow<B>> Search<V> {
    fn all(&mut self) -> ControlFlow<B> {
        if self.n < 2 {
            return (self.visit)(&self.board, 1);
        }
        self.corner()?;
        (1..self.n / 2).try_for_each(|first| self.inside(first))
    }

    fn corner(&mut self) -> ControlFlow<B> {
        self.board[0] = 0;
        for second in 2..self.n {
            self.first = second;
            self.board[1] = second;
            self.corner_row(2, Attacked::default().after(1).after(1 << second))?;
        }
        ControlFlow::Continue(())
    }

    /// Fills the rows from `row` on, with a queen in the corner.
    fn corner_row(&mut self, row: u32, attacked: Attacked) -> ControlFlow<B> {
        if row == self.n {
            return (self.visit)(&self.board, 8);
        }
        self.each(row, self.corner_free(row, attacked), attacked, Self::corner_row)
    }

    /// The columns of a row that can have its queen, with a queen in the corner.
    fn corner_free(&self, row: u32, attacked: Attacked) -> u64 {
        // Here column 1's queen would be nearer to the corner than row 1's, so that the reflected board would
        // be less.
        let excluded = if row < self.first { 2 } else { 0 };
        self.free(attacked) & !excluded
    }

    fn inside(&mut self, first: u32) -> ControlFlow<B> {
        self.first = first;
        self.board[0] = first;
        self.inside_row(1, Attacked::default().after(1 << first))
    }

    /// Fills the rows from `row` on, with row 0's queen `first` squares from a corner, and none nearer.
    fn inside_row(&mut self, row: u32, attacked: Attacked) -> ControlFlow<B> {
        if row == self.n {
            return self.whole();
        }
        self.each(row, self.inside_free(row, attacked), attacked, Self::inside_row)
    }

    /// The columns of a row that can have its queen, with no queen in a corner.
    fn inside_free(&self, row: u32, attacked: Attacked) -> u64 {
        let Search { n, first, .. } = *self;
        let sides = 1 | 1 << (n - 1);
        let mut free = self.free(attacked);
        if row < first || row > n - 1 - first {
            free &= !sides;
        } else if row == n - 1 - first {
            // The last row in which the outer columns may have their queens.
            match sides & !attacked.columns {
                0 => {}
                left if left == sides => return 0,
                left => free &= left,
            }
        }
        if row == n - 1 {
            free &= !(low_bits(first) | low_bits(first) << (n - first));
        }
        free
    }

    /// Compares a board without a queen in the corner to those of its rotations that begin like it.
    fn whole(&mut self) -> ControlFlow<B> {
        let last = self.n as usize - 1;
        let first = self.first as usize;
        let at = |row: usize| self.board[row] as usize;
        let row_of = |column| (0..=last).position(|row| at(row) == column).unwrap_or(last);
        let mut orbit = 8;
        if at(last - first) == 0 {
            match self.compare(|row| last - row_of(row)) {
                Ordering::Less => {}
                Ordering::Equal => return (self.visit)(&self.board, 2),
                Ordering::Greater => return ControlFlow::Continue(()),
            }
        }
        if at(last) == last - first {
            match self.compare(|row| last - at(last - row)) {
                Ordering::Less => {}
                Ordering::Equal => orbit = 4,
                Ordering::Greater => return ControlFlow::Continue(()),
            }
        }
        if at(first) == last && self.compare(|row| row_of(last - row)).is_gt() {
            return ControlFlow::Continue(());
        }
        (self.visit)(&self.board, orbit)
    }

    /// The board against an image of it, of which it is given the column in each row.
    fn compare(&self, image: impl Fn(usize) -> usize) -> Ordering {
        self.board.iter().map(|&column| column as usize).cmp((0..self.board.len()).map(image))
    }

    fn free(&self, attacked: Attacked) -> u64 {
        low_bits(self.n) & !(attacked.columns | attacked.left | attacked.right)
    }

    fn each(
        &mut self,
        row: u32,
        free: u64,
        attacked: Attacked,
        next: impl Fn(&mut Self, u32, Attacked) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        ones(free).try_for_each(|column| {
            self.board[row as usize] = column;
            next(self, row + 1, attacked.after(1 << column))
        })
    }
}
