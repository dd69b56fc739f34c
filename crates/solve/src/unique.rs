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

use board::Census;
use board::squares::Square;

use crate::Start;
use crate::masks::Masks;

pub use jobs::{Job, jobs};

/// The largest board.
pub const UNIQUE_MAX: u32 = board::MAX_N;

/// The census of the board of size `n`, by the direct search; `n` is at most [`UNIQUE_MAX`]. From N = 19
/// on it takes more than minutes.
///
/// # Panics
///
/// If `n` is greater than [`UNIQUE_MAX`].
#[must_use]
pub fn census(n: u32) -> Census {
    assert!(n <= UNIQUE_MAX, "a board of size {n}: the direct search takes sizes up to 32");
    let mut orbits = Orbits::new(n);
    let (mut total, mut half_turn, mut quarter_turn) = (0, 0, 0);
    while let Some(size) = orbits.advance() {
        total += u128::from(size);
        half_turn += if size <= 4 { u128::from(size) } else { 0 };
        quarter_turn += if size <= 2 { u128::from(size) } else { 0 };
    }
    Census::from_counts(n, total, half_turn, quarter_turn).expect("whole orbits were counted")
}

/// A search for the least placement of each orbit, by columns from row 0 on, in this order.
#[derive(Clone, Debug)]
pub(crate) struct Orbits {
    n: u32,
    /// The column in row 0, or in row 1 if that of row 0 is 0.
    first: u32,
    /// The search below the queens that it was begun with, once there is one.
    pub(crate) search: Option<Masks>,
    /// The next opening, when that search is done.
    next: Option<Opening>,
}

/// The queens that a search is begun with.
#[derive(Clone, Copy, Debug)]
enum Opening {
    /// In the corner, and in this column of row 1.
    Corner { second: u32 },
    /// In this column of row 0.
    Inside { first: u32 },
}

impl Orbits {
    /// The search of the whole board of size `n`, at most [`UNIQUE_MAX`].
    pub(crate) fn new(n: u32) -> Orbits {
        // A board that has fewer than two rows has no opening.
        let search = (n < 2).then(|| Masks::new(&n.into(), n));
        Orbits { n, first: 0, search, next: Opening::Corner { second: 2 }.or_later(n) }
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
        loop {
            while let Some(search) = &mut self.search
                && ready!(search.advance_within(steps))
            {
                let size = orbit(&search.columns, self.first);
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

    /// Begins with these columns from row 0 on. Squares are blocked whose queens would make an image of the board less.
    fn open(&mut self, columns: &[u32]) {
        let n = self.n;
        let mut start = Start::from(n);
        (0..).zip(columns).for_each(|(row, &column)| start.put(Square { column, row }));
        if columns[0] == 0 {
            self.first = columns[1];
            // Column 1's queen would be nearer to the corner than row 1's.
            start.blocked.extend((2..self.first).map(|row| Square { column: 1, row }));
        } else {
            self.first = columns[0];
            // Another side's queen would be nearer to a corner than row 0's.
            let near = (0..self.first).chain(n - self.first..n);
            let squares = near.flat_map(|i| [(0, i), (n - 1, i), (i, n - 1)]);
            start.blocked.extend(squares.map(|(column, row)| Square { column, row }));
        }
        self.search = Some(Masks::new(&start, n));
    }
}

/// The size of a board's orbit, or 0 if it is not the least. `first` is the column in row 0, or in row 1 if that of row 0 is 0.
fn orbit(board: &[u32], first: u32) -> u32 {
    if board.len() < 2 {
        return 1;
    }
    if board[0] == 0 {
        return 8;
    }
    // It is compared to those of its rotations that begin like it.
    let (last, first) = (board.len() - 1, first as usize);
    let at = |row: usize| board[row] as usize;
    let row_of = |column| (0..=last).position(|row| at(row) == column).unwrap_or(last);
    let compare = |image: &dyn Fn(usize) -> usize| (0..=last).map(at).cmp((0..=last).map(image));
    let mut orbit = 8;
    if at(last - first) == 0 {
        match compare(&|row| last - row_of(row)) {
            Ordering::Less => {}
            Ordering::Equal => return 2,
            Ordering::Greater => return 0,
        }
    }
    if at(last) == last - first {
        match compare(&|row| last - at(last - row)) {
            Ordering::Less => {}
            Ordering::Equal => orbit = 4,
            Ordering::Greater => return 0,
        }
    }
    if at(first) == last && compare(&|row| row_of(last - row)).is_gt() {
        return 0;
    }
    orbit
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
