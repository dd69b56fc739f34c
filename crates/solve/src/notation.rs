//! Placements written as text.

use std::fmt::{self, Display, Formatter, Write};

use board::squares::Square;

use crate::Placement;

/// The notation in which a placement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notation {
    /// The squares on one line, file by file: `a2 b4 c1 d3`.
    Squares,
    /// The column of the queen on each rank from 1 on, counted from 1, on one line: `3 1 4 2`.
    Permutation,
    /// The same numbers, a line each.
    Columns,
    /// The first field of a chess position in Forsyth-Edwards Notation (S. J. Edwards, PGN
    /// standard, 1994), from the highest rank down: `1Q2/3Q/Q3/2Q1`. Runs of empty squares are
    /// written as decimal numbers, so that every N can be written.
    Fen,
    /// One JSON object with `n`, `permutation` and `squares`.
    Json,
    /// A drawing of the board, the highest rank first.
    Board,
}

impl Notation {
    /// The placement in this notation, without a line end.
    pub fn of(self, placement: &Placement) -> impl Display + '_ {
        self.of_rows(placement.n(), placement.columns().iter().copied(), &[])
    }

    /// The placement in this notation, but a permutation is the rank of the queen on each file from
    /// a on, counted from 1: `2 4 1 3`.
    pub fn by_file(self, placement: &Placement) -> impl Display + '_ {
        Written(move |f: &mut Formatter<'_>| {
            let squares = by_file(placement.columns().iter().copied());
            let ranks = squares.iter().map(|square| square.row);
            self.write(f, placement.n(), placement.columns().iter().copied(), ranks, &[])
        })
    }

    /// The queens of the first rows of a board of size `n`, given by their columns from row 0 on,
    /// in this notation without a line end. JSON has these `fields` too, behind `n`.
    ///
    /// Squares and JSON hold all squares in memory, and FEN and drawings hold all columns. The
    /// other notations hold nothing.
    pub fn of_rows(
        self,
        n: u32,
        columns: impl Iterator<Item = u32> + Clone,
        fields: &[(&str, u64)],
    ) -> impl Display {
        Written(move |f: &mut Formatter<'_>| {
            self.write(f, n, columns.clone(), columns.clone(), fields)
        })
    }

    /// Writes the queens in these `columns`. The numbers of `permutation`, which count from 0, are
    /// written where the notation has a permutation.
    fn write(
        self,
        f: &mut Formatter<'_>,
        n: u32,
        columns: impl Iterator<Item = u32>,
        permutation: impl Iterator<Item = u32>,
        fields: &[(&str, u64)],
    ) -> fmt::Result {
        match self {
            Notation::Squares => join(f, " ", by_file(columns), |f, square| square.fmt(f)),
            Notation::Permutation => join(f, " ", permutation, number),
            Notation::Columns => join(f, "\n", permutation, number),
            Notation::Fen => {
                join(f, "/", rows_from_above(n, columns), |f, row| fen_rank(f, n, row))
            }
            Notation::Board => {
                join(f, "\n", rows_from_above(n, columns), |f, row| drawn_rank(f, n, row))
            }
            Notation::Json => {
                write!(f, "{{\"n\":{n}")?;
                for (name, value) in fields {
                    write!(f, ",\"{name}\":{value}")?;
                }
                f.write_str(",\"permutation\":[")?;
                join(f, ",", permutation, number)?;
                f.write_str("],\"squares\":[")?;
                join(f, ",", by_file(columns), |f, square| write!(f, "\"{square}\""))?;
                f.write_str("]}")
            }
        }
    }
}

/// The text that a function writes.
struct Written<W>(W);

impl<W: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Written<W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

fn join<T>(
    f: &mut Formatter<'_>,
    separator: &str,
    words: impl IntoIterator<Item = T>,
    write: impl Fn(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    words.into_iter().enumerate().try_for_each(|(i, word)| {
        if i > 0 {
            f.write_str(separator)?;
        }
        write(f, word)
    })
}

/// The squares of the queens on these columns, file by file.
fn by_file(columns: impl Iterator<Item = u32>) -> Vec<Square> {
    let mut squares: Vec<Square> =
        columns.zip(0..).map(|(column, row)| Square { column, row }).collect();
    squares.sort_unstable();
    squares
}

/// Writes a number, counted from 1.
fn number(f: &mut Formatter<'_>, from_zero: u32) -> fmt::Result {
    (u64::from(from_zero) + 1).fmt(f)
}

/// The column of the queen of each row, if it has one, from the highest row of a board of size `n`
/// down.
fn rows_from_above(
    n: u32,
    columns: impl Iterator<Item = u32>,
) -> impl Iterator<Item = Option<u32>> {
    let columns: Vec<u32> = columns.collect();
    (0..n).rev().map(move |row| columns.get(row as usize).copied())
}

fn fen_rank(f: &mut Formatter<'_>, n: u32, queen: Option<u32>) -> fmt::Result {
    let run = |f: &mut Formatter<'_>, length: u32| match length {
        0 => Ok(()),
        length => length.fmt(f),
    };
    let Some(column) = queen else { return run(f, n) };
    run(f, column)?;
    f.write_char('Q')?;
    run(f, n - 1 - column)
}

fn drawn_rank(f: &mut Formatter<'_>, n: u32, queen: Option<u32>) -> fmt::Result {
    join(f, " ", 0..n, |f, column| f.write_char(if queen == Some(column) { 'Q' } else { '.' }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_written_so() {
        let four = Placement::trusted(vec![2, 0, 3, 1]);
        let notations = [
            (Notation::Squares, "a2 b4 c1 d3"),
            (Notation::Permutation, "3 1 4 2"),
            (Notation::Columns, "3\n1\n4\n2"),
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
        let four = Placement::trusted(vec![2, 0, 3, 1]);
        assert_eq!(Notation::Permutation.by_file(&four).to_string(), "2 4 1 3");
        assert_eq!(Notation::Squares.by_file(&four).to_string(), "a2 b4 c1 d3");
        let json = r#"{"n":4,"permutation":[2,4,1,3],"squares":["a2","b4","c1","d3"]}"#;
        assert_eq!(Notation::Json.by_file(&four).to_string(), json);
    }

    #[test]
    fn the_first_rows_are_written_like_whole_boards() {
        let write = |notation: Notation| {
            notation.of_rows(4, [2, 0].into_iter(), &[("seed", 7)]).to_string()
        };
        let notations = [
            (Notation::Squares, "a2 c1"),
            (Notation::Permutation, "3 1"),
            (Notation::Columns, "3\n1"),
            (Notation::Fen, "4/4/Q3/2Q1"),
            (Notation::Json, r#"{"n":4,"seed":7,"permutation":[3,1],"squares":["a2","c1"]}"#),
            (Notation::Board, ". . . .\n. . . .\nQ . . .\n. . Q ."),
        ];
        for (notation, text) in notations {
            assert_eq!(write(notation), text);
        }
    }
}
