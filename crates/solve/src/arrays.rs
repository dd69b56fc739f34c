//! Backtracking with control arrays, on boards of any size. One array for columns and one for each
//! direction of diagonals say which lines have a queen, so that three look-ups test a square (N. Wirth,
//! "Program Development by Stepwise Refinement", 1971).

use std::task::Poll;

use board::squares::Square;

use crate::{Rules, Start};

/// A search of whole boards. The columns placed so far are the stack.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    start: Start,
    /// Column of each row's queen; rows from `row` on have old values.
    pub(crate) columns: Vec<u32>,
    column_taken: Vec<bool>,
    sum_taken: Vec<bool>,
    difference_taken: Vec<bool>,
    /// The row to be filled; N if the board is full.
    row: usize,
    /// The first column to be tried in it.
    from: u32,
    is_over: bool,
}

impl Arrays {
    /// A search of all placements that `start` admits.
    pub(crate) fn new(start: &Start) -> Arrays {
        let n = start.n as usize;
        let mut arrays = Arrays {
            start: start.clone(),
            columns: vec![0; n],
            column_taken: vec![false; n],
            sum_taken: vec![false; 2 * n],
            difference_taken: vec![false; 2 * n],
            row: 0,
            from: 0,
            is_over: false,
        };
        for Square { column, row } in start.queens() {
            arrays.mark(row as usize, column, true);
        }
        arrays
    }

    /// Goes to the next placement, if there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.advance_within(&mut u64::MAX.clone()) == Poll::Ready(true)
    }

    /// Does the same in at most about `steps` trials of a square, which it subtracts. If they do
    /// not suffice, the next call goes on.
    pub(crate) fn advance_within(&mut self, steps: &mut u64) -> Poll<bool> {
        let n = self.columns.len();
        if self.is_over || (self.row == n && !self.back()) {
            return Poll::Ready(false);
        }
        loop {
            if *steps == 0 {
                return Poll::Pending;
            }
            // A row has N squares.
            *steps = steps.saturating_sub(n as u64);
            if let Some(column) = self.next(self.row, self.from) {
                self.columns[self.row] = column;
                self.mark_own(self.row, true);
                (self.row, self.from) = (self.row + 1, 0);
                if self.row == n {
                    return Poll::Ready(true);
                }
            } else if !self.back() {
                return Poll::Ready(false);
            }
        }
    }

    /// Goes back to the row above, and takes its queen. Returns `false` if there is none.
    fn back(&mut self) -> bool {
        let Some(row) = self.row.checked_sub(1) else {
            self.is_over = true;
            return false;
        };
        (self.row, self.from) = (row, self.columns[row] + 1);
        self.mark_own(row, false);
        true
    }

    /// The first column from this one on in which the row can have its queen.
    fn next(&self, row: usize, from: u32) -> Option<u32> {
        if let Some(given) = self.start.columns[row] {
            return (given >= from).then_some(given);
        }
        (from..self.start.n).find(|&column| {
            let [sum, difference] = self.diagonals(row, column);
            !(self.column_taken[column as usize]
                || self.sum_taken[sum]
                || self.difference_taken[difference])
                && self.is_allowed(row, column)
        })
    }

    /// Whether the square is not blocked, and no queen attacks it as a knight if superqueens are placed.
    fn is_allowed(&self, row: usize, column: u32) -> bool {
        let attacks = |other: u32, rows: usize| other.abs_diff(column) as usize == 3 - rows;
        let is_attacked = |rows: usize| {
            let above = row.checked_sub(rows).map(|above| self.columns[above]);
            let below = self.start.columns.get(row + rows).copied().flatten();
            above.is_some_and(|it| attacks(it, rows)) || below.is_some_and(|it| attacks(it, rows))
        };
        let blocked = &self.start.blocked;
        (blocked.is_empty() || !blocked.contains(&Square { column, row: row as u32 }))
            && (self.start.rules != Rules::Superqueens || ![1, 2].into_iter().any(is_attacked))
    }

    /// Marks the lines of the queen of a row. Those of a given queen are taken all the time.
    fn mark_own(&mut self, row: usize, taken: bool) {
        if self.start.columns[row].is_none() {
            self.mark(row, self.columns[row], taken);
        }
    }

    fn mark(&mut self, row: usize, column: u32, taken: bool) {
        let [sum, difference] = self.diagonals(row, column);
        self.column_taken[column as usize] = taken;
        self.sum_taken[sum] = taken;
        self.difference_taken[difference] = taken;
    }

    fn diagonals(&self, row: usize, column: u32) -> [usize; 2] {
        let (n, column) = (self.columns.len(), column as usize);
        let diagonals = [row + column, row + n - column];
        match self.start.rules {
            Rules::Plain | Rules::Superqueens => diagonals,
            Rules::Torus => diagonals.map(|diagonal| diagonal % n),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::masks::Masks;

    proptest! {
        /// The masks are compared with the rules in `tests/solve/listing.rs`.
        #[test]
        fn arrays_find_what_masks_find(
            n in 1_u32..=8,
            rules in prop::sample::select(vec![Rules::Plain, Rules::Torus, Rules::Superqueens]),
            [given, blocked] in prop::array::uniform2(prop::collection::vec((0_u32..8, 0_u32..8), 0..3)),
        ) {
            let [given, blocked] = [given, blocked].map(|squares| -> Vec<Square> {
                squares.into_iter().map(|(column, row)| Square::new(column % n, row % n)).collect()
            });
            let start = Start::with_rules(n, rules, &given).and_then(|it| it.blocking(&blocked));
            prop_assume!(start.is_ok());
            let start = start.expect("it was assumed");
            let (mut arrays, mut masks) = (Arrays::new(&start), Masks::new(&start, n));
            while masks.advance() {
                prop_assert!(arrays.advance());
                prop_assert_eq!(&arrays.columns, &masks.columns);
            }
            prop_assert!(!arrays.advance() && !arrays.advance());
        }
    }

    #[test]
    fn superqueens_and_tori_without_given_queens_are_all_found() {
        for (n, rules) in [(10, Rules::Superqueens), (11, Rules::Superqueens), (11, Rules::Torus)] {
            let start = Start { rules, ..n.into() };
            let mut arrays = Arrays::new(&start);
            let found = std::iter::from_fn(|| arrays.advance().then_some(())).count() as u128;
            let known =
                if rules == Rules::Torus { vectors::toroidal(n) } else { vectors::superqueens(n) };
            assert_eq!(found, known, "N = {n}, {rules:?}");
        }
    }
}
