//! Lists of placements: all that have given queens, one after the other.

use std::ops::ControlFlow;

use board::squares::{Square, SquaresError, check_queens};

use crate::Placement;
use crate::arrays;
use crate::bits::{low_bits, ones};
use crate::unique::{UNIQUE_MAX, unique};

/// The placements of a board that have given queens: all of them, or one of each orbit.
#[derive(Clone, Debug)]
pub struct Listing {
    n: u32,
    given: Vec<Square>,
    fundamental: bool,
}

impl Listing {
    /// All placements of `n` queens that have the `given` ones.
    ///
    /// # Errors
    ///
    /// The first given queen that attacks another or is off the board.
    pub fn new(n: u32, given: Vec<Square>) -> Result<Listing, SquaresError> {
        check_queens(n, &given)?;
        Ok(Listing { n, given, fundamental: false })
    }

    /// Leaves one placement of each orbit: the first of those that have the given queens.
    #[must_use]
    pub fn fundamental(self) -> Listing {
        Listing { fundamental: true, ..self }
    }

    /// Calls `visit` with each placement, in lexicographic order of columns from row 0 on, until it breaks.
    /// Boards up to N = 64 are searched with masks, larger ones with control arrays.
    ///
    /// # Errors
    ///
    /// What `visit` breaks with.
    pub fn visit<B>(&self, mut visit: impl FnMut(&Placement) -> ControlFlow<B>) -> ControlFlow<B> {
        if self.fundamental && self.given.is_empty() && self.n <= UNIQUE_MAX {
            let visited = unique(self.n, |columns, _| visit(&Placement::new(columns.to_vec())));
            return visited.expect("the board is small enough");
        }
        let visit_columns = |columns: &[u32]| {
            let placement = Placement::new(columns.to_vec());
            if self.wants(&placement) { visit(&placement) } else { ControlFlow::Continue(()) }
        };
        if self.n <= 64 {
            Masks::new(self.n, &self.given, visit_columns).fill(0, [0; 3])
        } else {
            let visited = arrays::iterative(self.n, &self.given, visit_columns);
            visited.expect("the given queens were checked")
        }
    }

    fn wants(&self, placement: &Placement) -> bool {
        let has_given = |image: &Placement| {
            self.given.iter().all(|queen| image.columns()[queen.row as usize] == queen.column)
        };
        !self.fundamental
            || placement.orbit().iter().find(|image| has_given(image)) == Some(placement)
    }
}

/// A search with the attacked columns of a row as masks, as in M. Richards, "Backtracking Algorithms
/// in MCPL using Bit Patterns and Recursion", 1997; N up to 64.
struct Masks<V> {
    /// For each row the columns that no given queen attacks, or only its own queen's if it has a given one.
    allowed: Vec<u64>,
    columns: Vec<u32>,
    visit: V,
}

impl<B, V: FnMut(&[u32]) -> ControlFlow<B>> Masks<V> {
    fn new(n: u32, given: &[Square], visit: V) -> Masks<V> {
        let attacked = |row: u32, queen: &Square| {
            let distance = row.abs_diff(queen.row);
            let column = 1_u128 << queen.column;
            (column | column << distance | column >> distance) as u64
        };
        let allowed = |row| match given.iter().find(|queen| queen.row == row) {
            Some(queen) => 1 << queen.column,
            None => given.iter().fold(low_bits(n), |free, queen| free & !attacked(row, queen)),
        };
        Masks { allowed: (0..n).map(allowed).collect(), columns: vec![0; n as usize], visit }
    }

    fn fill(&mut self, row: usize, [columns, left, right]: [u64; 3]) -> ControlFlow<B> {
        let Some(allowed) = self.allowed.get(row) else { return (self.visit)(&self.columns) };
        ones(allowed & !(columns | left | right)).try_for_each(|column| {
            self.columns[row] = column;
            let queen = 1 << column;
            self.fill(row + 1, [columns | queen, (left | queen) >> 1, (right | queen) << 1])
        })
    }
}
