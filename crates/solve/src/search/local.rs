//! Completion by repair: pairs of queens exchange their columns while the number of collisions
//! falls.
//!
//! R. Sosič and J. Gu, "A polynomial time algorithm for the n-queens problem", SIGART Bulletin
//! 1(3), 1990, and "Efficient local search with conflict minimization: a case study of the n-queens
//! problem", IEEE Transactions on Knowledge and Data Engineering 6(5), 1994. The search starts with
//! few collisions (their QS4), and has a counter for each diagonal, so that a swap is judged in
//! constant time. Given queens never move. A placement with a queen on a blocked square, or with
//! queens that attack as knights, is given up, and the search starts again. On large boards, about
//! one placement in fifty has no queens that attack as knights.

use super::{Effort, Opening, Start, Work};
use crate::Placement;
use crate::bits::Bits;

/// The number of columns that a queen tries at the start before it is placed where it is attacked.
const FIRST_TRIES: usize = 100;
/// The most partners that an attacked queen tries in one pass.
const PARTNERS: usize = 7_000;
/// The number of passes without progress after which the search starts again.
const PATIENCE: u32 = 12;
/// The work of a swap, in steps of about a nanosecond.
const SWAP: u64 = 50;

/// Starts and repairs until a placement is found that `given` admits, or the budget is spent.
pub(super) fn search(given: &Start, opening: Opening, work: &mut Work<'_>) -> Option<Placement> {
    let mut board = Board::new(given);
    loop {
        work.effort.attempts += 1;
        work.effort.conflicts = board.start(given, opening, work)?;
        if board.repair(work) {
            let placement = board.placement(given);
            if given.admits(&placement) {
                return Some(placement);
            }
        }
    }
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

    /// Puts a queen in each free row. Returns the number of collisions, or `None` if the budget was
    /// not enough.
    fn start(&mut self, given: &Start, opening: Opening, work: &mut Work<'_>) -> Option<u64> {
        self.sums.fill(0);
        self.differences.fill(0);
        for queen in given.queens() {
            self.put(queen.row, queen.column);
        }
        let mut collisions = 0;
        let len = self.rows.len();
        let tries = match opening {
            Opening::Few => FIRST_TRIES,
            Opening::Random => 1,
        };
        for i in 0..len {
            for tried in 1..=tries.min(2 * (len - i)) {
                self.columns.swap(i, i + work.random.below(len - i));
                if self.queens_on_diagonals_of(self.rows[i], self.columns[i]) == 0 {
                    break;
                }
                if tried % 16 == 0 && !work.spend(16 * SWAP) {
                    return None;
                }
            }
            collisions += i64::from(self.put(self.rows[i], self.columns[i]));
        }
        work.spend(SWAP * (len as u64 + 1)).then_some(collisions.unsigned_abs())
    }

    /// Swaps columns until no queen is attacked, and returns true. It returns false after
    /// [`PATIENCE`] passes without progress, or if the budget is spent.
    fn repair(&mut self, work: &mut Work<'_>) -> bool {
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
                    if !work.spend(SWAP) {
                        return false;
                    }
                    let other = work.random.below(len);
                    let gain = self.swap(i, other, fruitless > 0, &mut work.effort);
                    fell |= gain > 0;
                    // A swap that leaves the number of collisions may still have freed this queen.
                    if gain > 0 || (gain == 0 && !self.is_attacked(i)) {
                        break;
                    }
                }
            }
            fruitless = if fell { 0 } else { fruitless + 1 };
            // The work of examining all queens.
            if !work.spend(len as u64) {
                return false;
            }
        }
        false
    }

    /// Lets two queens exchange columns if that reduces the collisions, or, if `sideways`, does not
    /// increase them. Returns by how many they fall, or would fall.
    fn swap(&mut self, i: usize, j: usize, sideways: bool, effort: &mut Effort) -> i32 {
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
            effort.swaps += 1;
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

    /// Puts a queen on the square, and returns the number of collisions that this makes: one for
    /// each of its diagonals that has a queen.
    fn put(&mut self, row: u32, column: u32) -> i32 {
        let added = self.diagonals(row, column).map(|count| {
            *count += 1;
            i32::from(*count > 1)
        });
        added[0] + added[1]
    }

    /// Removes a queen, and returns the number of collisions that this ends.
    fn lift(&mut self, row: u32, column: u32) -> i32 {
        let removed = self.diagonals(row, column).map(|count| {
            *count -= 1;
            i32::from(*count > 0)
        });
        removed[0] + removed[1]
    }

    /// The number of queens on the two diagonals of a square. A queen on the square itself counts
    /// twice.
    fn queens_on_diagonals_of(&mut self, row: u32, column: u32) -> u32 {
        self.diagonals(row, column).map(|count| *count).into_iter().sum()
    }

    fn is_attacked(&mut self, i: usize) -> bool {
        self.queens_on_diagonals_of(self.rows[i], self.columns[i]) > 2
    }

    fn placement(&self, given: &Start) -> Placement {
        let mut free = self.columns.iter();
        let mut next = || *free.next().expect("as many free columns as rows");
        Placement::trusted(
            given.columns.iter().map(|column| column.unwrap_or_else(&mut next)).collect(),
        )
    }
}
