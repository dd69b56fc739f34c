//! Lists of placements: all that have given queens, one after the other.

use std::ops::ControlFlow;

use board::squares::{Square, SquaresError, check_queens};

use crate::Placement;
use crate::arrays;
use crate::bits::{low_bits, ones};
use crate::check::{Rules, attack};
use crate::unique::{UNIQUE_MAX, unique};

/// The placements of a board that have given queens: all of them, or one of each orbit.
#[derive(Clone, Debug)]
pub struct Listing {
    n: u32,
    given: Vec<Square>,
    fundamental: bool,
    rules: Rules,
}

impl Listing {
    /// All placements of `n` queens that have the `given` ones.
    ///
    /// # Errors
    ///
    /// The first given queen that attacks another or is off the board.
    pub fn new(n: u32, given: Vec<Square>) -> Result<Listing, SquaresError> {
        check_queens(n, &given)?;
        Ok(Listing { n, given, fundamental: false, rules: Rules::Plain })
    }

    /// All placements of `n` queens that attack by these rules, or `None` for a torus of more than
    /// [`TORUS_MAX`](Listing::TORUS_MAX).
    #[must_use]
    pub fn by(n: u32, rules: Rules) -> Option<Listing> {
        let fits = rules != Rules::Torus || n <= Listing::TORUS_MAX;
        fits.then_some(Listing { n, given: Vec::new(), fundamental: false, rules })
    }

    /// The largest torus.
    pub const TORUS_MAX: u32 = 64;

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
        let is_plain = self.given.is_empty() && self.rules == Rules::Plain;
        if self.fundamental && is_plain && self.n <= UNIQUE_MAX {
            let visited = unique(self.n, |columns, _| visit(&Placement::new(columns.to_vec())));
            return visited.expect("the board is small enough");
        }
        let visit_columns = |columns: &[u32]| {
            let placement = Placement::new(columns.to_vec());
            if self.wants(&placement) { visit(&placement) } else { ControlFlow::Continue(()) }
        };
        if self.n <= 64 {
            let torus = self.rules == Rules::Torus;
            Masks::new(self.n, &self.given, torus, visit_columns).fill(0, [0; 3])
        } else {
            let visited = arrays::iterative(self.n, &self.given, visit_columns);
            visited.expect("the given queens were checked")
        }
    }

    fn wants(&self, placement: &Placement) -> bool {
        let is_wanted = match self.rules {
            // The search sees to these rules.
            Rules::Plain | Rules::Torus => true,
            Rules::Superqueens => {
                let queens: Vec<Square> = placement.squares().collect();
                attack(self.n, &queens, self.rules).is_none()
            }
        };
        is_wanted && self.is_first_of_orbit(placement)
    }

    fn is_first_of_orbit(&self, placement: &Placement) -> bool {
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
    /// On a torus, its size: diagonals go on at the opposite edge.
    torus: Option<u32>,
    visit: V,
}

impl<B, V: FnMut(&[u32]) -> ControlFlow<B>> Masks<V> {
    fn new(n: u32, given: &[Square], torus: bool, visit: V) -> Masks<V> {
        let attacked = |row: u32, queen: &Square| {
            let distance = row.abs_diff(queen.row);
            let column = 1_u128 << queen.column;
            (column | column << distance | column >> distance) as u64
        };
        let allowed = |row| match given.iter().find(|queen| queen.row == row) {
            Some(queen) => 1 << queen.column,
            None => given.iter().fold(low_bits(n), |free, queen| free & !attacked(row, queen)),
        };
        Masks {
            allowed: (0..n).map(allowed).collect(),
            columns: vec![0; n as usize],
            torus: torus.then_some(n),
            visit,
        }
    }

    fn fill(&mut self, row: usize, [columns, left, right]: [u64; 3]) -> ControlFlow<B> {
        let Some(allowed) = self.allowed.get(row) else { return (self.visit)(&self.columns) };
        ones(allowed & !(columns | left | right)).try_for_each(|column| {
            self.columns[row] = column;
            let queen = 1 << column;
            let (left, right) = (left | queen, right | queen);
            // On a torus, what leaves the row comes back at the other edge.
            let high = self.torus.map_or(0, |n| (left & 1) << (n - 1));
            let low = self.torus.map_or(0, |n| right >> (n - 1) & 1);
            self.fill(row + 1, [columns | queen, left >> 1 | high, right << 1 | low])
        })
    }
}

/// Calls `visit` with the columns of each way to place queens in the first `rows` rows of a board of size `n`, in
/// lexicographic order, until it breaks. `n` is at most 64; more rows than `n` count as `n`.
///
/// # Errors
///
/// What `visit` breaks with.
///
/// # Panics
///
/// If `n` is greater than 64.
pub fn first_rows<B>(
    n: u32,
    rows: u32,
    visit: impl FnMut(&[u32]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    assert!(n <= 64, "the rows of a board of size {n} do not fit a word");
    let mut search = Masks::new(n, &[], false, visit);
    search.allowed.truncate(rows as usize);
    search.columns.truncate(rows as usize);
    search.fill(0, [0; 3])
}
