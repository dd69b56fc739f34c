//! One placement on any board, by direct construction.

use board::Problem;
use thiserror::Error;

use crate::Placement;

/// One placement of `n` queens, for `n` = 0, 1 and 4 to [`LARGEST`](Construction::LARGEST). It is
/// that of [`Construction::new`], which gives the column of any row without the memory for all
/// rows.
///
/// ```
/// assert_eq!(queens_solve::solve(8)?.columns(), [3, 5, 7, 1, 6, 0, 2, 4]);
/// # Ok::<(), queens_solve::ConstructError>(())
/// ```
///
/// # Errors
///
/// [`ConstructError`] for any other board.
pub fn solve(n: u32) -> Result<Placement, ConstructError> {
    Construction::new(n).map(Construction::placement)
}

/// A placement as a function of the row. Nothing is searched, and no board is held.
///
/// [`new`](Construction::new) is the construction of E. Pauls ("Das Maximalproblem der Damen auf
/// dem Schachbrete", Deutsche Schachzeitung 29, 1874), found again by E. J. Hoffman, J. C. Loessi
/// and R. C. Moore ("Constructions for the solution of the m queens problem", Mathematics Magazine
/// 42, 1969). [`mod12`](Construction::mod12) is the list by the remainder of N by 12 that
/// Wikipedia's article "Eight queens puzzle" gives: the row of the queen in each column.
///
/// ```
/// use queens_solve::Construction;
///
/// let eight = Construction::new(8)?;
/// assert_eq!(eight.columns().collect::<Vec<_>>(), [3, 5, 7, 1, 6, 0, 2, 4]);
/// let eight = Construction::mod12(8)?;
/// assert_eq!(eight.columns().collect::<Vec<_>>(), [5, 0, 4, 1, 7, 2, 6, 3]);
/// # Ok::<(), queens_solve::ConstructError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Construction {
    n: u32,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    Pauls,
    Mod12,
    Linear,
}

/// The reason why there is no construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ConstructError {
    /// Sizes 2 and 3 have no placement.
    #[error("{0} queens cannot be placed on a board of size {0}: sizes 2 and 3 have no placement")]
    NoPlacement(u32),
    /// A torus has a placement only if its size is prime to 6 (G. Pólya, in Ahrens, "Mathematische
    /// Unterhaltungen und Spiele", 1921).
    #[error(
        "{0} queens cannot be placed on a torus of size {0}: only sizes prime to 6 have a placement"
    )]
    NoToroidal(u32),
    /// The board is larger than [`Construction::LARGEST`].
    #[error("a board of size {0}: give a size of at most {max}", max = Construction::LARGEST)]
    TooLarge(u32),
}

impl Construction {
    /// The largest board: 10^8.
    pub const LARGEST: u32 = 100_000_000;

    /// Pauls' placement of `n` queens, for `n` = 0, 1 and 4 to [`LARGEST`](Construction::LARGEST).
    ///
    /// # Errors
    ///
    /// [`ConstructError`] for any other board.
    pub fn new(n: u32) -> Result<Construction, ConstructError> {
        Construction::by(Rule::Pauls, n)
    }

    /// The placement of `n` queens by the remainder of `n` by 12, for `n` = 0, 1 and 4 to
    /// [`LARGEST`](Construction::LARGEST).
    ///
    /// # Errors
    ///
    /// [`ConstructError`] for any other board.
    pub fn mod12(n: u32) -> Result<Construction, ConstructError> {
        Construction::by(Rule::Mod12, n)
    }

    /// A placement of `n` queens on a torus, where diagonals go on at the opposite edge: the column
    /// is twice the row, modulo `n`. It exists for `n` prime to 6 and for `n` = 0, up to
    /// [`LARGEST`](Construction::LARGEST).
    ///
    /// # Errors
    ///
    /// [`ConstructError`] for any other board.
    pub fn toroidal(n: u32) -> Result<Construction, ConstructError> {
        if (Problem::Toroidal { n }).is_hopeless() {
            return Err(ConstructError::NoToroidal(n));
        }
        Construction::by(Rule::Linear, n)
    }

    fn by(rule: Rule, n: u32) -> Result<Construction, ConstructError> {
        match n {
            2 | 3 => Err(ConstructError::NoPlacement(n)),
            n if n > Construction::LARGEST => Err(ConstructError::TooLarge(n)),
            n => Ok(Construction { n, rule }),
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
        match self.rule {
            Rule::Pauls => pauls(self.n, row),
            Rule::Mod12 => mod12(self.n, row),
            Rule::Linear => 2 * row % self.n,
        }
    }

    /// The columns of all rows, from row 0 on.
    pub fn columns(self) -> impl Iterator<Item = u32> + Clone {
        (0..self.n).map(move |row| self.column(row))
    }

    /// The whole placement, with four bytes for each row.
    #[must_use]
    pub fn placement(self) -> Placement {
        Placement::trusted(self.columns().collect())
    }
}

/// The column of a row, from 0. Two staircases of knight's moves fill a board of even size. They
/// leave the diagonal from a1 free, so a board of odd size is the even board one size below it with
/// a queen added in the last corner.
fn pauls(n: u32, row: u32) -> u32 {
    let even = n & !1;
    let half = even / 2;
    if row == even {
        return row;
    }
    if even % 6 != 2 {
        return if row < half { 2 * row + 1 } else { 2 * (row - half) };
    }
    // Plain staircases would attack each other here. Instead they start in the middle, and one is
    // the other one turned by half a turn.
    let stair = |row| (2 * row + half - 1) % even;
    if row < half { stair(row) } else { even - 1 - stair(even - 1 - row) }
}

/// The column of a row, from 0. The list of rows, column by column and from 1 on, has the even rows
/// in ascending order, and then the odd ones. Some remainders of N by 12 need exceptions.
fn mod12(n: u32, row: u32) -> u32 {
    let remainder = n % 12;
    let (evens, odds) = (n / 2, n.div_ceil(2));
    let place = row / 2;
    if row % 2 == 1 {
        // Row 2 may go to the end of the even ones.
        let first = u32::from(matches!(remainder, 3 | 9));
        return (place + evens - first) % evens;
    }
    evens
        + match remainder {
            // Rows 1 and 3 change places, and row 5 goes to the end.
            2 if place < 2 => 1 - place,
            2 if place == 2 => odds - 1,
            2 => place - 1,
            // Rows 1 and 3 go to the end.
            3 | 9 => (place + odds - 2) % odds,
            // Neighbours change places.
            8 => place ^ 1,
            _ => place,
        }
}

#[cfg(test)]
mod tests {
    use board::squares::Square;

    use super::*;
    use crate::{Rules, attack, is_placement};

    const RULES: [Rule; 2] = [Rule::Pauls, Rule::Mod12];

    #[test]
    fn every_board_up_to_2000_and_some_large_ones() {
        let large = (0..12).map(|i| 999_990 + i);
        for n in (0..=2000).filter(|n| ![2, 3].contains(n)).chain(large) {
            for rule in RULES {
                let construction = Construction::by(rule, n).expect("it has a placement");
                assert!(is_placement(n, construction.columns()), "N = {n}, {rule:?}");
            }
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
    fn a_torus_has_a_placement_exactly_if_its_size_is_prime_to_six() {
        for n in 0..=200 {
            match Construction::toroidal(n) {
                Ok(linear) => {
                    let queens: Vec<Square> = (0..)
                        .zip(linear.columns())
                        .map(|(row, column)| Square { column, row })
                        .collect();
                    assert_eq!(attack(n, &queens, Rules::Torus), None, "N = {n}");
                }
                Err(error) => {
                    assert_eq!(error, ConstructError::NoToroidal(n));
                    assert!(n % 2 == 0 || n % 3 == 0, "N = {n}");
                }
            }
        }
    }

    #[test]
    fn the_largest_board_does_not_overflow() {
        for n in Construction::LARGEST - 11..=Construction::LARGEST {
            let both = RULES.map(|rule| Construction::by(rule, n).expect("it has a placement"));
            for row in [0, 1, n / 2 - 1, n / 2, n / 2 + 1, n - 2, n - 1] {
                assert!(both.iter().all(|it| it.column(row) < n), "row {row} of {n}");
            }
        }
    }
}
