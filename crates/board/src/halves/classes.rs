//! Classes of the boards that a task counts, so that a part of its count can be checked alone.
//!
//! Three long diagonals are looked at. On each of them at most one queen stands, so each is in one of three
//! states: no queen stands on it, one of the upper half does, or one of the lower half does. A *class* has the
//! boards with the same three states. The 27 classes have no board in common, and each board is in one of them.
//!
//! ```text
//!   digit   diagonal i holds           the number of a class, in base 3
//!   0       no queen                       digit of diagonal 0, of diagonal 1, of diagonal 2
//!   1       one of the upper half
//!   2       one of the lower half          upper half on 0, lower half on 2:  1 0 2  =  11
//! ```
//!
//! The diagonals are the longest, in the order of the table, on which the centre row's queen of an odd board does
//! not stand. She stands on at most two, one of each direction. Columns are counted from the lowest bit, rows from
//! the top.
//!
//! ```text
//!   column - row     0            1            -1
//!   column + row          N - 1        N - 2
//! ```

use super::Split;
use crate::Prefix;

/// The number of diagonals whose states tell classes apart.
pub const CLASS_DIAGONALS: usize = 3;

/// The states of the diagonals that tell classes apart, as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(u8);

/// A diagonal of the whole board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagonal {
    /// The squares with this difference of column and row.
    Difference(i32),
    /// The squares with this sum of column and row.
    Sum(i32),
}

impl Class {
    /// The number of classes.
    pub const COUNT: usize = 3_usize.pow(CLASS_DIAGONALS as u32);

    /// All classes, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Class> {
        (0..Class::COUNT).map(|number| Class(number as u8))
    }

    /// The class with this number, if there is one.
    #[must_use]
    pub fn from_number(number: usize) -> Option<Class> {
        Class::all().nth(number)
    }

    /// Its number, less than [`COUNT`](Class::COUNT).
    #[must_use]
    pub fn number(self) -> usize {
        self.0.into()
    }

    /// The class whose upper half has queens on the diagonals `upper` and whose lower half on `lower`. The first
    /// diagonal is the highest of three bits. `None` if both halves have a queen on one of them.
    #[must_use]
    pub fn of_halves(upper: u32, lower: u32) -> Option<Class> {
        let digit = |bit: usize| (upper >> bit & 1) + 2 * (lower >> bit & 1);
        let number = (0..CLASS_DIAGONALS).rev().fold(0, |number, bit| 3 * number + digit(bit));
        (upper & lower == 0).then_some(Class(number as u8))
    }

    /// The diagonals on which the upper half has a queen, as in [`of_halves`](Class::of_halves).
    #[must_use]
    pub fn upper(self) -> u32 {
        self.having(1)
    }

    /// The diagonals on which the lower half has a queen.
    #[must_use]
    pub fn lower(self) -> u32 {
        self.having(2)
    }

    fn having(self, digit: u32) -> u32 {
        let digit_of = |bit: usize| u32::from(self.0) / 3_u32.pow(bit as u32) % 3;
        (0..CLASS_DIAGONALS).filter(|&bit| digit_of(bit) == digit).map(|bit| 1 << bit).sum()
    }
}

impl Diagonal {
    /// The diagonals that tell the classes of a task apart, on a board of size `n`.
    #[must_use]
    pub fn of_task(n: u32, split: Split) -> [Diagonal; CLASS_DIAGONALS] {
        use Diagonal::{Difference, Sum};
        let size = n as i32;
        let half = size / 2;
        let holds_centre = |diagonal: &Diagonal| {
            let column = split.centre.trailing_zeros() as i32;
            split.centre != 0
                && match *diagonal {
                    Difference(difference) => difference == column - half,
                    Sum(sum) => sum == column + half,
                }
        };
        let longest = [Difference(0), Sum(size - 1), Difference(1), Sum(size - 2), Difference(-1)];
        let mut free = longest.into_iter().filter(|diagonal| !holds_centre(diagonal));
        std::array::from_fn(|_| free.next().expect("she stands on at most two of five"))
    }

    /// The bit that a queen of the upper half on this diagonal sets in the half's state, as the row below the
    /// N/2 rows sees it.
    #[must_use]
    pub fn in_upper(self, n: u32) -> Prefix {
        let half = (n / 2) as i32;
        match self {
            Diagonal::Difference(difference) => left(half + difference),
            Diagonal::Sum(sum) => right(sum - half),
        }
    }

    /// The bit that a queen of the lower half sets in the half's state, which is placed from the lowest row
    /// upwards.
    #[must_use]
    pub fn in_lower(self, n: u32) -> Prefix {
        // Rows are counted from below.
        let (last, half) = (n as i32 - 1, (n / 2) as i32);
        match self {
            Diagonal::Difference(difference) => right(difference + last - half),
            Diagonal::Sum(sum) => left(sum - last + half),
        }
    }
}

fn left(column: i32) -> Prefix {
    Prefix { left: 1 << column, ..Prefix::EMPTY }
}

fn right(column: i32) -> Prefix {
    Prefix { right: 1 << column, ..Prefix::EMPTY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_told_by_its_halves_and_the_example_is_11() {
        for (number, class) in Class::all().enumerate() {
            assert_eq!(class.number(), number);
            assert_eq!(Class::from_number(number), Some(class));
            assert_eq!(Class::of_halves(class.upper(), class.lower()), Some(class));
        }
        assert_eq!(Class::of_halves(0b100, 0b001).map(Class::number), Some(11));
        assert_eq!(Class::of_halves(0b110, 0b010), None);
        assert_eq!(Class::from_number(Class::COUNT), None);
    }

    /// A queen of a half sets a diagonal's bit if it stands on the diagonal, and only then.
    #[test]
    fn states_have_the_bits_of_the_diagonals_that_hold_a_queen() {
        for n in [4, 5, 8, 9, 28, 29] {
            let half = n / 2;
            let centres = if n % 2 == 0 { vec![0] } else { (0..=half).map(|c| 1 << c).collect() };
            for centre in centres {
                for diagonal in Diagonal::of_task(n, Split { centre, ..Split::default() }) {
                    for (row, column) in (0..half).flat_map(|row| (0..n).map(move |c| (row, c))) {
                        let mut state = Prefix::EMPTY;
                        for placed in 0..half {
                            let queen = if placed == row { 1 << column } else { 0 };
                            state = state.place(n, queen);
                        }
                        let has =
                            |bit: Prefix| state.left & bit.left | state.right & bit.right != 0;
                        let holds = |row: u32| match diagonal {
                            Diagonal::Difference(it) => it == column as i32 - row as i32,
                            Diagonal::Sum(it) => it == (column + row) as i32,
                        };
                        assert_eq!(has(diagonal.in_upper(n)), holds(row), "{diagonal:?}, N = {n}");
                        let below = n - 1 - row;
                        assert_eq!(
                            has(diagonal.in_lower(n)),
                            holds(below),
                            "{diagonal:?}, N = {n}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_centre_rows_queen_stands_on_none_of_them() {
        for n in (5..=29).step_by(2) {
            for column in 0..=n / 2 {
                let split = Split { centre: 1 << column, ..Split::default() };
                let [column, row] = [column as i32, (n / 2) as i32];
                let diagonals = Diagonal::of_task(n, split);
                assert!(!diagonals.contains(&Diagonal::Difference(column - row)));
                assert!(!diagonals.contains(&Diagonal::Sum(column + row)));
            }
        }
    }
}
