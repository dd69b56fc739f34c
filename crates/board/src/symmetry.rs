//! The eight symmetries of the square, and the divisors of the number of placements that follow
//! from them.

use crate::{Problem, Square};

/// One of the eight symmetries of the square: a reflection in the diagonal from a1 or no
/// reflection, followed by 0 to 3 quarter turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    reflected: bool,
    /// 0 to 3 turns, which take row 0 to the last column.
    quarter_turns: u8,
}

impl Symmetry {
    /// The reflection in the diagonal from a1, which exchanges files and ranks.
    pub const TRANSPOSITION: Symmetry = Symmetry { reflected: true, quarter_turns: 0 };

    /// All eight, the identity first, then the turns by 90, 180 and 270 degrees.
    #[must_use]
    pub fn all() -> [Symmetry; 8] {
        std::array::from_fn(|i| Symmetry { reflected: i >= 4, quarter_turns: (i % 4) as u8 })
    }

    /// The image of a square of the board of size `n`.
    ///
    /// # Panics
    ///
    /// If the square is off the board.
    #[must_use]
    pub fn image(self, n: u32, square: Square) -> Square {
        let Square { column, row } = square;
        assert!(column < n && row < n, "{square} is off the board of size {n}");
        let first = if self.reflected { Square { column: row, row: column } } else { square };
        (0..self.quarter_turns)
            .fold(first, |Square { column, row }, _| Square { column: n - 1 - row, row: column })
    }
}

/// A number that divides the number of placements, by symmetry alone; 1 if symmetry says nothing.
///
/// *On the square*, let H be the symmetries that keep the given queens, all eight if there are
/// none. H takes placements to placements, so these come in orbits of |H| / |S|, where S are the
/// symmetries that fix one of the orbit's placements. No reflection fixes a placement of two queens
/// or more: it would take a queen to one that attacks it, or all queens would stand on its axis.
/// The quarter turn fixes none unless N leaves 0 or 1 modulo 4, because it moves the queens beside
/// the centre in fours. Let F be the symmetries of H that remain: the identity and the turns that
/// can fix a placement. S is a subgroup of F, and so |H| / |F| divides the size |H| / |S| of every
/// orbit. This holds for queens that move as knights as well.
///
/// *On a torus*, the N translations of the columns and the N reflections of the columns make a
/// group of 2N for N >= 3. A translation moves every queen. A reflection takes column c to b - c;
/// for odd N only one column is its own image, so a reflection moves all queens but one. Hence no
/// orbit is smaller than 2N. For even N there are no placements (Polya, 1918).
#[must_use]
pub fn divisor(problem: &Problem) -> u32 {
    match *problem {
        Problem::Toroidal { n } => match n {
            0 | 1 => 1,
            _ => n.saturating_mul(2),
        },
        Problem::Total { n } | Problem::Fundamental { n } | Problem::Superqueens { n } => {
            on_the_square(n, &[])
        }
        Problem::Completions(given) => {
            let queens: Vec<Square> = given.queens().collect();
            on_the_square(given.n(), &queens)
        }
    }
}

/// |H| / |F| of a board of size `n` with these queens.
fn on_the_square(n: u32, queens: &[Square]) -> u32 {
    if n < 2 {
        return 1;
    }
    let keeps = |symmetry: &Symmetry| {
        queens.iter().all(|&queen| queens.contains(&symmetry.image(n, queen)))
    };
    let kept: Vec<Symmetry> = Symmetry::all().into_iter().filter(keeps).collect();
    let may_fix =
        |it: &&Symmetry| !it.reflected && (it.quarter_turns.is_multiple_of(2) || n % 4 <= 1);
    (kept.len() / kept.iter().filter(may_fix).count()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Given;
    use crate::squares::parse_squares;

    fn completions(n: u32, queens: &str) -> u32 {
        let queens = parse_squares(queens).expect("they are squares");
        divisor(&Problem::Completions(Given::new(n, &queens).expect("they can stand so")))
    }

    #[test]
    fn whole_boards_have_all_symmetries() {
        let superqueens = |n| divisor(&Problem::Superqueens { n });
        assert_eq!([0, 1, 2, 3, 4, 5, 10, 11, 12].map(superqueens), [1, 1, 4, 4, 2, 2, 4, 4, 2]);
        let toroidal = |n| divisor(&Problem::Toroidal { n });
        assert_eq!([0, 1, 5, 7].map(toroidal), [1, 1, 10, 14]);
    }

    #[test]
    fn given_queens_leave_the_symmetries_that_keep_them() {
        assert_eq!(completions(6, ""), 4);
        // Queens on no axis, on a diagonal, in the centre, and ones that the half turn exchanges.
        assert_eq!(completions(8, "b1"), 1);
        assert_eq!(completions(8, "c3"), 2);
        assert_eq!(completions(7, "d4"), 4);
        assert_eq!(completions(5, "c3"), 2);
        assert_eq!(completions(8, "b1,g8"), 1);
    }
}
