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
use std::task::{Poll, ready};

use board::{Census, low_bits};

use crate::BoardTooLarge;

pub use jobs::{Job, jobs};

/// The largest board.
pub const UNIQUE_MAX: u32 = board::MAX_N;

/// The census of the board of size `n`, by the direct search; `n` is at most [`UNIQUE_MAX`]. From N = 19
/// on it takes more than minutes.
///
/// # Errors
///
/// [`BoardTooLarge`], if `n` is greater than [`UNIQUE_MAX`].
pub fn census(n: u32) -> Result<Census, BoardTooLarge> {
    BoardTooLarge::check(n)?;
    let mut orbits = Orbits::new(n);
    let (mut total, mut half_turn, mut quarter_turn) = (0, 0, 0);
    while let Some(size) = orbits.advance() {
        total += u128::from(size);
        half_turn += if size <= 4 { u128::from(size) } else { 0 };
        quarter_turn += if size <= 2 { u128::from(size) } else { 0 };
    }
    Ok(Census::from_counts(n, total, half_turn, quarter_turn).expect("whole orbits were counted"))
}

/// A search for the least placement of each orbit, by columns from row 0 on, in this order. A stack with a level for
/// each row stands for the recursion.
#[derive(Clone, Debug)]
pub(crate) struct Orbits {
    n: u32,
    /// Column of each row's queen; rows that are not filled yet have old values.
    pub(crate) board: Vec<u32>,
    /// The column in row 0, or in row 1 if that of row 0 is 0.
    first: u32,
    levels: Vec<Level>,
    /// The row whose next column is tried; N if the board is full.
    row: usize,
    /// Rows above this one have the queens that the search was begun with.
    base: usize,
    /// The next opening, when all rows below `base` are done.
    next: Option<Opening>,
    /// The one placement of a board that has fewer than two rows is still to come.
    is_tiny: bool,
}

/// The queens that a search is begun with.
#[derive(Clone, Copy, Debug)]
enum Opening {
    /// In the corner, and in this column of row 1.
    Corner { second: u32 },
    /// In this column of row 0.
    Inside { first: u32 },
}

/// The attacked columns of a row, and those that its queen may still take.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    free: u64,
    attacked: Attacked,
}

/// The columns that are attacked in the next row.
#[derive(Clone, Copy, Debug, Default)]
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

impl Orbits {
    /// The search of the whole board of size `n`, at most [`UNIQUE_MAX`].
    pub(crate) fn new(n: u32) -> Orbits {
        let rows = n as usize;
        Orbits {
            n,
            board: vec![0; rows],
            first: 0,
            levels: vec![Level::default(); rows],
            row: 0,
            base: 0,
            next: Opening::Corner { second: 2 }.or_later(n),
            is_tiny: n < 2,
        }
    }

    /// Goes to the next placement, and returns the size of its orbit: 8, 4 or 2, and 1 for N below 2.
    pub(crate) fn advance(&mut self) -> Option<u32> {
        match self.advance_within(&mut u64::MAX.clone()) {
            Poll::Ready(size) => size,
            Poll::Pending => unreachable!("no search takes so many steps"),
        }
    }

    /// Does the same in at most `steps` steps back to the row above, which it subtracts. If they do
    /// not suffice, the next call goes on.
    pub(crate) fn advance_within(&mut self, steps: &mut u64) -> Poll<Option<u32>> {
        if self.n < 2 {
            return Poll::Ready(std::mem::take(&mut self.is_tiny).then_some(1));
        }
        loop {
            while let Some(size) = ready!(self.fill(steps)) {
                if size > 0 {
                    return Poll::Ready(Some(size));
                }
            }
            let Some(opening) = self.next else { return Poll::Ready(None) };
            self.next = opening.following().or_later(self.n);
            match opening {
                Opening::Corner { second } => self.open(&[0, second]),
                Opening::Inside { first } => self.open(&[first]),
            }
        }
    }

    /// Goes to the next board whose rows are all filled, and returns the size of its orbit, or 0 if it is not the
    /// least. Returns `None` when all rows below the first queens are done.
    fn fill(&mut self, steps: &mut u64) -> Poll<Option<u32>> {
        let rows = self.board.len();
        let mut row = self.row;
        loop {
            let Level { free, attacked } = self.levels[row];
            if free != 0 {
                let queen = free & free.wrapping_neg();
                self.levels[row].free = free ^ queen;
                self.board[row] = free.trailing_zeros();
                row += 1;
                if row == rows {
                    break;
                }
                self.levels[row] = self.level(row as u32, attacked.after(queen));
            } else if row == self.base {
                self.row = row;
                return Poll::Ready(None);
            } else if *steps == 0 {
                self.row = row;
                return Poll::Pending;
            } else {
                *steps -= 1;
                row -= 1;
            }
        }
        self.row = rows - 1;
        Poll::Ready(Some(if self.is_in_corner() { 8 } else { self.whole() }))
    }

    /// Begins with these columns from row 0 on.
    fn open(&mut self, columns: &[u32]) {
        self.base = columns.len();
        self.row = self.base;
        self.board[..self.base].copy_from_slice(columns);
        self.first = if columns[0] == 0 { columns[1] } else { columns[0] };
        let attacked =
            columns.iter().fold(Attacked::default(), |it, &column| it.after(1 << column));
        if self.base < self.board.len() {
            self.levels[self.base] = self.level(self.base as u32, attacked);
        }
    }

    fn is_in_corner(&self) -> bool {
        self.board[0] == 0
    }

    fn level(&self, row: u32, attacked: Attacked) -> Level {
        let free = match self.is_in_corner() {
            true => self.corner_free(row, attacked),
            false => self.inside_free(row, attacked),
        };
        Level { free, attacked }
    }

    /// The columns of a row that can have its queen, with a queen in the corner.
    fn corner_free(&self, row: u32, attacked: Attacked) -> u64 {
        // Here column 1's queen would be nearer to the corner than row 1's, so that the reflected board would
        // be less.
        let excluded = if row < self.first { 2 } else { 0 };
        self.free(attacked) & !excluded
    }

    /// The columns of a row that can have its queen, with no queen in a corner.
    fn inside_free(&self, row: u32, attacked: Attacked) -> u64 {
        let Orbits { n, first, .. } = *self;
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

    /// Compares a board without a queen in the corner to those of its rotations that begin like it. Returns the size of
    /// its orbit, or 0 if it is not the least.
    fn whole(&self) -> u32 {
        let last = self.n as usize - 1;
        let first = self.first as usize;
        let at = |row: usize| self.board[row] as usize;
        let row_of = |column| (0..=last).position(|row| at(row) == column).unwrap_or(last);
        let mut orbit = 8;
        if at(last - first) == 0 {
            match self.compare(|row| last - row_of(row)) {
                Ordering::Less => {}
                Ordering::Equal => return 2,
                Ordering::Greater => return 0,
            }
        }
        if at(last) == last - first {
            match self.compare(|row| last - at(last - row)) {
                Ordering::Less => {}
                Ordering::Equal => orbit = 4,
                Ordering::Greater => return 0,
            }
        }
        if at(first) == last && self.compare(|row| row_of(last - row)).is_gt() {
            return 0;
        }
        orbit
    }

    /// The board against an image of it, of which it is given the column in each row.
    fn compare(&self, image: impl Fn(usize) -> usize) -> Ordering {
        self.board.iter().map(|&column| column as usize).cmp((0..self.board.len()).map(image))
    }

    fn free(&self, attacked: Attacked) -> u64 {
        low_bits(self.n) & !(attacked.columns | attacked.left | attacked.right)
    }
}

impl Opening {
    fn following(self) -> Opening {
        match self {
            Opening::Corner { second } => Opening::Corner { second: second + 1 },
            Opening::Inside { first } => Opening::Inside { first: first + 1 },
        }
    }

    /// This opening if a board of size `n` has it, or the first one of those that come after it.
    fn or_later(self, n: u32) -> Option<Opening> {
        match self {
            Opening::Corner { second } if second < n => Some(self),
            Opening::Corner { .. } => Opening::Inside { first: 1 }.or_later(n),
            Opening::Inside { first } => (first < n / 2).then_some(self),
        }
    }
}
