//! Problems: what is counted.

use std::fmt;

use crate::squares::{Square, SquaresError, parse_squares};
use crate::{Given, MAX_N};

/// A counting problem of the N-queens family.
///
/// This enum is deliberately not `#[non_exhaustive]`: every match on it must be extended for a new
/// problem before the program compiles again. A new problem is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// All placements of `n` queens on an `n` x `n` board, none attacking another (A000170).
    Total {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// All placements up to the eight symmetries of the square (A002562). The tasks, and the sum
    /// over them, are those of [`Total`](Problem::Total). The answer is the number of orbits. A
    /// [`Census`](crate::Census) computes it from this sum and from the numbers of placements that
    /// rotations fix.
    Fundamental {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// Placements on a torus, where diagonals continue at the opposite edge ("modular" placements,
    /// A007705). There are none unless N is prime to 6 (Polya, 1918).
    Toroidal {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// Placements of queens that also move as knights (A051223).
    Superqueens {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// Placements that have the given queens.
    Completions(Given),
}

impl Problem {
    /// The placements of a board of size `n` that have these queens.
    ///
    /// # Errors
    ///
    /// [`SquaresError`], if the board is larger than [`Given::MAX_N`], a square is off it, or two
    /// queens attack each other.
    pub fn completions(n: u32, queens: &[Square]) -> Result<Problem, SquaresError> {
        Given::new(n, queens).map(Problem::Completions)
    }

    /// The problem's name in messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Problem::Total { .. } => "total",
            Problem::Fundamental { .. } => "fundamental",
            Problem::Toroidal { .. } => "toroidal",
            Problem::Superqueens { .. } => "superqueens",
            Problem::Completions(_) => "completions",
        }
    }

    /// Whether it is known without a search that the problem has no placement. A torus has none
    /// unless its size is prime to 6 (Polya, 1918).
    #[must_use]
    pub const fn is_hopeless(&self) -> bool {
        match *self {
            Problem::Toroidal { n } => n > 0 && (n.is_multiple_of(2) || n.is_multiple_of(3)),
            Problem::Total { .. }
            | Problem::Fundamental { .. }
            | Problem::Superqueens { .. }
            | Problem::Completions(_) => false,
        }
    }

    /// Board size.
    #[must_use]
    pub const fn n(&self) -> u32 {
        match *self {
            Problem::Total { n }
            | Problem::Fundamental { n }
            | Problem::Toroidal { n }
            | Problem::Superqueens { n } => n,
            Problem::Completions(given) => given.n(),
        }
    }

    /// The given queens, if the problem has them.
    #[must_use]
    pub const fn given(&self) -> Option<&Given> {
        match self {
            Problem::Total { .. }
            | Problem::Fundamental { .. }
            | Problem::Toroidal { .. }
            | Problem::Superqueens { .. } => None,
            Problem::Completions(given) => Some(given),
        }
    }

    /// Whether the problem's tasks are those of the total, so that their sum is the number of all
    /// placements.
    pub(crate) const fn sums_all_placements(&self) -> bool {
        match self {
            Problem::Total { .. } | Problem::Fundamental { .. } => true,
            Problem::Toroidal { .. } | Problem::Superqueens { .. } | Problem::Completions(_) => {
                false
            }
        }
    }

    /// Whether the answer is the number of orbits under the eight symmetries of the square. The sum
    /// over the tasks is then the number of all placements, and the answer needs more than this
    /// sum.
    #[must_use]
    pub const fn counts_orbits(&self) -> bool {
        match self {
            Problem::Fundamental { .. } => true,
            Problem::Total { .. }
            | Problem::Toroidal { .. }
            | Problem::Superqueens { .. }
            | Problem::Completions(_) => false,
        }
    }

    /// The largest board: [`MAX_N`], or with given queens [`Given::MAX_N`].
    #[must_use]
    pub const fn max_n(&self) -> u32 {
        if self.given().is_some() { Given::MAX_N } else { MAX_N }
    }

    /// The problem as a word: its name and, after a space, its given queens. Together with the size
    /// it identifies the problem; ledgers and fingerprints hold it, and
    /// [`from_text`](Problem::from_text) reads it.
    #[must_use]
    pub fn text(&self) -> String {
        match self.given() {
            Some(given) => format!("{} {given}", self.name()),
            None => self.name().into(),
        }
    }

    /// The problem with that [`text`](Problem::text) on a board of size `n`, if there is one. The
    /// size is checked here for completions only. [`PlanIndex::new`](crate::PlanIndex::new) refuses
    /// other boards that are too large.
    #[must_use]
    pub fn from_text(text: &str, n: u32) -> Option<Problem> {
        match text.split_once(' ') {
            Some(("completions", queens)) => {
                Problem::completions(n, &parse_squares(queens).ok()?).ok()
            }
            Some(_) => None,
            None => Problem::all(n).find(|it| it.given().is_none() && it.name() == text),
        }
    }

    /// Every problem on a board of size `n`. Completions have no given queens here. They are left
    /// out if the board is larger than [`Given::MAX_N`].
    pub fn all(n: u32) -> impl Iterator<Item = Problem> {
        let (total, fundamental) = (Problem::Total { n }, Problem::Fundamental { n });
        let (torus, superqueens) = (Problem::Toroidal { n }, Problem::Superqueens { n });
        let completions = Problem::completions(n, &[]).ok();
        [total, fundamental, torus, superqueens].into_iter().chain(completions)
    }

    /// The rows without a given queen, in ascending order. These are the rows to be filled.
    #[must_use]
    pub fn open_rows(&self) -> Vec<u32> {
        match self.given() {
            Some(given) => given.open_rows().collect(),
            None => (0..self.n()).collect(),
        }
    }

    /// Whether queens on two squares of different rows attack each other. This is the definition of
    /// the rules. Tests compare all faster ways with it.
    #[must_use]
    pub const fn attack(&self, a: Square, b: Square) -> bool {
        let (columns, rows) = (a.column.abs_diff(b.column), a.row.abs_diff(b.row));
        match *self {
            Problem::Toroidal { n } => columns == 0 || columns == rows || columns + rows == n,
            Problem::Superqueens { .. } => columns == 0 || columns == rows || columns + rows == 3,
            Problem::Total { .. } | Problem::Fundamental { .. } | Problem::Completions(_) => {
                columns == 0 || columns == rows
            }
        }
    }
}

impl From<u32> for Problem {
    /// All placements of a board of this size.
    fn from(n: u32) -> Problem {
        Problem::Total { n }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} N={}", self.name(), self.n())?;
        match self.given() {
            Some(given) => write!(f, " ({} given)", given.queens().count()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_known_by_its_text() {
        let queens = parse_squares("b4,bl1").expect("they are squares");
        let given = Given::new(64, &queens).expect("they do not attack each other");
        assert_eq!(given.to_string(), "bl1,b4");
        assert_eq!(given.open_rows().count(), 62);
        let sizes = [0, 8, 32].into_iter();
        for problem in sizes.flat_map(Problem::all).chain([Problem::Completions(given)]) {
            assert_eq!(Problem::from_text(&problem.text(), problem.n()), Some(problem));
        }
        for text in ["", "totals", "total a1", "completions", "completions i1", "completions a1,b2"]
        {
            assert_eq!(Problem::from_text(text, 8), None, "{text}");
        }
        assert_eq!(Problem::from_text("total", 33), Some(Problem::Total { n: 33 }));
        assert_eq!(Given::new(65, &[]), Err(SquaresError::BoardTooLarge(65)));
    }

    #[test]
    fn queens_attack_around_the_torus_and_superqueens_as_knights() {
        let attack = |problem: Problem, a: &str, b: &str| {
            let square = |name: &str| name.parse().expect("it is a square");
            problem.attack(square(a), square(b))
        };
        let torus = Problem::Toroidal { n: 5 };
        assert!(attack(torus, "a1", "e2") && attack(torus, "e4", "a3"));
        assert!(!attack(torus, "a1", "c2") && attack(torus, "a1", "c3"));
        assert!(attack(torus, "a1", "d3") && !attack(torus, "a1", "b3"));
        let superqueens = Problem::Superqueens { n: 8 };
        assert!(attack(superqueens, "a1", "c2") && attack(superqueens, "c3", "b1"));
        assert!(!attack(superqueens, "a1", "d2") && !attack(superqueens, "a1", "b4"));
        assert!(!attack(Problem::Total { n: 8 }, "a1", "c2"));
    }
}
