//! A search with the attacked columns of a row as masks, as in M. Richards, "Backtracking
//! Algorithms in MCPL using Bit Patterns and Recursion", 1997. A stack with a level for each row
//! stands for the recursion, so that the search can stop at each placement and go on later.

use std::task::Poll;

use board::{low_bits, ones};

use crate::Start;
use crate::check::Rules;

/// The largest board whose rows fit a word.
pub(crate) const MASKS_MAX: u32 = u64::BITS;

/// A search of the first rows of a board of at most [`MASKS_MAX`].
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    /// For each row, the columns that no given queen attacks and that are not blocked. A row with a
    /// given queen allows only the column of this queen.
    pub(crate) allowed: Vec<u64>,
    /// For each row, the columns that no later row allows, if the rows are a whole board. If such a
    /// column has no queen yet, the queen of this row must take it.
    due: Vec<u64>,
    n: u32,
    rules: Rules,
    levels: Vec<Level>,
    /// Column of each row's queen; rows below `row` have old values.
    pub(crate) columns: Vec<u32>,
    /// The row whose next column is tried.
    row: usize,
    is_over: bool,
}

/// The attacked columns of a row, and those that its queen may still take.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    free: u64,
    attacked: Attacked,
}

/// The columns of a row that the queens above it attack.
#[derive(Clone, Copy, Debug, Default)]
struct Attacked {
    columns: u64,
    left: u64,
    right: u64,
    /// Columns that are attacked by knights' moves, in this row and so far in the next one.
    knights: [u64; 2],
}

impl Attacked {
    fn all(self) -> u64 {
        self.columns | self.left | self.right | self.knights[0]
    }
}

impl Masks {
    /// A search of the first `rows` rows.
    pub(crate) fn new(start: &Start, rows: u32) -> Masks {
        let (n, rows) = (start.n, rows as usize);
        let mut masks = Masks {
            allowed: vec![low_bits(n); rows],
            due: vec![0; rows],
            n,
            rules: start.rules,
            levels: vec![Level::default(); rows],
            columns: vec![0; rows],
            row: 0,
            is_over: false,
        };
        for queen in start.queens() {
            let column = 1 << queen.column;
            let here = queen.row as usize;
            let mut attacked = masks.below(Attacked::default(), column);
            for away in 1..n as usize {
                // A queen sees the rows above as it sees those below.
                for row in [here.wrapping_sub(away), here + away] {
                    if let Some(allowed) = masks.allowed.get_mut(row) {
                        *allowed &= !attacked.all();
                    }
                }
                attacked = masks.below(attacked, 0);
            }
            if let Some(allowed) = masks.allowed.get_mut(here) {
                *allowed &= column;
            }
        }
        for square in start.blocked.iter().filter(|square| (square.row as usize) < rows) {
            masks.allowed[square.row as usize] &= !(1 << square.column);
        }
        let mut later = if rows == n as usize { 0 } else { u64::MAX };
        for (due, allowed) in masks.due.iter_mut().zip(&masks.allowed).rev() {
            *due = allowed & !later;
            later |= allowed;
        }
        if rows > 0 {
            masks.levels[0].free = masks.free(0, Attacked::default());
        }
        masks
    }

    /// Goes to the next way to fill the rows, if there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.advance_within(&mut u64::MAX.clone()) == Poll::Ready(true)
    }

    /// Does what [`advance`](Masks::advance) does, but goes back to the row above at most `steps`
    /// times, and subtracts these times from `steps`. If they are not enough, it is pending, and
    /// the next call goes on from there.
    pub(crate) fn advance_within(&mut self, steps: &mut u64) -> Poll<bool> {
        let Some(last) = self.levels.len().checked_sub(1) else {
            return Poll::Ready(!std::mem::replace(&mut self.is_over, true));
        };
        // Local variables stay in registers.
        let (mut row, mut left) = (self.row, *steps);
        let found = loop {
            let Level { free, attacked } = self.levels[row];
            if free != 0 {
                let queen = free & free.wrapping_neg();
                self.levels[row].free = free ^ queen;
                self.columns[row] = free.trailing_zeros();
                if row == last {
                    break Poll::Ready(true);
                }
                let attacked = self.below(attacked, queen);
                row += 1;
                self.levels[row] = Level { free: self.free(row, attacked), attacked };
            } else if row == 0 {
                break Poll::Ready(false);
            } else if left == 0 {
                break Poll::Pending;
            } else {
                left -= 1;
                row -= 1;
            }
        };
        (self.row, *steps) = (row, left);
        found
    }

    /// The columns of a row in which its queen can stand.
    fn free(&self, row: usize, attacked: Attacked) -> u64 {
        let free = self.allowed[row] & !attacked.all();
        match self.due[row] & !attacked.columns {
            0 => free,
            due if due.is_power_of_two() => free & due,
            _ => 0,
        }
    }

    /// The attacked columns of the next row, after a queen was placed in a row with `attacked`.
    fn below(&self, attacked: Attacked, queen: u64) -> Attacked {
        let (left, right) = (attacked.left | queen, attacked.right | queen);
        let mut below = Attacked {
            columns: attacked.columns | queen,
            left: left >> 1,
            right: right << 1,
            knights: [0; 2],
        };
        match self.rules {
            Rules::Plain => {}
            // A diagonal that leaves the row comes back at the other edge.
            Rules::Torus => {
                below.left |= (left & 1) << (self.n - 1);
                below.right |= right >> (self.n - 1) & 1;
            }
            Rules::Superqueens => {
                let [_, next] = attacked.knights;
                below.knights = [next | queen << 2 | queen >> 2, queen << 1 | queen >> 1];
            }
        }
        below
    }

    /// Calls `found` with numbers whose sum is the number of ways to fill the rows.
    pub(crate) fn count(&self, found: &mut impl FnMut(u64)) {
        self.count_from(0, Attacked::default(), found);
    }

    fn count_from(&self, row: usize, attacked: Attacked, found: &mut impl FnMut(u64)) {
        if row == self.allowed.len() {
            return found(1);
        }
        let free = self.free(row, attacked);
        if row + 1 == self.allowed.len() {
            return found(free.count_ones().into());
        }
        let below = |column: u32| self.below(attacked, 1 << column);
        ones(free).for_each(|column| self.count_from(row + 1, below(column), found));
    }
}
