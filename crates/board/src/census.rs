//! How many placements of each symmetry there are, and how many essentially different ones.

use thiserror::Error;

/// The placements of a board by their symmetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Census {
    /// Board size.
    pub n: u32,
    /// Q: the number of placements.
    pub total: u128,
    /// P: the number of placements that the half turn fixes; the quarter turn may fix them too.
    pub half_turn: u128,
    /// R: the number of placements that the quarter turn fixes.
    pub quarter_turn: u128,
    /// Orbits of eight placements: no symmetry fixes them.
    pub orbits_of_8: u128,
    /// Orbits of four placements: the half turn fixes them, the quarter turn does not.
    pub orbits_of_4: u128,
    /// Orbits of two placements: the quarter turn fixes them.
    pub orbits_of_2: u128,
    /// Orbits of one placement: only the boards of sizes 0 and 1 have one.
    pub orbits_of_1: u128,
    /// F: the number of orbits, that is, of essentially different placements.
    pub fundamental: u128,
}

/// Numbers of placements that no board can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error(
    "{total} placements of {n} queens, {half_turn} of them fixed by the half turn and {quarter_turn} \
     by the quarter turn: they do not make whole orbits, so that one of the numbers is wrong"
)]
pub struct CensusError {
    n: u32,
    total: u128,
    half_turn: u128,
    quarter_turn: u128,
}

impl Census {
    /// The census of a board of size `n` with `total` placements. The half turn fixes `half_turn`
    /// of them, and the quarter turn `quarter_turn`. By Burnside's lemma 8F = Q + P + 2R for `n` >=
    /// 2, because reflections fix none.
    ///
    /// ```
    /// let chessboard = queens_board::Census::from_counts(8, 92, 4, 0)?;
    /// assert_eq!(chessboard.fundamental, 12);
    /// # Ok::<(), queens_board::CensusError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CensusError`], if no numbers of orbits of eight, four and two give these numbers.
    pub fn from_counts(
        n: u32,
        total: u128,
        half_turn: u128,
        quarter_turn: u128,
    ) -> Result<Census, CensusError> {
        let wrong = CensusError { n, total, half_turn, quarter_turn };
        let orbits = |more: u128, fewer: u128, size: u128| {
            let placements = more.checked_sub(fewer).ok_or(wrong)?;
            if placements % size == 0 { Ok(placements / size) } else { Err(wrong) }
        };
        let orbits = match (total, half_turn, quarter_turn) {
            (1, 1, 1) if n < 2 => [0, 0, 0, 1],
            _ if n < 2 => return Err(wrong),
            _ => [
                orbits(total, half_turn, 8)?,
                orbits(half_turn, quarter_turn, 4)?,
                orbits(quarter_turn, 0, 2)?,
                0,
            ],
        };
        let [orbits_of_8, orbits_of_4, orbits_of_2, orbits_of_1] = orbits;
        Ok(Census {
            n,
            total,
            half_turn,
            quarter_turn,
            orbits_of_8,
            orbits_of_4,
            orbits_of_2,
            orbits_of_1,
            fundamental: orbits.iter().sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_whole_orbits_are_refused() {
        let eight = Census::from_counts(8, 92, 4, 0).expect("they are those of the chessboard");
        assert_eq!((eight.orbits_of_8, eight.orbits_of_4, eight.fundamental), (11, 1, 12));
        for (total, half_turn, quarter_turn) in [(93, 4, 0), (92, 5, 0), (92, 4, 1), (0, 4, 0)] {
            let error = Census::from_counts(8, total, half_turn, quarter_turn);
            assert!(
                error
                    .expect_err("they make none")
                    .to_string()
                    .contains("one of the numbers is wrong")
            );
        }
        assert!(Census::from_counts(1, 2, 1, 1).is_err());
    }
}
