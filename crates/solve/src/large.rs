//! Backtracking row by row on boards of any size, with the bit sets of the exact search.

use std::task::Poll;

use board::squares::Square;

use crate::Start;
use crate::search::exact::{Board, Line};

/// A search of whole boards. The columns placed so far are the stack.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    given: Vec<Option<u32>>,
    board: Board,
    /// Column of each row's queen; rows from `row` on have old values.
    pub(crate) columns: Vec<u32>,
    /// The row to be filled; N if the board is full.
    row: usize,
    /// The first column to be tried in it.
    from: u32,
    is_over: bool,
}

impl Large {
    /// A search of all placements that `start` admits.
    pub(crate) fn new(start: &Start) -> Large {
        Large {
            given: start.columns.clone(),
            board: Board::new(start),
            columns: vec![0; start.n as usize],
            row: 0,
            from: 0,
            is_over: false,
        }
    }

    /// Goes to the next placement, and returns whether there is one. It tries at most about `steps`
    /// squares, and subtracts what it has tried from `steps`. If this number is not enough, it is
    /// pending, and the next call goes on from there.
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
            if let Some(column) = self.next() {
                self.columns[self.row] = column;
                self.flip_own();
                (self.row, self.from) = (self.row + 1, 0);
                if self.row == n {
                    return Poll::Ready(true);
                }
            } else if !self.back() {
                return Poll::Ready(false);
            }
        }
    }

    /// Goes back to the row above, and removes its queen. Returns `false` if there is no row above.
    fn back(&mut self) -> bool {
        let Some(row) = self.row.checked_sub(1) else {
            self.is_over = true;
            return false;
        };
        (self.row, self.from) = (row, self.columns[row] + 1);
        self.flip_own();
        true
    }

    /// The first column from `from` on in which the row can have its queen.
    fn next(&self) -> Option<u32> {
        if let Some(given) = self.given[self.row] {
            return (given >= self.from).then_some(given);
        }
        let (line, first) = (Line::Row(self.row as u32), self.from / 64);
        (first..self.board.words as u32).find_map(|word| {
            let from = if word == first { self.from % 64 } else { 0 };
            let free = self.board.word(line, word as usize) & u64::MAX << from;
            (free != 0).then(|| 64 * word + free.trailing_zeros())
        })
    }

    /// Puts the queen of the row on the board, or removes it. A given queen is there all the time.
    fn flip_own(&mut self) {
        if self.given[self.row].is_none() {
            self.board.flip(Square { column: self.columns[self.row], row: self.row as u32 });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rules;
    use crate::masks::Masks;

    fn advance(large: &mut Large) -> bool {
        large.advance_within(&mut u64::MAX.clone()) == Poll::Ready(true)
    }

    proptest! {
        /// The masks are compared with the rules in `tests/solve/listing.rs`.
        #[test]
        fn large_boards_list_what_masks_list(
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
            let (mut large, mut masks) = (Large::new(&start), Masks::new(&start, n));
            while masks.advance() {
                prop_assert!(advance(&mut large));
                prop_assert_eq!(&large.columns, &masks.columns);
            }
            prop_assert!(!advance(&mut large) && !advance(&mut large));
        }
    }

    #[test]
    fn superqueens_and_tori_without_given_queens_are_all_found() {
        for (n, rules) in [(10, Rules::Superqueens), (11, Rules::Superqueens), (11, Rules::Torus)] {
            let start = Start { rules, ..n.into() };
            let mut large = Large::new(&start);
            let found = std::iter::from_fn(|| advance(&mut large).then_some(())).count() as u128;
            let known = if rules == Rules::Torus {
                testkit::vectors::toroidal(n)
            } else {
                testkit::vectors::superqueens(n)
            };
            assert_eq!(found, known, "N = {n}, {rules:?}");
        }
    }
}
