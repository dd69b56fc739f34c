//! The part of a board that is left to search: some columns, some rows, and the squares that are
//! closed in them.
//!
//! If all queens so far stand in the rows above, as in the method `rows`, the remaining rows are
//! neighbours, and only the states' own masks close squares. Queens that stand elsewhere, as in the
//! method `ring`, remove rows from the search and close squares of other rows:
//!
//! ```text
//!                . . x . . .     rows[0]   step 1 (not looked at: states are those of this row)
//!                x . . . . .     rows[1]   step 1
//!   a queen ──►  Q | | | | |     not searched
//!                x . . . . .     rows[2]   step 2
//!                . x . . . .     rows[3]   step 1, closed: x
//! ```

/// A row to fill. Its fields are the same for every state of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Columns that no queen may take in any state.
    pub(crate) closed: u32,
    /// The distance from the row that is filled before it, at least 1. Diagonals move by as many
    /// columns.
    pub(crate) step: u32,
}

impl Row {
    /// A row directly below the one before, without closed squares.
    pub(crate) const OPEN: Row = Row { closed: 0, step: 1 };
}

/// The board that is searched below some states. It has as many rows as each state has columns
/// without a queen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining<'a> {
    /// All columns. A state has taken some of them.
    pub(crate) columns: u32,
    /// The rows to fill, from the top.
    pub(crate) rows: &'a [Row],
}

impl Remaining<'_> {
    /// Whether nothing is closed, and all rows are neighbours.
    pub(crate) fn is_plain(self) -> bool {
        let all_from_zero = self.columns & self.columns.wrapping_add(1) == 0;
        all_from_zero && self.rows.iter().all(|row| *row == Row::OPEN)
    }
}
