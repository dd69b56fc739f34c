//! What is left of a board to be searched: some columns, some rows, and what is closed in them.
//!
//! Where all queens so far stand in the rows above, as in the method `rows`, the rows left are
//! neighbours and no square of them is closed but by the states' own masks. Queens that stand
//! elsewhere, as in the method `ring`, take rows out of the search and close squares of others:
//!
//! ```text
//!                . . x . . .     rows[0]   step 1 (not looked at: states are those of this row)
//!                x . . . . .     rows[1]   step 1
//!   a queen ──►  Q | | | | |     not searched
//!                x . . . . .     rows[2]   step 2
//!                . x . . . .     rows[3]   step 1, closed: x
//! ```

/// A row to fill, as every state of it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Columns that no queen may take, whatever the state.
    pub(crate) closed: u32,
    /// How far below the row that is filled before it, 1 or more: diagonals move as many columns.
    pub(crate) step: u32,
}

impl Row {
    /// The row below the one before, with nothing closed.
    pub(crate) const OPEN: Row = Row { closed: 0, step: 1 };
}

/// The search below some states: as many rows as each of them has columns without a queen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// All columns, of which states take theirs.
    pub(crate) columns: u32,
    /// The rows to fill, from the top.
    pub(crate) rows: &'a [Row],
}

impl Ground<'_> {
    /// Whether nothing is closed, and all rows are neighbours.
    pub(crate) fn is_plain(self) -> bool {
        let all_from_zero = self.columns & self.columns.wrapping_add(1) == 0;
        all_from_zero && self.rows.iter().all(|row| *row == Row::OPEN)
    }
}
