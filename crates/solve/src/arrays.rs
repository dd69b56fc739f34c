//! Backtracking with control arrays, on boards of any size. One array for columns and one for each
//! direction of diagonals say which lines have a queen, so that three look-ups test a square (N. Wirth,
//! "Program Development by Stepwise Refinement", 1971).
//!
//! It visits placements in lexicographic order of columns from row 0 on. Plain backtracking finds the first
//! placement of 30 queens in seconds, and never finds one of 100, unless many queens are given.

use std::ops::ControlFlow;

use board::squares::{Square, SquaresError, check_queens};

/// Calls `visit` with the columns of each placement that has the `given` queens, until it breaks. The
/// recursion is as deep as the board is large.
///
/// Returns what `visit` broke with, if it did.
///
/// # Errors
///
/// The first given queen that is off the board or attacks another.
pub fn recursive<B>(
    n: u32,
    given: &[Square],
    mut visit: impl FnMut(&[u32]) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, SquaresError> {
    check_queens(n, given)?;
    Ok(Board::new(n, given).fill(0, &mut visit))
}

/// Calls `visit` like [`recursive`], but without recursion: the columns placed so far are the stack.
///
/// Returns what `visit` broke with, if it did.
///
/// # Errors
///
/// The first given queen that is off the board or attacks another.
pub fn iterative<B>(
    n: u32,
    given: &[Square],
    visit: impl FnMut(&[u32]) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, SquaresError> {
    check_queens(n, given)?;
    Ok(walk(Board::new(n, given), visit))
}

fn walk<B>(mut board: Board, mut visit: impl FnMut(&[u32]) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut row = 0;
    let mut from = 0;
    loop {
        if row == board.columns.len() {
            visit(&board.columns)?;
        } else if let Some(column) = board.next(row, from) {
            board.put(row, column);
            row += 1;
            from = 0;
            continue;
        }
        if row == 0 {
            return ControlFlow::Continue(());
        }
        row -= 1;
        from = board.columns[row] + 1;
        board.take(row);
    }
}

struct Board {
    /// Column of each row's queen; rows that are not filled yet have old values.
    columns: Vec<u32>,
    /// Column of the given queen of a row, if there is one.
    given: Vec<Option<u32>>,
    column_taken: Vec<bool>,
    sum_taken: Vec<bool>,
    difference_taken: Vec<bool>,
}

impl Board {
    fn new(n: u32, given: &[Square]) -> Board {
        let n = n as usize;
        let mut board = Board {
            columns: vec![0; n],
            given: vec![None; n],
            column_taken: vec![false; n],
            sum_taken: vec![false; 2 * n],
            difference_taken: vec![false; 2 * n],
        };
        for &Square { column, row } in given {
            board.mark(row as usize, column, true);
            board.given[row as usize] = Some(column);
        }
        board
    }

    fn fill<B>(
        &mut self,
        row: usize,
        visit: &mut impl FnMut(&[u32]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if row == self.columns.len() {
            return visit(&self.columns);
        }
        let mut from = 0;
        while let Some(column) = self.next(row, from) {
            self.put(row, column);
            self.fill(row + 1, visit)?;
            self.take(row);
            from = column + 1;
        }
        ControlFlow::Continue(())
    }

    /// The first column from this one on in which the row can have its queen.
    fn next(&self, row: usize, from: u32) -> Option<u32> {
        if let Some(given) = self.given[row] {
            return (given >= from).then_some(given);
        }
        let n = self.columns.len();
        (from..n as u32).find(|&column| {
            let at = column as usize;
            !(self.column_taken[at]
                || self.sum_taken[row + at]
                || self.difference_taken[row + n - at])
        })
    }

    fn put(&mut self, row: usize, column: u32) {
        self.columns[row] = column;
        if self.given[row].is_none() {
            self.mark(row, column, true);
        }
    }

    fn take(&mut self, row: usize) {
        // The lines of a given queen are occupied all the time.
        if self.given[row].is_none() {
            self.mark(row, self.columns[row], false);
        }
    }

    fn mark(&mut self, row: usize, column: u32, taken: bool) {
        let (n, column) = (self.columns.len(), column as usize);
        self.column_taken[column] = taken;
        self.sum_taken[row + column] = taken;
        self.difference_taken[row + n - column] = taken;
    }
}
