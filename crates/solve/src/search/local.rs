//! Completion by repair: queens change columns in pairs while collisions fall.
//!
//! R. Sosič and J. Gu, "A polynomial time algorithm for the n-queens problem", SIGART Bulletin 1(3),
//! 1990, and "Efficient local search with conflict minimization: a case study of the n-queens
//! problem", IEEE Transactions on Knowledge and Data Engineering 6(5), 1994: a start with few
//! collisions (their QS4), and a counter for each diagonal, so that a swap is judged in constant time.
//! Queens that are given never move.

use super::{Budget, Start};
use crate::Placement;
use crate::bits::Bits;
use crate::random::SplitMix64;

/// Columns that a queen tries at the start before it stands where it is attacked.
const FIRST_TRIES: usize = 100;
/// Partners that an attacked queen tries in one pass, at most.
const PARTNERS: usize = 7_000;
/// Passes in which no collision goes away before the search starts again.
const PATIENCE: u32 = 12;
/// What a swap costs of a budget.
const SWAP: u64 = 50;

/// Starts and repairs until a placement is found or the budget is spent.
pub(super) fn search(
    given: &Start,
    random: &mut SplitMix64,
    budget: &mut Budget<'_>,
) -> Option<Placement> {
    let mut board = Board::new(given);
    while board.start(given, random, budget) {
        if board.repair(random, budget) {
            return Some(board.placement(given));
        }
    }
    None
}

struct Board {
    n: usize,
    /// Rows without a given queen.
    rows: Vec<u32>,
    /// The columns of their queens.
    columns: Vec<u32>,
    /// Queens on each diagonal, by column + row, and by column - row + N.
    sums: Vec<u32>,
    differences: Vec<u32>,
}

impl Board {
    fn new(given: &Start) -> Board {
        let n = given.n as usize;
        let free = given.columns.iter().zip(0..).filter(|(column, _)| column.is_none());
        let mut taken = Bits::none(n);
        given.queens().for_each(|queen| taken.flip(queen.column as usize));
        let columns = (0..given.n).filter(|&column| taken.window(column as usize) & 1 == 0);
        Board {
            n,
            rows: free.map(|(_, row)| row).collect(),
            columns: columns.collect(),
            sums: vec![0; 2 * n],
            differences: vec![0; 2 * n],
        }
    }

    /// Puts a queen in each free row, where it is not attacked if such a column is found soon. Whether
    /// the budget allows it.
    fn start(&mut self, given: &Start, random: &mut SplitMix64, budget: &mut Budget<'_>) -> bool {
        self.sums.fill(0);
        self.differences.fill(0);
        for queen in given.queens() {
            self.put(queen.row, queen.column);
        }
        let len = self.rows.len();
        for i in 0..len {
            for tried in 1..=FIRST_TRIES.min(2 * (len - i)) {
                self.columns.swap(i, i + random.below(len - i));
                if self.queens_on_diagonals_of(self.rows[i], self.columns[i]) == 0 {
                    break;
                }
                if tried % 16 == 0 && !budget.spend(16 * SWAP) {
                    return false;
                }
            }
            self.put(self.rows[i], self.columns[i]);
        }
        budget.spend(SWAP * (len as u64 + 1))
    }

    /// Swaps columns until no queen is attacked (true), or patience or budget are at an end.
    fn repair(&mut self, random: &mut SplitMix64, budget: &mut Budget<'_>) -> bool {
        let len = self.rows.len();
        let mut fruitless = 0;
        while fruitless < PATIENCE {
            let attacked: Vec<usize> = (0..len).filter(|&i| self.is_attacked(i)).collect();
            if attacked.is_empty() {
                return true;
            }
            let mut fell = false;
            for i in attacked {
                for _ in 0..PARTNERS.min(8 * len) {
                    if !budget.spend(SWAP) {
                        return false;
                    }
                    let gain = self.swap(i, random.below(len), fruitless > 0);
                    fell |= gain > 0;
                    // A swap that changes nothing but the partner's place may have freed this queen.
                    if gain > 0 || (gain == 0 && !self.is_attacked(i)) {
                        break;
                    }
                }
            }
            fruitless = if fell { 0 } else { fruitless + 1 };
            // The look at all queens.
            if !budget.spend(len as u64) {
                return false;
            }
        }
        false
    }

    /// Lets two queens change columns if collisions fall by it, or, where `sideways` is allowed, if
    /// they do not rise. By how many they fall, or would.
    fn swap(&mut self, i: usize, j: usize, sideways: bool) -> i32 {
        if i == j {
            return 0;
        }
        let ([row, other_row], [column, other]) =
            ([i, j].map(|k| self.rows[k]), [i, j].map(|k| self.columns[k]));
        let before = self.lift(row, column) + self.lift(other_row, other);
        let after = self.put(row, other) + self.put(other_row, column);
        let gain = before - after;
        if gain > 0 || (gain == 0 && sideways) {
            self.columns.swap(i, j);
        } else {
            self.lift(row, other);
            self.lift(other_row, column);
            self.put(row, column);
            self.put(other_row, other);
        }
        gain
    }

    fn diagonals(&mut self, row: u32, column: u32) -> [&mut u32; 2] {
        let (row, column) = (row as usize, column as usize);
        [&mut self.sums[column + row], &mut self.differences[column + self.n - row]]
    }

    /// Puts a queen there; how many collisions that makes: one on each diagonal that has a queen.
    fn put(&mut self, row: u32, column: u32) -> i32 {
        let added = self.diagonals(row, column).map(|count| {
            *count += 1;
            i32::from(*count > 1)
        });
        added[0] + added[1]
    }

    /// The reverse of [`put`](Board::put).
    fn lift(&mut self, row: u32, column: u32) -> i32 {
        let removed = self.diagonals(row, column).map(|count| {
            *count -= 1;
            i32::from(*count > 0)
        });
        removed[0] + removed[1]
    }

    /// The queens on the two diagonals of a square, one that stands there twice.
    fn queens_on_diagonals_of(&mut self, row: u32, column: u32) -> u32 {
        self.diagonals(row, column).map(|count| *count).into_iter().sum()
    }

    fn is_attacked(&mut self, i: usize) -> bool {
        self.queens_on_diagonals_of(self.rows[i], self.columns[i]) > 2
    }

    fn placement(&self, given: &Start) -> Placement {
        let mut free = self.columns.iter();
        let mut next = || *free.next().expect("as many free columns as rows");
        Placement::new(
            given.columns.iter().map(|column| column.unwrap_or_else(&mut next)).collect(),
        )
    }
}
