//! One placement on any board, by direct construction.

use thiserror::Error;

/// A placement as a function of the row. Nothing is searched, and no board is held.
///
/// The construction of E. Pauls ("Das Maximalproblem der Damen auf dem Schachbrete", Deutsche
/// Schachzeitung 29, 1874), found again by E. J. Hoffman, J. C. Loessi and R. C. Moore
/// ("Constructions for the solution of the m queens problem", Mathematics Magazine 42, 1969). Two
/// staircases of knight's moves fill a board of even size. They leave the diagonal from a1 free, so a board
/// of odd size is the even board one size below it with a queen added in the last corner.
///
/// ```
/// use queens_solve::Construction;
///
/// let eight = Construction::new(8)?;
/// assert_eq!(eight.columns().collect::<Vec<_>>(), [3, 5, 7, 1, 6, 0, 2, 4]);
/// # Ok::<(), queens_solve::ConstructError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Construction {
    n: u32,
}

/// Why there is no construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConstructError {
    /// Sizes 2 and 3 have no placement.
    #[error("{0} queens cannot be placed on a board of size {0}: sizes 2 and 3 have no placement")]
    NoPlacement(u32),
    /// The board is larger than [`Construction::LARGEST`].
    #[error("a board of size {0}: give a size of at most {max}", max = Construction::LARGEST)]
    TooLarge(u32),
}

impl Construction {
    /// The largest board: 10^8.
    pub const LARGEST: u32 = 100_000_000;

    /// The placement of `n` queens, for `n` = 0, 1 and 4 to [`LARGEST`](Construction::LARGEST).
    ///
    /// # Errors
    ///
    /// [`ConstructError`] for any other board.
    pub fn new(n: u32) -> Result<Construction, ConstructError> {
        match n {
            2 | 3 => Err(ConstructError::NoPlacement(n)),
            n if n > Construction::LARGEST => Err(ConstructError::TooLarge(n)),
            n => Ok(Construction { n }),
        }
    }

    /// Board size.
    #[must_use]
    pub fn n(self) -> u32 {
        self.n
    }

    /// The column of the queen in `row`, both counted from 0, in constant time.
    ///
    /// # Panics
    ///
    /// If `row` is not below N.
    #[must_use]
    pub fn column(self, row: u32) -> u32 {
        assert!(row < self.n, "row {row} of a board of size {}", self.n);
        let even = self.n & !1;
        let half = even / 2;
        if row == even {
            return row;
        }
        if even % 6 != 2 {
            return if row < half { 2 * row + 1 } else { 2 * (row - half) };
        }
        // Plain staircases would attack each other here. Instead they start in the middle, and one is the
        // other one turned by half a turn.
        let stair = |row| (2 * row + half - 1) % even;
        if row < half { stair(row) } else { even - 1 - stair(even - 1 - row) }
    }

    /// The columns of all rows, from row 0 on.
    pub fn columns(self) -> impl Iterator<Item = u32> + Clone {
        (0..self.n).map(move |row| self.column(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_placement;

    #[test]
    fn every_board_up_to_2000_and_some_large_ones() {
        let large = (0..12).map(|i| 999_990 + i);
        for n in (0..=2000).filter(|n| ![2, 3].contains(n)).chain(large) {
            let construction = Construction::new(n).expect("it has a placement");
            assert!(is_placement(n, construction.columns()), "N = {n}");
        }
    }

    #[test]
    fn boards_without_a_placement_and_beyond_the_largest_are_refused() {
        assert_eq!(Construction::new(2), Err(ConstructError::NoPlacement(2)));
        assert_eq!(Construction::new(3), Err(ConstructError::NoPlacement(3)));
        let beyond = Construction::LARGEST + 1;
        assert_eq!(Construction::new(beyond), Err(ConstructError::TooLarge(beyond)));
    }

    #[test]
    fn the_largest_board_does_not_overflow() {
        for n in Construction::LARGEST - 11..=Construction::LARGEST {
            let construction = Construction::new(n).expect("it has a placement");
            for row in [0, 1, n / 2 - 1, n / 2, n / 2 + 1, n - 2, n - 1] {
                assert!(construction.column(row) < n, "row {row} of {n}");
            }
        }
    }
}
