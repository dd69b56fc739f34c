//! Placements written as text, and queens read from text.

use std::fmt::{self, Display};

use board::squares::{Square, SquaresError, parse_board};
use thiserror::Error;

use crate::Placement;

/// How a placement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// The squares, file by file: `a2 b4 c1 d3`.
    Squares,
    /// The column of the queen on each rank from 1 on, counted from 1: `3 1 4 2`.
    Permutation,
    /// The first field of a chess position in Forsyth-Edwards Notation (S. J. Edwards, PGN standard, 1994),
    /// from the highest rank down: `1Q2/3Q/Q3/2Q1`. Runs of empty squares are written as decimal numbers,
    /// so that every N can be written.
    Fen,
    /// One JSON object with `n`, `permutation` and `squares`.
    Json,
    /// A drawing of the board, the highest rank first.
    Board,
}

/// Why a text does not describe queens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotationError {
    /// A word is not a square, or a square is off the board.
    #[error(transparent)]
    Squares(#[from] SquaresError),
    /// A word of a permutation is not a column.
    #[error("{found} is no column: a permutation of {n} numbers has columns from 1 to {n}")]
    Column {
        /// The word.
        found: String,
        /// The number of words.
        n: usize,
    },
    /// A rank of a FEN does not describe a row of the board.
    #[error(
        "`{rank}` is no rank of a board of {n} ranks: give runs of empty squares and Q, {n} in all"
    )]
    Rank {
        /// The text of the rank.
        rank: String,
        /// The number of ranks.
        n: usize,
    },
}

impl Notation {
    /// The placement in this notation, without a line end.
    pub fn of(self, placement: &Placement) -> impl Display + '_ {
        self.with(placement, from_one(placement.columns()).collect())
    }

    /// The placement in this notation, but a permutation is the rank of the queen on each file from a on,
    /// counted from 1: `2 4 1 3`.
    pub fn by_file(self, placement: &Placement) -> impl Display + '_ {
        let ranks = by_file(placement).map(|square| u64::from(square.row) + 1);
        self.with(placement, ranks.collect())
    }

    fn with(self, placement: &Placement, permutation: Vec<u64>) -> impl Display + '_ {
        fmt::from_fn(move |f| match self {
            Notation::Squares => join(f, " ", by_file(placement)),
            Notation::Permutation => join(f, " ", permutation.iter()),
            Notation::Fen => join(f, "/", fen_ranks(placement)),
            Notation::Json => {
                write!(f, "{{\"n\":{},\"permutation\":[", placement.n())?;
                join(f, ",", permutation.iter())?;
                f.write_str("],\"squares\":[")?;
                join(f, ",", by_file(placement).map(|square| format!("\"{square}\"")))?;
                f.write_str("]}")
            }
            Notation::Board => join(f, "\n", drawn_ranks(placement)),
        })
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    separator: &str,
    words: impl Iterator<Item = impl Display>,
) -> fmt::Result {
    words.enumerate().try_for_each(|(i, word)| {
        if i > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{word}")
    })
}

fn by_file(placement: &Placement) -> impl Iterator<Item = Square> {
    let mut squares: Vec<Square> = placement.squares().collect();
    squares.sort_unstable();
    squares.into_iter()
}

fn from_one(numbers: &[u32]) -> impl Iterator<Item = u64> + '_ {
    numbers.iter().map(|&number| u64::from(number) + 1)
}

fn fen_ranks(placement: &Placement) -> impl Iterator<Item = String> + '_ {
    placement.columns().iter().rev().map(|&column| {
        let run = |length: u32| if length == 0 { String::new() } else { length.to_string() };
        format!("{}Q{}", run(column), run(placement.n() - 1 - column))
    })
}

fn drawn_ranks(placement: &Placement) -> impl Iterator<Item = String> + '_ {
    placement.columns().iter().rev().map(|&column| {
        let square = |at| if at == column { "Q" } else { "." };
        (0..placement.n()).map(square).collect::<Vec<_>>().join(" ")
    })
}

/// Reads queens in any notation but JSON. Numbers are a permutation, a text with `/` is a FEN, and everything
/// else is a drawn board or a list of squares. Returns the queens and, if the text tells it, the size of the
/// board. It does not check whether the queens attack each other.
///
/// # Errors
///
/// [`NotationError`] for the first word that does not describe queens.
pub fn read_queens(text: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let plain = || text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words: Vec<&str> = plain()
        .flat_map(|line| line.split([',', ' ', '\t']))
        .filter(|word| !word.is_empty())
        .collect();
    match words.as_slice() {
        // The other fields of a position, such as whose turn it is, are ignored.
        [fen, ..] if fen.contains('/') => read_fen(fen),
        [first, ..] if first.starts_with(|c: char| c.is_ascii_digit()) => read_permutation(&words),
        _ => Ok(parse_board(text)?),
    }
}

/// Reads a permutation as the rank of the queen on each file from a on, counted from 1. Returns the size of the
/// board and the queens, like [`read_queens`].
///
/// # Errors
///
/// [`NotationError`] for the first word that is no such rank.
pub fn read_ranks(text: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let words: Vec<&str> =
        text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()).collect();
    let (n, squares) = read_permutation(&words)?;
    let swap = |Square { column, row }| Square { column: row, row: column };
    Ok((n, squares.into_iter().map(swap).collect()))
}

fn read_permutation(words: &[&str]) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let n = words.len();
    let square = |(row, word): (usize, &&str)| {
        let column = word.parse().ok().filter(|column| (1..=n).contains(column));
        let column = column.ok_or_else(|| NotationError::Column { found: (*word).into(), n })?;
        Ok(Square { column: column as u32 - 1, row: row as u32 })
    };
    let squares: Result<_, NotationError> = words.iter().enumerate().map(square).collect();
    Ok((Some(n as u32), squares?))
}

fn read_fen(fen: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let ranks: Vec<&str> = fen.split('/').collect();
    let n = ranks.len();
    let mut squares = Vec::new();
    for (row, rank) in ranks.iter().rev().enumerate() {
        let columns =
            read_rank(rank, n).ok_or_else(|| NotationError::Rank { rank: (*rank).into(), n })?;
        squares.extend(columns.into_iter().map(|column| Square { column, row: row as u32 }));
    }
    Ok((Some(n as u32), squares))
}

/// The columns of the queens of one rank; `None` if it does not have `n` squares.
fn read_rank(rank: &str, n: usize) -> Option<Vec<u32>> {
    let mut columns = Vec::new();
    let mut at = 0_usize;
    let mut rest = rank;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if end > 0 {
            let (run, after) = rest.split_at(end);
            at = at.checked_add(run.parse().ok()?)?;
            rest = after;
        } else {
            rest = rest.strip_prefix(['Q', 'q'])?;
            columns.push(at as u32);
            at += 1;
        }
    }
    (at == n).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_written_so() {
        let four = Placement::new(vec![2, 0, 3, 1]);
        let notations = [
            (Notation::Squares, "a2 b4 c1 d3"),
            (Notation::Permutation, "3 1 4 2"),
            (Notation::Fen, "1Q2/3Q/Q3/2Q1"),
            (Notation::Json, r#"{"n":4,"permutation":[3,1,4,2],"squares":["a2","b4","c1","d3"]}"#),
            (Notation::Board, ". Q . .\n. . . Q\nQ . . .\n. . Q ."),
        ];
        for (notation, text) in notations {
            assert_eq!(notation.of(&four).to_string(), text);
        }
    }

    #[test]
    fn by_file_a_permutation_has_the_ranks() {
        let four = Placement::new(vec![2, 0, 3, 1]);
        assert_eq!(Notation::Permutation.by_file(&four).to_string(), "2 4 1 3");
        assert_eq!(Notation::Squares.by_file(&four).to_string(), "a2 b4 c1 d3");
        let json = r#"{"n":4,"permutation":[2,4,1,3],"squares":["a2","b4","c1","d3"]}"#;
        assert_eq!(Notation::Json.by_file(&four).to_string(), json);
        let (n, mut squares) = read_ranks("2, 4 1 3").expect("it is a permutation");
        squares.sort_unstable_by_key(|square| square.row);
        assert_eq!((n, squares), (Some(4), four.squares().collect()));
        assert!(read_ranks("a2 b4 c1 d3").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        // 30 squares a rank: runs of two digits, files beyond z.
        for columns in [vec![], vec![0], vec![1, 3, 0, 2], (0..30).rev().collect::<Vec<u32>>()] {
            let placement = Placement::new(columns);
            let mut wanted: Vec<Square> = placement.squares().collect();
            wanted.sort_unstable();
            let notations =
                [Notation::Squares, Notation::Permutation, Notation::Fen, Notation::Board];
            for notation in notations {
                let text = notation.of(&placement).to_string();
                let (n, mut squares) = read_queens(&text).expect("it was written so");
                squares.sort_unstable();
                assert_eq!(squares, wanted, "{notation:?}: {text}");
                assert!(n.is_none_or(|n| n == placement.n()), "{notation:?}: {text}");
            }
        }
    }

    #[test]
    fn what_is_no_placement_is_refused_with_the_word() {
        let refusals = [
            ("1 2 4", "4 is no column"),
            ("0 1", "0 is no column"),
            ("1 b2", "b2 is no column"),
            ("2Q/3/11Q", "`11Q` is no rank of a board of 3 ranks"),
            ("2Q/3/K2", "`K2` is no rank"),
            ("1Q/99999999999999999999999", "is no rank"),
            ("a1 z", "`z` is no square"),
        ];
        for (text, words) in refusals {
            let error = read_queens(text).expect_err("it is none").to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let (n, squares) = read_queens("2 2 # on one file").expect("queens may attack");
        assert_eq!((n, squares.len()), (Some(2), 2));
    }
}
