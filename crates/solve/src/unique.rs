//! The direct search for one placement of each orbit, as in takaken's program ("N-Queens Homepage
//! in Japanese", version 3.2, 2011). It visits the least placement of each orbit. Placements are
//! compared, and visited in order, by their columns from row 0 on.
//!
//! If a queen stands in a corner, the least placement has it in row 0 and column 0. Then only the
//! reflection in the diagonal can give a lesser one, and row 1 and column 1 decide about it. If no
//! queen stands in a corner, each side has a queen of its own, and that of row 0 must be as near to
//! a corner as any other. If another side's queen is as near, a rotation takes it to the square of
//! row 0's queen (the reflected square is attacked), and the whole boards are compared.

use std::cmp::Ordering;
use std::task::{Poll, ready};
use std::vec;

use board::squares::Square;
use board::{Census, ones};

use crate::Start;
use crate::masks::Masks;

/// The largest board.
pub const UNIQUE_MAX: u32 = board::MAX_N;

/// The census of the board of size `n`, by the direct search; `n` is at most [`UNIQUE_MAX`]. From N
/// = 19 on it takes more than minutes.
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

/// The boards of the direct search that have these queens in rows 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    n: u32,
    /// Column of the queen in row 0, less than half of N. In column 0 it stands in the corner.
    pub first: u32,
    /// Column of the queen in row 1.
    pub second: u32,
}

/// The jobs of a board of size `n`, in the order of their queens. For N of 2 or more their totals
/// add up to that of the board; smaller boards have no second row and no jobs.
///
/// The MC# project cut N = 26 in this way into 277 jobs (mcsharp.net/nqueens.html, 2009): 23 with a
/// queen in the corner, 23 with the first queen beside it, and 21 for each of the next eleven
/// squares.
///
/// # Panics
///
/// If `n` is greater than 32.
#[must_use]
pub fn jobs(n: u32) -> Vec<Job> {
    assert!(n <= UNIQUE_MAX, "a board of size {n}: the direct search takes sizes up to 32");
    let of_first = |first| {
        let seconds: Vec<u32> = match first {
            // With the second queen in the last column, the queen of column 1 would have to be in
            // the last row, where they attack each other.
            0 => (2..n.saturating_sub(1)).collect(),
            _ => ones(below(n, &[first]).allowed[1]).collect(),
        };
        seconds.into_iter().map(move |second| Job { n, first, second })
    };
    (0..n / 2).flat_map(of_first).collect()
}

impl Job {
    /// The number of placements that the job stands for: the sizes of the orbits that it finds.
    #[must_use]
    pub fn total(self) -> u128 {
        let mut orbits = Orbits::of(self.n, vec![vec![self.first, self.second]]);
        std::iter::from_fn(|| orbits.advance()).map(u128::from).sum()
    }
}

/// A search for the least placement of each orbit, in the order of columns from row 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Orbits {
    n: u32,
    /// The columns of the queens, from row 0 on, with which searches are still to begin.
    openings: vec::IntoIter<Vec<u32>>,
    /// The search below the queens that it was begun with, once there is one.
    pub(crate) search: Option<Masks>,
}

impl Orbits {
    /// The search of the whole board of size `n`, at most [`UNIQUE_MAX`].
    pub(crate) fn new(n: u32) -> Orbits {
        if n < 2 {
            return Orbits::of(n, vec![vec![]]);
        }
        // With a queen in the corner the second row decides, and without one the first.
        let corner = (2..n).map(|second| vec![0, second]);
        Orbits::of(n, corner.chain((1..n / 2).map(|first| vec![first])).collect())
    }

    fn of(n: u32, openings: Vec<Vec<u32>>) -> Orbits {
        Orbits { n, openings: openings.into_iter(), search: None }
    }

    /// Goes to the next placement, and returns the size of its orbit: 8, 4 or 2, and 1 for N below
    /// 2.
    fn advance(&mut self) -> Option<u32> {
        match self.advance_within(&mut u64::MAX.clone()) {
            Poll::Ready(size) => size,
            Poll::Pending => unreachable!("no search takes so many steps"),
        }
    }

    /// Does what [`advance`](Orbits::advance) does, but goes back to the row above at most `steps`
    /// times, and subtracts these times from `steps`. If they are not enough, it is pending, and
    /// the next call goes on from there.
    pub(crate) fn advance_within(&mut self, steps: &mut u64) -> Poll<Option<u32>> {
        loop {
            while let Some(search) = &mut self.search
                && ready!(search.advance_within(steps))
            {
                let size = orbit(&search.columns);
                if size > 0 {
                    return Poll::Ready(Some(size));
                }
            }
            let Some(columns) = self.openings.next() else { return Poll::Ready(None) };
            self.search = Some(below(self.n, &columns));
        }
    }
}

/// The search of a board of size `n` with queens in these columns from row 0 on. Squares are
/// blocked if a queen on them would give the board an image that is less.
fn below(n: u32, columns: &[u32]) -> Masks {
    let mut start = Start::from(n);
    (0..).zip(columns).for_each(|(row, &column)| start.put(Square { column, row }));
    match *columns {
        // Column 1's queen would be nearer to the corner than row 1's.
        [0, second] => start.blocked.extend((2..second).map(|row| Square { column: 1, row })),
        // Another side's queen would be nearer to a corner than row 0's.
        [first, ..] => {
            let near = (0..first).chain(n - first..n);
            let squares = near.flat_map(|i| [(0, i), (n - 1, i), (i, n - 1)]);
            start.blocked.extend(squares.map(|(column, row)| Square { column, row }));
        }
        [] => {}
    }
    Masks::new(&start, n)
}

/// The size of a board's orbit, or 0 if it is not the least.
fn orbit(board: &[u32]) -> u32 {
    if board.len() < 2 {
        return 1;
    }
    if board[0] == 0 {
        return 8;
    }
    // The board is compared with those of its rotations that have the same queen in row 0.
    let at = |row: usize| board[row] as usize;
    let (last, first) = (board.len() - 1, at(0));
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
