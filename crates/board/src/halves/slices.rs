//! Slices of a task's lists, which keep the tasks of large boards short.
//!
//! The half-boards of a list are divided by the columns of their *outer* queens, those in the N/4 rows (rounded
//! down) that are nearest to the edge. The columns of a half-board's queens are numbered from 0, the lowest
//! column first, and the numbers of the outer queens' columns are added up. A slice has the half-boards whose
//! sum leaves a certain residue modulo 2 or 4.
//!
//! ```text
//!   columns of a half-board   1  4  5  6  9  13         N = 12: six rows, three of them outer
//!   their numbers             0  1  2  3  4  5
//!   outer queens' columns        4     6     13         1 + 3 + 5 = 9: residue 1 modulo 2 and 4
//! ```
//!
//! A task of a large board joins a slice of the upper list, modulo 4, with one of the lower list, modulo 2, so
//! eight tasks together count what a split counts. Smaller joins are less efficient: at N = 28 eight tasks took
//! 1.3 times as long as the whole split when they were tried, and sixteen of four by four slices twice as long.

use crate::ones;

/// The half-boards of a list that a task joins: all, or those with a residue modulo 2 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    modulus: u32,
    residue: u32,
}

impl Default for Slice {
    fn default() -> Slice {
        Slice::WHOLE
    }
}

impl Slice {
    /// All half-boards.
    pub const WHOLE: Slice = Slice { modulus: 1, residue: 0 };

    /// The slices for a modulus of 1, 2 or 4, by their residues.
    pub fn modulo(modulus: u32) -> impl Iterator<Item = Slice> {
        (0..modulus).map(move |residue| Slice { modulus, residue })
    }

    /// The slice with this code ([`code`](Slice::code)), if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Slice> {
        [1, 2, 4].into_iter().flat_map(Slice::modulo).nth(code as usize)
    }

    /// The number of slices that the list is divided into: 1, 2 or 4.
    #[must_use]
    pub fn modulus(self) -> u32 {
        self.modulus
    }

    /// Which of them this is, from 0.
    #[must_use]
    pub fn residue(self) -> u32 {
        self.residue
    }

    /// A number less than 7: the modulus less 1, plus the residue. It is 0 for the whole list.
    #[must_use]
    pub fn code(self) -> u32 {
        self.modulus - 1 + self.residue
    }

    /// Whether a half-board belongs to the slice. Its queens take `columns`, the outer ones `outer`.
    #[must_use]
    pub fn has(self, columns: u32, outer: u32) -> bool {
        let sum: u32 = (0..)
            .zip(ones(columns.into()))
            .filter(|(_, column)| outer >> column & 1 == 1)
            .map(|(number, _)| number)
            .sum();
        sum % self.modulus == self.residue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_residue_1() {
        let columns = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9 | 1 << 13;
        let outer = 1 << 4 | 1 << 6 | 1 << 13;
        for modulus in [1, 2, 4] {
            let having = Slice::modulo(modulus).filter(|slice| slice.has(columns, outer));
            assert!(having.eq([Slice { modulus, residue: 1 % modulus }]));
        }
    }

    #[test]
    fn slices_are_about_equal() {
        for half in 13..=14 {
            let outer: Vec<u32> =
                (0..1 << half).filter(|set: &u32| set.count_ones() == half / 2).collect();
            for slice in [2, 4].into_iter().flat_map(Slice::modulo) {
                let having = outer.iter().filter(|outer| slice.has(u32::MAX, **outer)).count();
                let share = f64::from(slice.modulus) * having as f64 / outer.len() as f64;
                assert!((0.96..1.04).contains(&share), "{slice:?}: {share}");
            }
        }
    }
}
