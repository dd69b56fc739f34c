//! Placements: whole boards.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use board::squares::{Square, SquaresError, check_queens};

use crate::{Notation, NotationError, QueensRead, is_placement, read_queens};

/// N queens on an N x N board, one in each row, none attacking another. It holds the column of each
/// row's queen, from row 0 on.
///
/// As text it is a permutation: the columns, counted from 1. It is read from any [`Notation`] but
/// JSON.
///
/// ```
/// use queens_solve::Placement;
///
/// let placement = Placement::new(vec![1, 3, 0, 2])?;
/// assert_eq!(placement.to_string(), "2 4 1 3");
/// assert_eq!("2 4 1 3".parse(), Ok(placement.clone()));
/// assert_eq!("b1 d2 a3 c4".parse(), Ok(placement));
/// assert!(Placement::new(vec![0, 1]).is_err());
/// # Ok::<(), queens_solve::board::SquaresError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    columns: Vec<u32>,
}

impl Placement {
    /// The placement with these columns, checked in time linear in N.
    ///
    /// # Errors
    ///
    /// The first queen that is off the board or attacks another.
    pub fn new(columns: Vec<u32>) -> Result<Placement, SquaresError> {
        let placement = Placement { columns };
        if !is_placement(placement.n(), placement.columns.iter().copied()) {
            // This check is slower, but it names the queens.
            check_queens(placement.n(), &placement.squares().collect::<Vec<_>>())?;
        }
        Ok(placement)
    }

    /// The placement with these columns, which a search or a construction has found.
    pub(crate) fn trusted(columns: Vec<u32>) -> Placement {
        Placement { columns }
    }

    /// Board size.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.columns.len() as u32
    }

    /// Column of each row's queen.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The queens' squares, row by row.
    pub fn squares(&self) -> impl ExactSizeIterator<Item = Square> + Clone {
        let rows = self.columns.iter().enumerate();
        rows.map(|(row, &column)| Square { column, row: row as u32 })
    }
}

impl Display for Placement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Notation::Permutation.of(self).fmt(f)
    }
}

impl FromStr for Placement {
    type Err = NotationError;

    /// Reads a placement in any notation but JSON. A list of squares is on a board with as many
    /// rows as squares.
    fn from_str(text: &str) -> Result<Placement, NotationError> {
        let QueensRead { n, squares: mut queens, .. } = read_queens(text)?;
        let n = n.unwrap_or(queens.len() as u32);
        check_queens(n, &queens)?;
        if queens.len() < n as usize {
            return Err(NotationError(format!(
                "{} of {n} queens are there: a placement on a board of size {n} has them all",
                queens.len()
            )));
        }
        queens.sort_unstable_by_key(|queen| queen.row);
        Ok(Placement { columns: queens.into_iter().map(|queen| queen.column).collect() })
    }
}
