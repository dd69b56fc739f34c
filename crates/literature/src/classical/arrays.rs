//! Plain backtracking with three boolean arrays, which say which columns and diagonals hold a
//! queen.
//!
//! Source: the arrays a, b and c of Wirth, "Program Development by Stepwise Refinement" (CACM 14,
//! 1971), and "Algorithms + Data Structures = Programs" (1976); Dijkstra, "Notes on Structured
//! Programming" (in Dahl, Dijkstra and Hoare, 1972).

use super::Searched;

/// Counts the placements of `n` queens for any N. N = 13 takes half a second.
pub fn count(n: u32) -> Searched {
    let n = n as usize;
    let mut searched = Searched::default();
    place(0, &mut Taken::none(n), &mut searched);
    searched
}

/// The columns and diagonals that hold a queen.
pub(super) struct Taken {
    columns: Vec<bool>,
    /// Diagonals by row + column.
    sums: Vec<bool>,
    /// Diagonals by row - column + N - 1.
    differences: Vec<bool>,
}

impl Taken {
    pub(super) fn none(n: usize) -> Taken {
        let diagonals = (2 * n).saturating_sub(1);
        Taken {
            columns: vec![false; n],
            sums: vec![false; diagonals],
            differences: vec![false; diagonals],
        }
    }

    pub(super) fn is_free(&self, row: usize, column: usize) -> bool {
        !self.columns[column] && self.diagonals_are_free(row, column)
    }

    pub(super) fn diagonals_are_free(&self, row: usize, column: usize) -> bool {
        !self.sums[row + column] && !self.differences[self.difference(row, column)]
    }

    /// Puts a queen on the square, or removes it.
    pub(super) fn set(&mut self, row: usize, column: usize, queen: bool) {
        let difference = self.difference(row, column);
        self.columns[column] = queen;
        self.sums[row + column] = queen;
        self.differences[difference] = queen;
    }

    fn difference(&self, row: usize, column: usize) -> usize {
        row + self.columns.len() - 1 - column
    }
}

fn place(row: usize, taken: &mut Taken, searched: &mut Searched) {
    let n = taken.columns.len();
    if row == n {
        searched.total += 1;
        return;
    }
    for column in 0..n {
        searched.tries += 1;
        if taken.is_free(row, column) {
            searched.nodes += 1;
            taken.set(row, column, true);
            place(row + 1, taken, searched);
            taken.set(row, column, false);
        }
    }
}
