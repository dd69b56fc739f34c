//! Lists of placements: all that have given queens, one after the other; and how many there are.

use std::ops::ControlFlow;

use board::squares::{Square, SquaresError};

use crate::arrays;
use crate::bits::{low_bits, ones};
use crate::check::Rules;
use crate::unique::{UNIQUE_MAX, unique};
use crate::{Placement, Start};

/// The placements of a board that a [`Start`] admits: all of them, or one of each orbit.
#[derive(Clone, Debug)]
pub struct Listing {
    start: Start,
    fundamental: bool,
}

impl Listing {
    /// All placements of `n` queens that have the `given` ones.
    ///
    /// # Errors
    ///
    /// The first given queen that attacks another or is off the board.
    pub fn new(n: u32, given: Vec<Square>) -> Result<Listing, SquaresError> {
        Ok(Listing { start: Start::new(n, &given)?, fundamental: false })
    }

    /// All placements that `start` admits, or `None` for a torus of more than
    /// [`TORUS_MAX`](Listing::TORUS_MAX).
    #[must_use]
    pub fn of(start: Start) -> Option<Listing> {
        let fits = start.rules != Rules::Torus || start.n <= Listing::TORUS_MAX;
        fits.then_some(Listing { start, fundamental: false })
    }

    /// The largest torus.
    pub const TORUS_MAX: u32 = WORD;

    /// Leaves one placement of each orbit: the first of those that the start admits.
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
        let n = self.start.n;
        let is_whole = self.start.is_plain() && self.start.queens_given() == 0;
        if self.fundamental && is_whole && n <= UNIQUE_MAX {
            let visited = unique(n, |columns, _| visit(&Placement::new(columns.to_vec())));
            return visited.expect("the board is small enough");
        }
        let mut visit_columns = |columns: &[u32]| {
            let placement = Placement::new(columns.to_vec());
            if self.wants(&placement) { visit(&placement) } else { ControlFlow::Continue(()) }
        };
        if n <= WORD {
            let mut columns = vec![0; n as usize];
            Masks::new(&self.start, n).fill(
                0,
                Attacked::default(),
                &mut columns,
                &mut visit_columns,
            )
        } else {
            let given: Vec<Square> = self.start.queens().collect();
            let visited = arrays::iterative(n, &given, visit_columns);
            visited.expect("the given queens were checked")
        }
    }

    fn wants(&self, placement: &Placement) -> bool {
        // Masks see to all that is demanded, control arrays to the given queens alone.
        let is_admitted = self.start.n <= WORD || self.start.admits(placement);
        let is_first_of_orbit = || {
            let mut orbit = placement.orbit().into_iter();
            orbit.find(|image| self.start.admits(image)).as_ref() == Some(placement)
        };
        is_admitted && (!self.fundamental || is_first_of_orbit())
    }
}

/// Calls `found` with numbers whose sum is that of the ways to place queens in the first `rows` rows that
/// `start` admits, which on a board of fewer rows than columns are its placements. More rows than N have none.
///
/// # Panics
///
/// If N is greater than 64 and not all rows are wanted.
pub fn ways(start: &Start, rows: u32, mut found: impl FnMut(u64)) {
    let n = start.n;
    if rows > n {
        return;
    }
    if n <= WORD {
        return Masks::new(start, rows).count(0, Attacked::default(), &mut found);
    }
    assert_eq!(rows, n, "the rows of a board of size {n} do not fit a word");
    let listing = Listing { start: start.clone(), fundamental: false };
    let _: ControlFlow<()> = listing.visit(|_| {
        found(1);
        ControlFlow::Continue(())
    });
}

/// The largest board whose rows fit a word.
const WORD: u32 = u64::BITS;

/// A search with the attacked columns of a row as masks, as in M. Richards, "Backtracking Algorithms
/// in MCPL using Bit Patterns and Recursion", 1997; N up to 64.
struct Masks {
    /// For each row the columns that no given queen attacks and that are not blocked, or only its own queen's if it has
    /// a given one.
    allowed: Vec<u64>,
    n: u32,
    rules: Rules,
}

/// The columns of a row that the queens above it attack.
#[derive(Clone, Copy, Default)]
struct Attacked {
    columns: u64,
    left: u64,
    right: u64,
    /// By knights' moves: of this row, and of the next one so far.
    knights: [u64; 2],
}

impl Attacked {
    fn all(self) -> u64 {
        self.columns | self.left | self.right | self.knights[0]
    }
}

impl Masks {
    /// A search of the first `rows` rows.
    fn new(start: &Start, rows: u32) -> Masks {
        let n = start.n;
        let mut masks = Masks { allowed: vec![low_bits(n); rows as usize], n, rules: start.rules };
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
        for square in start.blocked.iter().filter(|square| square.row < rows) {
            masks.allowed[square.row as usize] &= !(1 << square.column);
        }
        masks
    }

    /// What the next row sees, after a queen was placed in a row that sees `attacked`.
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
            // What leaves the row comes back at the other edge.
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

    fn fill<B>(
        &self,
        row: usize,
        attacked: Attacked,
        columns: &mut [u32],
        visit: &mut impl FnMut(&[u32]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let Some(allowed) = self.allowed.get(row) else { return visit(columns) };
        ones(allowed & !attacked.all()).try_for_each(|column| {
            columns[row] = column;
            self.fill(row + 1, self.below(attacked, 1 << column), columns, visit)
        })
    }

    fn count(&self, row: usize, attacked: Attacked, found: &mut impl FnMut(u64)) {
        let Some(allowed) = self.allowed.get(row) else { return found(1) };
        let free = allowed & !attacked.all();
        if row + 1 == self.allowed.len() {
            return found(free.count_ones().into());
        }
        ones(free).for_each(|column| self.count(row + 1, self.below(attacked, 1 << column), found));
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
    mut visit: impl FnMut(&[u32]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    assert!(n <= WORD, "the rows of a board of size {n} do not fit a word");
    let rows = rows.min(n);
    let mut columns = vec![0; rows as usize];
    Masks::new(&Start::empty(n), rows).fill(0, Attacked::default(), &mut columns, &mut visit)
}
