//! What is counted.

use std::fmt;

use thiserror::Error;

use crate::squares::{Square, SquaresError, check_queens, parse_squares};
use crate::{MAX_N, Method};

/// A counting problem of the N-queens family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// All placements of `n` queens on an `n` x `n` board, none attacking another (A000170).
    Total {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// The same up to the eight symmetries of the square (A002562). Its tasks are those of
    /// [`Total`](Problem::Total), and their sum is: how many are fixed by which rotation is all that
    /// the answer takes beside it, and is found by a search of its own.
    Fundamental {
        /// Board size, 0 to 32.
        n: u32,
    },
    /// Placements on a torus, where diagonals go on at the opposite edge: "modular" ones (A007705).
    /// There are none unless N is prime to 6 (Polya, 1918).
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

/// Queens that stand on a board already, none attacking another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Given {
    n: u32,
    /// Of each row's queen the column, or [`NOBODY`].
    columns: [u8; Given::MAX_N as usize],
}

/// A row without a queen.
const NOBODY: u8 = u8::MAX;

/// Why queens are not [`Given`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GivenError {
    /// The board is too large.
    #[error("a board of size {0}: completions are counted for sizes from 0 to {max}", max = Given::MAX_N)]
    BoardTooLarge(u32),
    /// The queens cannot stand so.
    #[error(transparent)]
    Squares(#[from] SquaresError),
}

impl Given {
    /// The largest board.
    pub const MAX_N: u32 = 64;

    /// These queens on a board of size `n`, at most [`MAX_N`](Given::MAX_N).
    ///
    /// # Errors
    ///
    /// [`GivenError`], if the board is too large, a square is off it, or two queens attack each
    /// other.
    pub fn new(n: u32, queens: &[Square]) -> Result<Given, GivenError> {
        if n > Given::MAX_N {
            return Err(GivenError::BoardTooLarge(n));
        }
        check_queens(n, queens)?;
        let mut columns = [NOBODY; Given::MAX_N as usize];
        for queen in queens {
            columns[queen.row as usize] = queen.column as u8;
        }
        Ok(Given { n, columns })
    }

    /// Board size.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// The queens, row by row.
    pub fn queens(&self) -> impl Iterator<Item = Square> + '_ {
        let rows = (0..self.n).zip(self.columns);
        let queens = rows.filter(|&(_, column)| column != NOBODY);
        queens.map(|(row, column)| Square { column: u32::from(column), row })
    }

    /// The rows without a queen, from row 0 on.
    pub fn open_rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.n).filter(|&row| self.columns[row as usize] == NOBODY)
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, queen) in self.queens().enumerate() {
            write!(f, "{}{queen}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} of N={}", self.n)
    }
}

impl Problem {
    /// The problem's name in messages and on the command line.
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

    /// Board size.
    #[must_use]
    pub const fn n(&self) -> u32 {
        match *self {
            Problem::Total { n }
            | Problem::Fundamental { n }
            | Problem::Toroidal { n }
            | Problem::Superqueens { n } => n,
            Problem::Completions(given) => given.n,
        }
    }

    /// All that tells it from others of the same size: its name and, after a space, given queens. It
    /// is what ledgers and fingerprints have, and [`from_text`](Problem::from_text) reads it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Problem::Completions(given) => format!("{} {given}", self.name()),
            _ => self.name().into(),
        }
    }

    /// The problem with that [`text`](Problem::text) on a board of size `n`, if there is one.
    #[must_use]
    pub fn from_text(text: &str, n: u32) -> Option<Problem> {
        let problem = match text.split_once(' ') {
            Some(("completions", queens)) => {
                let queens = parse_squares(queens).ok()?;
                return Given::new(n, &queens).ok().map(Problem::Completions);
            }
            Some(_) => return None,
            None => match text {
                "total" => Problem::Total { n },
                "fundamental" => Problem::Fundamental { n },
                "toroidal" => Problem::Toroidal { n },
                "superqueens" => Problem::Superqueens { n },
                _ => return None,
            },
        };
        (n <= MAX_N).then_some(problem)
    }

    /// The rows to be filled, from row 0 on.
    #[must_use]
    pub fn open_rows(&self) -> Vec<u32> {
        match self {
            Problem::Completions(given) => given.open_rows().collect(),
            _ => (0..self.n()).collect(),
        }
    }

    /// Whether queens on two squares of different rows attack each other: the rules, by which all
    /// faster ways are checked.
    #[must_use]
    pub const fn attack(&self, a: Square, b: Square) -> bool {
        let (columns, rows) = (a.column.abs_diff(b.column), a.row.abs_diff(b.row));
        match *self {
            Problem::Toroidal { n } => columns == 0 || columns == rows || columns + rows == n,
            Problem::Superqueens { .. } => columns == 0 || columns == rows || columns + rows == 3,
            _ => columns == 0 || columns == rows,
        }
    }

    /// Whether it can be cut by `method`: the total in every way, others by their first rows.
    #[must_use]
    pub fn suits(&self, method: Method) -> bool {
        match self {
            Problem::Total { n } | Problem::Fundamental { n } => *n <= MAX_N && method.suits(*n),
            Problem::Toroidal { n } | Problem::Superqueens { n } if *n > MAX_N => false,
            _ => match method {
                Method::Rows { rows } => {
                    rows <= crate::first_rows::MAX_ROWS && rows as usize <= self.open_rows().len()
                }
                Method::Ring { .. } | Method::Halves => false,
            },
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} N={}", self.name(), self.n())?;
        match self {
            Problem::Completions(given) => write!(f, " ({} given)", given.queens().count()),
            _ => Ok(()),
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
        for problem in [
            Problem::Total { n: 8 },
            Problem::Fundamental { n: 8 },
            Problem::Toroidal { n: 32 },
            Problem::Superqueens { n: 0 },
            Problem::Completions(given),
            Problem::Completions(Given::new(3, &[]).expect("an empty board")),
        ] {
            assert_eq!(Problem::from_text(&problem.text(), problem.n()), Some(problem));
        }
        for (text, n) in [("total", 33), ("", 8), ("totals", 8), ("total a1", 8)] {
            assert_eq!(Problem::from_text(text, n), None, "{text} {n}");
        }
        assert_eq!(Problem::from_text("completions i1", 8), None);
        assert_eq!(Given::new(65, &[]), Err(GivenError::BoardTooLarge(65)));
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
