//! Queens read from text, in any of the notations of [`Notation`](crate::Notation) but JSON.

use board::squares::{Square, SquaresError, parse_board, parse_squares};
use thiserror::Error;

/// The reason why a text does not describe queens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
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
    /// A placement lacks queens.
    #[error("{found} of {n} queens are there: a placement on a board of size {n} has them all")]
    Missing {
        /// The size of the board.
        n: u32,
        /// The number of queens.
        found: usize,
    },
    /// A text has several boards.
    #[error("there are {0} boards: give one")]
    Several(usize),
}

/// The boards that a text has: one in each line, if the first line is a FEN or a permutation, or if all lines are squares of
/// boards that have as many rows; one in each paragraph, if the first one is a board; and one in all otherwise.
#[must_use]
pub fn boards(text: &str) -> Vec<&str> {
    let is_drawn = |text: &str| matches!(parse_board(text), Ok((Some(_), _)));
    let paragraphs = paragraphs(text);
    if is_drawn(text) || paragraphs.is_empty() {
        return vec![text];
    }
    if is_drawn(paragraphs[0]) {
        return paragraphs;
    }
    let lines: Vec<&str> = text.lines().filter(|line| !plain(line).is_empty()).collect();
    let is_board = |line: &str| {
        let is_permutation = line.starts_with(|c: char| c.is_ascii_digit());
        line.contains('/') || is_permutation && line.contains([',', ' ', '\t'])
    };
    let are_squares = lines.len() > 1 && lines.iter().all(|line| has_own_squares(line));
    if is_board(plain(lines[0])) || are_squares {
        return lines;
    }
    match one_board(paragraphs[0]) {
        Ok((Some(_), _)) => paragraphs,
        _ => vec![text],
    }
}

/// Whether a line has the squares of a whole placement: as many squares as the board that has them all has rows.
fn has_own_squares(line: &str) -> bool {
    let is_on = |n: usize| move |square: &Square| square.column < n as u32 && square.row < n as u32;
    parse_squares(line).is_ok_and(|squares| squares.iter().all(is_on(squares.len())))
}

/// The paragraphs between empty lines. Those that have only comments are left out.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut paragraphs = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            paragraphs.push(&text[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    paragraphs.push(&text[begin..]);
    paragraphs.retain(|paragraph| paragraph.lines().any(|line| !plain(line).is_empty()));
    paragraphs
}

/// A line without its comment.
fn plain(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

/// Reads queens in any notation but JSON. Numbers are a permutation, a text with `/` is a FEN, and everything
/// else is a drawn board or a list of squares. Returns the queens and, if the text has it, the size of the
/// board. It does not check whether the queens attack each other.
///
/// # Errors
///
/// [`NotationError`] for the first word that does not describe queens.
pub fn read_queens(text: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let several = boards(text).len();
    if several > 1 {
        return Err(NotationError::Several(several));
    }
    one_board(text)
}

fn one_board(text: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    if let Ok(drawn @ (Some(_), _)) = parse_board(text) {
        return Ok(drawn);
    }
    let words = words(text);
    match words.as_slice() {
        // The other fields of a position, such as whose turn it is, are ignored.
        [fen, ..] if fen.contains('/') => read_fen(fen),
        [first, ..] if first.starts_with(|c: char| c.is_ascii_digit()) => read_permutation(&words),
        _ => Ok(parse_board(text)?),
    }
}

/// The words of a text without its comments.
fn words(text: &str) -> Vec<&str> {
    let lines = text.lines().map(plain);
    let words = lines.flat_map(|line| line.split([',', ' ', '\t', '[', ']']));
    words.filter(|word| !word.is_empty()).collect()
}

/// Reads a permutation as the rank of the queen on each file from a on, counted from 1. Returns the size of the
/// board and the queens, like [`read_queens`].
///
/// # Errors
///
/// [`NotationError`] for the first word that is no such rank.
pub fn read_ranks(text: &str) -> Result<(Option<u32>, Vec<Square>), NotationError> {
    let (n, squares) = read_permutation(&words(text))?;
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
    use crate::Notation::{Board, Columns, Fen, Permutation, Squares};
    use crate::Placement;

    #[test]
    fn what_is_written_is_read_again() {
        // 30 squares a rank: runs of two digits, files beyond z.
        for columns in [vec![], vec![0], vec![1, 3, 0, 2], (0..30).rev().collect::<Vec<u32>>()] {
            let placement = Placement::trusted(columns);
            let mut wanted: Vec<Square> = placement.squares().collect();
            wanted.sort_unstable();
            let notations = [Squares, Permutation, Columns, Fen, Board];
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
    fn every_notation_may_have_several_boards() {
        let (one, other) = ([1, 3, 0, 2], [2, 0, 3, 1]);
        for notation in [Squares, Permutation, Columns, Fen, Board] {
            let between = if matches!(notation, Columns | Board) { "\n\n" } else { "\n" };
            let [one, other] =
                [one, other].map(|it| notation.of(&Placement::trusted(it.into())).to_string());
            let text = format!("# two boards\r\n\r\n{one}{between}{other}\n").replace('\n', "\r\n");
            let found: Vec<_> = boards(&text).into_iter().map(read_queens).collect();
            assert_eq!(found, [read_queens(&one), read_queens(&other)], "{text}");
            assert!(found.iter().all(Result::is_ok), "{text}");
        }
        let matrices = "0 1 0 0\n0 0 0 1\n1 0 0 0\n0 0 1 0\n\n0010\n1000\n0001\n0100";
        assert_eq!(boards(matrices).len(), 2);
        for one in ["a1 b3\n\nc5", "a1 b5\nc8 d6", "1 3\n", "0 1\n\n0 0\n", "", "# nothing"] {
            assert_eq!(boards(one).len(), 1, "{one}");
        }
    }

    #[test]
    fn ranks_are_read_file_by_file() {
        let four = Placement::trusted(vec![2, 0, 3, 1]);
        let (n, mut squares) = read_ranks("2, 4 1 3").expect("it is a permutation");
        squares.sort_unstable_by_key(|square| square.row);
        assert_eq!((n, squares), (Some(4), four.squares().collect()));
        assert!(read_ranks("a2 b4 c1 d3").is_err());
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
            ("1Q2/3Q/Q3/2Q1\nQ3/4/4/4\n", "there are 2 boards"),
            ("2 4 1 3\n\n3 1 4 2 # mirrored\n1", "there are 3 boards"),
        ];
        for (text, words) in refusals {
            let error = read_queens(text).expect_err("it is none").to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        for text in ["2 2 # on one file", "2\n2\n"] {
            let (n, squares) = read_queens(text).expect("queens may attack");
            assert_eq!((n, squares.len()), (Some(2), 2));
        }
    }
}
