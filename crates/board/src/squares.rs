//! Squares as chess players name them, lists of them, and queens that attack each other.
//!
//! Column 0 is file `a`; after `z` come `aa`, `ab` and so on, as in a spreadsheet. Row 0 is rank 1,
//! at the bottom of a diagram.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

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
    /// A word is not the name of a square, that is, letters followed by a number.
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
    /// A queen stands on a blocked square.
    #[error("the queen on {0} stands on a blocked square")]
    Blocked(Square),
    /// A line of a board file that is too long or too short.
    #[error("line {line} has {found} squares, and the board has {n} lines: they must be as many")]
    LineLength {
        /// Number of the line, from 1.
        line: usize,
        /// Number of squares in the line.
        found: usize,
        /// Number of lines of the board.
        n: usize,
    },
    /// A character is neither a queen nor an empty square.
    #[error(
        "line {line}, square {column}: `{found}` is neither a queen (Q, *, # or 1) nor empty (., -, _ or 0)"
    )]
    NoPiece {
        /// Number of the line, from 1.
        line: usize,
        /// Number of the square in the line, from 1.
        column: usize,
        /// The character.
        found: char,
    },
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = [0; 7];
        let mut first = letters.len();
        let mut rest = u64::from(self.column) + 1;
        while rest > 0 {
            first -= 1;
            letters[first] = b'a' + ((rest - 1) % 26) as u8;
            rest = (rest - 1) / 26;
        }
        letters[first..].iter().try_for_each(|&letter| write!(f, "{}", char::from(letter)))?;
        write!(f, "{}", u64::from(self.row) + 1)
    }
}

impl FromStr for Square {
    type Err = SquaresError;

    fn from_str(word: &str) -> Result<Square, SquaresError> {
        let square = || -> Option<Square> {
            let end = word.find(|c: char| !c.is_ascii_alphabetic())?;
            let (file, rank) = word.split_at(end);
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
    let words = text.lines().map(without_comment).flat_map(|line| line.split([',', ' ', '\t']));
    words.filter(|word| !word.is_empty()).map(str::parse).collect()
}

/// A line up to its `#`.
fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

/// Reads a drawn board and returns its size and its queens. Each line is a row, the highest rank first; `Q`, `q`, `*` or
/// `#` is a queen and `.`, `-` or `_` an empty square, with or without spaces, commas, bars or brackets between them. A
/// matrix has `1` for a queen and `0` for an empty square. What follows a `#` is a comment, unless the board makes sense
/// only if it is a queen. A text that starts with anything else is read as a list of squares, which has no size.
///
/// # Errors
///
/// [`SquaresError`] for the first line that is not a row, or the first word that does not name a square.
pub fn parse_board(text: &str) -> Result<(Option<u32>, Vec<Square>), SquaresError> {
    let found = match parse_rows(text, without_comment) {
        Some(drawn) => drawn,
        None => parse_squares(text).map(|squares| (None, squares)),
    };
    match found {
        Ok((_, ref squares)) if !squares.is_empty() => found,
        _ => match parse_rows(text, str::trim) {
            Some(Ok(drawn)) => Ok(drawn),
            _ => found,
        },
    }
}

/// The size of a drawn board, and its queens.
type Drawn = (Option<u32>, Vec<Square>);

/// Whether a square with this sign in a drawn board has a queen; `None` if it is no such sign.
fn piece(sign: char) -> Option<bool> {
    match sign {
        'Q' | 'q' | '*' | '#' | '1' => Some(true),
        '.' | '-' | '_' | '0' => Some(false),
        _ => None,
    }
}

/// What may stand between two squares of a row.
fn is_between(sign: &char) -> bool {
    sign.is_whitespace() || matches!(sign, ',' | '|' | '[' | ']')
}

/// Reads a drawn board from its remaining lines `part`; `None` if it does not begin like one.
fn parse_rows(text: &str, part: impl Fn(&str) -> &str) -> Option<Result<Drawn, SquaresError>> {
    let lines = text.lines().map(part).zip(1..);
    let rows = lines.flat_map(|(line, number)| line.split(']').map(move |row| (row, number)));
    let rows: Vec<(&str, usize)> =
        rows.filter(|(row, _)| row.chars().any(|sign| !is_between(&sign))).collect();
    let (first, _) = rows.first()?;
    let mut squares = first.chars().filter(|sign| !is_between(sign));
    let is_drawn = match squares.next()? {
        // Permutations have no 0, and other numbers besides 1.
        '0' | '1' => {
            let digits = || rows.iter().flat_map(|(row, _)| row.chars()).filter(|c| !is_between(c));
            digits().all(|sign| matches!(sign, '0' | '1')) && digits().any(|sign| sign == '0')
        }
        sign => match piece(sign)? {
            // A `q` alone is not enough: q1 is a square, and other words begin with it too.
            true => {
                squares.next().is_none_or(|sign| !sign.is_ascii_digit() && piece(sign).is_some())
            }
            false => true,
        },
    };
    is_drawn.then(|| queens_of(&rows))
}

/// The queens of rows, from the highest rank down. Each row comes with the number of its line.
fn queens_of(rows: &[(&str, usize)]) -> Result<Drawn, SquaresError> {
    let n = rows.len();
    let mut squares = Vec::new();
    for (row, &(text, line)) in rows.iter().rev().enumerate() {
        let mut found = 0;
        for sign in text.chars().filter(|sign| !is_between(sign)) {
            let no_piece = SquaresError::NoPiece { line, column: found as usize + 1, found: sign };
            if piece(sign).ok_or(no_piece)? {
                squares.push(Square { column: found, row: row as u32 });
            }
            found += 1;
        }
        if found as usize != n {
            return Err(SquaresError::LineLength { line, found: found as usize, n });
        }
    }
    Ok((Some(n as u32), squares))
}

/// Checks, in time linear in the number of queens, that all stand on the board of size `n`, each on a square
/// of its own, and that none attacks another.
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
    fn a_board_is_read_drawn_or_named() {
        let queens = parse_squares("c1 a2 d3 b4").expect("they are squares");
        assert_eq!(
            parse_board(". Q . .\n. . . Q\n\n# drawn\nQ...\n--q- # drawn\n"),
            Ok((Some(4), queens.clone()))
        );
        let drawings = [
            ". * . .\n. . . *\n* . . .\n. . * .\n",
            "_#__\r\n___#\r\n#___\r\n__#_\r\n",
            "|_|Q|_|_|\n|_|_|_|Q|\n|Q|_|_|_|\n|_|_|Q|_| # with bars\n",
            "0100\n0001\n1000\n0010",
            "0 1 0 0\n0,0,0,1\n1 0 0 0\n0 0 1 0\n",
            "[[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]",
        ];
        for drawing in drawings {
            assert_eq!(parse_board(drawing), Ok((Some(4), queens.clone())), "{drawing}");
        }
        assert_eq!(parse_board("#"), Ok((Some(1), vec![Square { column: 0, row: 0 }])));
        assert_eq!(parse_board(".. # none\n.."), Ok((Some(2), vec![])));
        assert_eq!(parse_board("c1, a2\nd3 b4 # named\n"), Ok((None, queens)));
        assert_eq!(parse_board(""), Ok((None, vec![])));
        let short = SquaresError::LineLength { line: 1, found: 1, n: 2 };
        assert_eq!(parse_board(".\n.."), Err(short));
        let other = SquaresError::NoPiece { line: 1, column: 2, found: 'x' };
        assert_eq!(parse_board(".x\n.."), Err(other));
        assert_eq!(parse_board("queen"), Err(SquaresError::NoSquare("queen".into())));
        assert_eq!(parse_board("q1"), Ok((None, vec![Square { column: 16, row: 0 }])));
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
