//! Queens that stand on a board already.

use std::fmt;

use crate::squares::{Square, SquaresError, check_queens};

/// Queens that stand on a board already, none attacking another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Given {
    n: u32,
    /// Column of each row's queen, or [`NO_QUEEN`].
    columns: [u8; Given::MAX_N as usize],
}

/// The column of a row without a queen.
const NO_QUEEN: u8 = u8::MAX;

impl Given {
    /// The largest board. A row of it fits in a word of 64 bits.
    pub const MAX_N: u32 = 64;

    /// These queens on a board of size `n`, at most [`MAX_N`](Given::MAX_N).
    ///
    /// # Errors
    ///
    /// [`SquaresError`], if the board is too large, a square is off it, or two queens attack each
    /// other.
    pub fn new(n: u32, queens: &[Square]) -> Result<Given, SquaresError> {
        if n > Given::MAX_N {
            return Err(SquaresError::BoardTooLarge(n));
        }
        check_queens(n, queens)?;
        let mut columns = [NO_QUEEN; Given::MAX_N as usize];
        for queen in queens {
            columns[queen.row as usize] = queen.column as u8;
        }
        Ok(Given { n, columns })
    }

    /// Board size.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    /// The queens, row by row.
    pub fn queens(&self) -> impl Iterator<Item = Square> + '_ {
        let rows = (0..self.n).zip(self.columns);
        let queens = rows.filter(|&(_, column)| column != NO_QUEEN);
        queens.map(|(row, column)| Square { column: u32::from(column), row })
    }

    /// The rows without a queen, from row 0 on.
    pub fn open_rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.n).filter(|&row| self.columns[row as usize] == NO_QUEEN)
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, queen) in self.queens().enumerate() {
            write!(f, "{}{queen}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} of N={}", self.n)
    }
}
