//! How the eight symmetries of the square act on placements.
//!
//! Two placements are essentially the same if a symmetry takes one to the other. Placements that
//! are essentially the same are an orbit. The size of an orbit times the number of symmetries that
//! fix one of its placements is eight. A reflection fixes no placement of more than one queen,
//! because it would take a queen to one that attacks it. There are therefore three classes of
//! placements, which W. Ahrens (*Mathematische Unterhaltungen und Spiele*, 2nd edition, 1910) calls
//! ordinary, symmetric and doubly symmetric.

pub use board::symmetry::Symmetry;

use crate::Placement;

/// The symmetry of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymmetryClass {
    /// No symmetry fixes it. Its orbit has eight placements.
    Asymmetric,
    /// The half turn fixes it, and the quarter turn does not. Its orbit has four placements.
    HalfTurn,
    /// The quarter turn fixes it. Its orbit has two placements. The boards of sizes 0 and 1 belong
    /// here too, although reflections fix them as well.
    QuarterTurn,
}

impl SymmetryClass {
    /// The name of the class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SymmetryClass::Asymmetric => "no symmetry",
            SymmetryClass::HalfTurn => "half turn",
            SymmetryClass::QuarterTurn => "quarter turn",
        }
    }
}

impl Placement {
    /// The image of the placement under a symmetry.
    #[must_use]
    pub fn image(&self, symmetry: Symmetry) -> Placement {
        let n = self.n();
        let mut columns = vec![0; n as usize];
        for square in self.squares() {
            let image = symmetry.image(n, square);
            columns[image.row as usize] = image.column;
        }
        Placement::trusted(columns)
    }

    /// The placements that are essentially the same as this one, each once, in lexicographic order
    /// of columns.
    #[must_use]
    pub fn orbit(&self) -> Vec<Placement> {
        let mut orbit = Symmetry::all().map(|symmetry| self.image(symmetry)).to_vec();
        orbit.sort_unstable();
        orbit.dedup();
        orbit
    }

    /// The least placement of the orbit, by columns from row 0 on.
    #[must_use]
    pub fn canonical(&self) -> Placement {
        self.orbit().swap_remove(0)
    }

    /// The symmetry of the placement.
    #[must_use]
    pub fn symmetry_class(&self) -> SymmetryClass {
        match self.orbit().len() {
            8 => SymmetryClass::Asymmetric,
            4 => SymmetryClass::HalfTurn,
            _ => SymmetryClass::QuarterTurn,
        }
    }
}

#[cfg(test)]
mod tests {
    use board::Square;

    use super::*;

    fn placement<const N: usize>(columns: [u32; N]) -> Placement {
        Placement::new(columns.map(|column| column - 1).to_vec()).expect("it is one")
    }

    #[test]
    fn the_eight_are_a_group_and_all_different() {
        let skew = placement([1, 5, 8, 6, 3, 7, 2, 4]);
        assert_eq!(skew.orbit().len(), 8);
        for symmetry in Symmetry::all() {
            let image = skew.image(symmetry);
            assert_eq!(Placement::new(image.columns().to_vec()), Ok(image.clone()));
            assert_eq!(image.orbit(), skew.orbit());
            assert_eq!(image.canonical(), skew.orbit()[0]);
        }
        let [_, quarter, half, ..] = Symmetry::all();
        let turned = skew.image(quarter).image(quarter);
        assert_eq!(turned, skew.image(half));
        assert_eq!(turned.columns(), [4, 6, 1, 5, 2, 0, 3, 7]);
    }

    #[test]
    #[should_panic(expected = "i1 is off the board of size 8")]
    fn a_square_off_the_board_has_no_image() {
        let _ = Symmetry::TRANSPOSITION.image(8, Square::new(8, 0));
    }
}
