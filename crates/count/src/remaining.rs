//! The part of a board that is left to search: some columns, some rows, and the squares that are
//! closed in them.
//!
//! If all queens so far stand in the rows above, as in the method `rows`, the remaining rows are
//! neighbours, and only the states' own masks close squares. Queens that stand elsewhere, as in
//! completions, remove rows from the search and close squares of other rows ([`Standing`]):
//!
//! ```text
//!                . . x . . .     rows[0]   step 1 (not looked at: states are those of this row)
//!                x . . . . .     rows[1]   step 1
//!   a queen ──►  Q | | | | |     not searched
//!                x . . . . .     rows[2]   step 2
//!                . x . . . .     rows[3]   step 1, closed: x
//! ```

use std::ops::Range;

use board::{Prefix, Square};

/// A row to fill. Its fields are the same for every state of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenRow {
    /// Columns that no queen may take in any state.
    pub(crate) closed: u32,
    /// The distance from the row that is filled before it, at least 1. Diagonals move by as many
    /// columns.
    pub(crate) step: u32,
}

impl OpenRow {
    /// A row directly below the one before, without closed squares.
    pub(crate) const PLAIN: OpenRow = OpenRow { closed: 0, step: 1 };
}

/// The board that is searched below some states. It has as many rows as each state has columns
/// without a queen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining<'a> {
    /// All columns. A state has taken some of them.
    pub(crate) columns: u32,
    /// The rows to fill, from the top.
    pub(crate) rows: &'a [OpenRow],
}

/// Queens that stand on a board already, as the rows to fill see them.
pub(crate) struct Standing {
    /// The columns of the board that the masks hold. The first one is bit 0.
    columns: Range<u32>,
    first_row: u32,
    /// The rows to fill, from the top.
    pub(crate) rows: Vec<OpenRow>,
    /// The columns of the queens.
    taken: u32,
}

impl Standing {
    /// These queens on a board whose rows `open` are to be filled, from the top.
    pub(crate) fn new(columns: Range<u32>, open: &[u32], queens: &[Square]) -> Standing {
        let first_row = open.first().copied().unwrap_or_default();
        let mut standing = Standing { columns, first_row, rows: Vec::new(), taken: 0 };
        let mut above = None;
        for &row in open {
            let seen = standing.state(row, queens.iter().copied());
            let step = above.replace(row).map_or(1, |above| row - above);
            standing.rows.push(OpenRow { closed: seen.left | seen.right, step });
        }
        standing.taken = standing.state(first_row, queens.iter().copied()).down;
        standing
    }

    /// The state of the first row to fill with further queens above it.
    pub(crate) fn with(&self, queens: impl Iterator<Item = Square>) -> Prefix {
        let state = self.state(self.first_row, queens);
        Prefix { down: state.down | self.taken, ..state }
    }

    /// What `row` sees of some queens.
    fn state(&self, row: u32, queens: impl Iterator<Item = Square>) -> Prefix {
        let bit = |column: u32| match self.columns.contains(&column) {
            true => 1 << (column - self.columns.start),
            false => 0,
        };
        let mut state = Prefix::EMPTY;
        for queen in queens {
            let away = row.abs_diff(queen.row);
            state.left |= bit(queen.column + away);
            state.down |= bit(queen.column);
            state.right |= queen.column.checked_sub(away).map_or(0, bit);
        }
        state
    }
}
