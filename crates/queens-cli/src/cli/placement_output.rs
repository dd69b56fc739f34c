//! The output of placements by `solve` and `list`.

use clap::Args;
use solve::Notation;

use super::options::one_of;
use crate::failure::{Failure, usage};

#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// squares, permutation, columns, fen, board
    ///
    /// [default: squares; `solve` prints columns from N = 27 on]
    #[arg(short = 'o', long, value_name = "FORMAT", value_parser = one_of(NOTATIONS))]
    format: Option<Notation>,
    /// Print JSON, one object a line
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

const NOTATIONS: [(&str, Notation, &str); 5] = [
    (
        "squares",
        Notation::Squares,
        "The squares on one line, file by file: a1 b5 …; a1 is the lower left corner",
    ),
    (
        "permutation",
        Notation::Permutation,
        "The column of the queen on each rank, from 1 on, on one line: 1 5 8 …",
    ),
    ("columns", Notation::Columns, "The same numbers, a line each"),
    ("fen", Notation::Fen, "The position as in chess: 3Q4/1Q6/…; longer runs as decimal numbers"),
    (
        "board",
        Notation::Board,
        "A drawn board, rank 1 at the bottom, Q for a queen; up to N = 1000",
    ),
];

/// The largest board that is drawn: a million squares.
const LARGEST_DRAWN: u32 = 1_000;

impl FormatArgs {
    /// The chosen notation for boards of size `n`, or `usual` if none was chosen. It fails if the
    /// board is too large to be drawn.
    pub(super) fn notation(&self, n: u32, usual: Notation) -> Result<Notation, Failure> {
        match self.format {
            _ if self.json => Ok(Notation::Json),
            Some(Notation::Board) if n > LARGEST_DRAWN => usage(format!(
                "a board of size {n} is not drawn: give a size of at most {LARGEST_DRAWN}, or --format columns"
            )),
            format => Ok(format.unwrap_or(usual)),
        }
    }
}
