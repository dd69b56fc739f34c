//! Placements: whole boards.

use board::squares::{Square, SquaresError, check_queens};

use crate::is_placement;

/// N queens on an N x N board, one in each row. It holds the column of each row's queen, from row 0 on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Vec<u32>", into = "Vec<u32>"))]
pub struct Placement {
    columns: Vec<u32>,
}

impl Placement {
    /// The placement with these columns. They are not checked: [`check`](Placement::check) does that.
    #[must_use]
    pub fn new(columns: Vec<u32>) -> Placement {
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
    pub fn squares(&self) -> impl Iterator<Item = Square> + '_ {
        self.columns.iter().zip(0..).map(|(&column, row)| Square { column, row })
    }

    /// Checks, in time linear in N, that all queens are on the board and none attacks another.
    ///
    /// # Errors
    ///
    /// The first queen that breaks this.
    pub fn check(&self) -> Result<(), SquaresError> {
        if is_placement(self.n(), self.columns.iter().copied()) {
            return Ok(());
        }
        // This check is slower, but it names the queens.
        check_queens(self.n(), &self.squares().collect::<Vec<_>>())
    }
}

#[cfg(feature = "serde")]
impl From<Placement> for Vec<u32> {
    fn from(placement: Placement) -> Vec<u32> {
        placement.columns
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Vec<u32>> for Placement {
    type Error = SquaresError;

    /// The placement with these columns, if no queen attacks another and all are on the board.
    fn try_from(columns: Vec<u32>) -> Result<Placement, SquaresError> {
        let placement = Placement::new(columns);
        placement.check().map(|()| placement)
    }
}
