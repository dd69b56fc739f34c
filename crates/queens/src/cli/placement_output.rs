//! Prints one placement to standard output, in the chosen format.

use std::io::{self, Write};

use board::squares::Square;
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output::{self, Out};

/// How a placement is printed.
#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// How to print it [default: squares up to N = 26, columns from there on]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print one JSON object: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The queens' squares on one line, file by file: a1 is the lower left corner, column aa follows z
    Squares,
    /// A line for each row, from row 1 on: the number of its queen's column, from 1
    Columns,
    /// A drawn board, row 1 at the bottom, Q for a queen; up to N = 1000
    Board,
    /// One object with the same numbers as `columns`
    Json,
}

/// The largest board that is drawn: a million squares.
const LARGEST_DRAWN: u32 = 1_000;

impl FormatArgs {
    /// The chosen format, or the one that suits a board of size `n`.
    pub(super) fn for_board(&self, n: u32) -> Result<Format, Failure> {
        match self.format {
            _ if self.json => Ok(Format::Json),
            Some(Format::Board) if n > LARGEST_DRAWN => Err(Failure::Usage(format!(
                "a board of size {n} is not drawn: give a size of at most {LARGEST_DRAWN}, or --format columns"
            ))),
            Some(format) => Ok(format),
            None if n <= 26 => Ok(Format::Squares),
            None => Ok(Format::Columns),
        }
    }
}

impl Format {
    pub(super) fn is_json(self) -> bool {
        self == Format::Json
    }
}

/// Prints the placement with these columns, one for each row from 0 on, without holding it in memory except for
/// squares, which come in another order. JSON also has these `fields`, between N and the columns.
pub(super) fn print(
    format: Format,
    n: u32,
    columns: impl Iterator<Item = u32>,
    fields: &[(&str, u64)],
) -> Result<(), Failure> {
    output::stream(|out| match format {
        Format::Squares => squares(out, n, columns),
        Format::Columns => columns.into_iter().try_for_each(|column| {
            number(out, column + 1)?;
            out.write_all(b"\n")
        }),
        Format::Board => drawn(out, n, columns),
        Format::Json => json(out, n, columns, fields),
    })
}

/// The squares in the order of `queens list`.
fn squares(out: &mut Out, n: u32, columns: impl Iterator<Item = u32>) -> io::Result<()> {
    let mut rows = vec![0; n as usize];
    for (row, column) in (0..).zip(columns) {
        rows[column as usize] = row;
    }
    for (column, row) in (0..).zip(rows) {
        let space = if column == 0 { "" } else { " " };
        write!(out, "{space}{}", Square { column, row })?;
    }
    writeln!(out)
}

fn drawn(out: &mut Out, n: u32, columns: impl Iterator<Item = u32>) -> io::Result<()> {
    let columns: Vec<u32> = columns.collect();
    for queen in columns.into_iter().rev() {
        for column in 0..n {
            let space = if column == 0 { "" } else { " " };
            write!(out, "{space}{}", if column == queen { 'Q' } else { '.' })?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn json(
    out: &mut Out,
    n: u32,
    columns: impl Iterator<Item = u32>,
    fields: &[(&str, u64)],
) -> io::Result<()> {
    write!(out, "{{\"n\":{n}")?;
    for (name, value) in fields {
        write!(out, ",\"{name}\":{value}")?;
    }
    out.write_all(b",\"columns\":[")?;
    for (i, column) in columns.enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        number(out, column + 1)?;
    }
    out.write_all(b"]}\n")
}

/// Writes a number. The formatting of the standard library takes several times as long, and there may be
/// 10^8 numbers.
fn number(out: &mut Out, number: u32) -> io::Result<()> {
    let mut digits = [0; 10];
    let mut first = digits.len();
    let mut rest = number;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return out.write_all(&digits[first..]);
        }
    }
}
