//! Squares as chess players name them, lists of them, and queens that attack each other.
//!
//! Column 0 is file `a`; after `z` come `aa`, `ab` and so on, as in a spreadsheet. Row 0 is rank 1,
//! at the bottom of a diagram.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::Given;

/// A square of a board of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square {
    /// Counted from 0, which is file a.
    pub column: u32,
    /// Counted from 0, which is rank 1.
    pub row: u32,
}

impl Square {
    /// The square in this column and this row, both counted from 0.
    #[must_use]
    pub const fn new(column: u32, row: u32) -> Square {
        Square { column, row }
    }
}

/// Why a text does not describe queens on a board.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum SquaresError {
    /// A word is not the name of a square. A name consists of letters and a number behind them.
    #[error("`{0}` is no square: name it by file and rank, as in a1 or c12")]
    NoSquare(String),
    /// A square is off the board.
    #[error("{square} is off the board of size {n}")]
    OffBoard {
        /// The square.
        square: Square,
        /// The board's size.
        n: u32,
    },
    /// Two queens attack each other.
    #[error("the queens on {0} and {1} attack each other")]
    Attack(Square, Square),
    /// A square that is given twice.
    #[error("the square {0} is given twice")]
    Twice(Square),
    /// The board is too large for given queens.
    #[error("a board of size {0}: completions are counted for sizes from 0 to {max}", max = Given::MAX_N)]
    BoardTooLarge(u32),
    /// A queen stands on a blocked square.
    #[error("the queen on {0} stands on a blocked square")]
    Blocked(Square),
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut file = String::new();
        let mut rest = u64::from(self.column) + 1;
        while rest > 0 {
            file.insert(0, char::from(b'a' + ((rest - 1) % 26) as u8));
            rest = (rest - 1) / 26;
        }
        write!(f, "{file}{}", u64::from(self.row) + 1)
    }
}

impl FromStr for Square {
    type Err = SquaresError;

    fn from_str(word: &str) -> Result<Square, SquaresError> {
        // A capital Q before a file is the letter of the piece, as in Qa1.
        let is_file = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_lowercase());
        let name = word.strip_prefix('Q').filter(is_file).unwrap_or(word);
        let square = || -> Option<Square> {
            let end = name.find(|c: char| !c.is_ascii_alphabetic())?;
            let (file, rank) = name.split_at(end);
            if rank.starts_with('+') {
                return None;
            }
            let column = file.bytes().try_fold(0_u32, |column, letter| {
                let digit = u32::from(letter.to_ascii_lowercase() - b'a') + 1;
                column.checked_mul(26)?.checked_add(digit)
            })?;
            let row = rank.parse::<u32>().ok()?.checked_sub(1)?;
            Some(Square { column: column.checked_sub(1)?, row })
        };
        square().ok_or_else(|| SquaresError::NoSquare(word.into()))
    }
}

/// Reads squares between commas, spaces or line ends; what follows a `#` in its line is a comment.
///
/// # Errors
///
/// [`SquaresError::NoSquare`] for the first word that does not name a square.
pub fn parse_squares(text: &str) -> Result<Vec<Square>, SquaresError> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split([',', ' ', '\t', '\r']));
    words.filter(|word| !word.is_empty()).map(str::parse).collect()
}

/// Checks, in time linear in the number of queens, that all stand on the board of size `n`, each on
/// a square of its own, and that none attacks another.
///
/// # Errors
///
/// The first queen in the given order that breaks this, with the one that it attacks.
pub fn check_queens(n: u32, queens: &[Square]) -> Result<(), SquaresError> {
    // Rows, columns and diagonals, each as its direction and its number.
    let mut lines = HashMap::new();
    for &square in queens {
        let Square { column, row } = square;
        if column >= n || row >= n {
            return Err(SquaresError::OffBoard { square, n });
        }
        let (x, y) = (i64::from(column), i64::from(row));
        let attacked =
            [(0, y), (1, x), (2, x + y), (3, x - y)].map(|line| lines.insert(line, square));
        if let Some(other) = attacked.into_iter().flatten().next() {
            return Err(if other == square {
                SquaresError::Twice(square)
            } else {
                SquaresError::Attack(other, square)
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_read_as_they_are_written() {
        let named = [("a1", 0, 0), ("h8", 7, 7), ("z26", 25, 25), ("aa27", 26, 26), ("bz3", 77, 2)];
        for (name, column, row) in named {
            let square = Square { column, row };
            assert_eq!(square.to_string(), name);
            assert_eq!(name.parse(), Ok(square));
        }
        assert_eq!(("Qa1".parse(), "q1".parse()), (Ok(Square::new(0, 0)), Ok(Square::new(16, 0))));
        for column in [0, 701, 702, u32::MAX - 1] {
            let square = Square { column, row: u32::MAX - 1 };
            assert_eq!(square.to_string().parse(), Ok(square));
        }
        for word in
            ["", "a", "1", "a0", "a-1", "a+1", "1a", "a1b", "ä1", "aaaaaaaaa1", "a4294967296"]
        {
            assert_eq!(word.parse::<Square>(), Err(SquaresError::NoSquare(word.into())));
        }
    }

    #[test]
    fn queens_that_attack_each_other_are_named() {
        let check =
            |n, squares| check_queens(n, &parse_squares(squares).expect("they are squares"));
        assert_eq!(check(4, "b4 d3 a2 c1"), Ok(()));
        assert_eq!(
            check(8, "a1 b2").expect_err("a diagonal").to_string(),
            "the queens on a1 and b2 attack each other"
        );
        for attack in ["a1 a7", "c3 h3", "a8 h1", "b2 g7"] {
            assert!(matches!(check(8, attack), Err(SquaresError::Attack(..))), "{attack}");
        }
        assert!(matches!(check(8, "a1 a1"), Err(SquaresError::Twice(_))));
        assert!(matches!(check(8, "i1"), Err(SquaresError::OffBoard { n: 8, .. })));
    }
}
