//! How many placements of each symmetry there are, and how many essentially different ones.

use std::ops::ControlFlow;

use thiserror::Error;

use crate::unique::unique;

/// The placements of a board by their symmetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Board size.
    pub n: u32,
    /// Q: all placements.
    pub total: u128,
    /// P: those that the half turn fixes, quarter turns or not.
    pub half_turn: u128,
    /// R: those that the quarter turn fixes.
    pub quarter_turn: u128,
    /// Orbits of eight: no symmetry.
    pub orbits_of_8: u128,
    /// Orbits of four: the half turn, no quarter turn.
    pub orbits_of_4: u128,
    /// Orbits of two: the quarter turn.
    pub orbits_of_2: u128,
    /// Orbits of one: the boards of sizes 0 and 1 only.
    pub orbits_of_1: u128,
    /// F: all orbits, that is, essentially different placements.
    pub fundamental: u128,
}

/// Numbers that cannot be those of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{total} placements of {n} queens, {half_turn} of them fixed by the half turn and {quarter_turn} \
     by the quarter turn: that makes no whole number of orbits, so that one of them is wrong"
)]
pub struct CensusError {
    n: u32,
    total: u128,
    half_turn: u128,
    quarter_turn: u128,
}

impl Census {
    /// From the placements `total` and those that the half turn and the quarter turn fix, by
    /// Burnside's lemma: 8F = Q + P + 2R for `n` >= 2, where reflections fix none.
    ///
    /// # Errors
    ///
    /// [`CensusError`] where orbits of eight, four and two cannot come to these numbers.
    pub fn from_counts(
        n: u32,
        total: u128,
        half_turn: u128,
        quarter_turn: u128,
    ) -> Result<Census, CensusError> {
        let wrong = CensusError { n, total, half_turn, quarter_turn };
        if n < 2 {
            let only = (total, half_turn, quarter_turn) == (1, 1, 1);
            return if only { Ok(Census::from_orbits(n, [0, 0, 0, 1])) } else { Err(wrong) };
        }
        let orbits = |more: u128, fewer: u128, size: u128| {
            let placements = more.checked_sub(fewer).ok_or(wrong)?;
            if placements % size == 0 { Ok(placements / size) } else { Err(wrong) }
        };
        let of_8 = orbits(total, half_turn, 8)?;
        let of_4 = orbits(half_turn, quarter_turn, 4)?;
        let of_2 = orbits(quarter_turn, 0, 2)?;
        Ok(Census::from_orbits(n, [of_8, of_4, of_2, 0]))
    }

    /// By the direct search for one placement of each orbit; `n` is at most
    /// [`UNIQUE_MAX`](crate::UNIQUE_MAX), and beyond 18 or so it takes more than minutes.
    ///
    /// # Panics
    ///
    /// If it is more.
    #[must_use]
    pub fn by_search(n: u32) -> Census {
        let [mut of_8, mut of_4, mut of_2, mut of_1] = [0_u128; 4];
        let _: ControlFlow<()> = unique(n, |_, size| {
            match size {
                8 => of_8 += 1,
                4 => of_4 += 1,
                2 => of_2 += 1,
                _ => of_1 += 1,
            }
            ControlFlow::Continue(())
        });
        Census::from_orbits(n, [of_8, of_4, of_2, of_1])
    }

    /// From the numbers of orbits of 8, 4, 2 and 1.
    fn from_orbits(n: u32, orbits: [u128; 4]) -> Census {
        let [orbits_of_8, orbits_of_4, orbits_of_2, orbits_of_1] = orbits;
        let quarter_turn = 2 * orbits_of_2 + orbits_of_1;
        let half_turn = 4 * orbits_of_4 + quarter_turn;
        Census {
            n,
            total: 8 * orbits_of_8 + half_turn,
            half_turn,
            quarter_turn,
            orbits_of_8,
            orbits_of_4,
            orbits_of_2,
            orbits_of_1,
            fundamental: orbits.iter().sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_orbits_are_refused() {
        let eight = Census::from_counts(8, 92, 4, 0).expect("they are those of the chessboard");
        assert_eq!((eight.orbits_of_8, eight.orbits_of_4, eight.fundamental), (11, 1, 12));
        for (total, half_turn, quarter_turn) in [(93, 4, 0), (92, 5, 0), (92, 4, 1), (0, 4, 0)] {
            let error = Census::from_counts(8, total, half_turn, quarter_turn);
            assert!(error.expect_err("they are not").to_string().contains("one of them is wrong"));
        }
        assert!(Census::from_counts(1, 2, 1, 1).is_err());
    }
}
