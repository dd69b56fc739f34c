//! Divides a set of columns between an upper and a lower quarter in every way.

use board::full_mask;

use crate::halves::quarters::numbering::Columns;

/// The columns of a set, by their ranks in it.
pub(crate) struct Ranked {
    set: u32,
    half: u32,
    /// The columns for each choice of the lowest ranks, and of the others.
    low: [u32; 1 << LOW_RANKS],
    high: [u32; 1 << LOW_RANKS],
}

const LOW_RANKS: u32 = 7;

impl Ranked {
    pub(crate) fn new(set: u32, half: u32) -> Ranked {
        let mut columns = set;
        let mut table = |ranks: u32| {
            let mut table = [0; 1 << LOW_RANKS];
            for rank in 0..ranks {
                let bit = columns & columns.wrapping_neg();
                columns ^= bit;
                let (lesser, rest) = table.split_at_mut(1 << rank);
                for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                    *with = lesser | bit;
                }
            }
            table
        };
        let low = table(half.min(LOW_RANKS));
        let high = table(half.saturating_sub(LOW_RANKS));
        Ranked { set, half, low, high }
    }

    /// The columns of the upper quarter, whose ranks are the bits of `choice`, and the columns of
    /// the lower quarter.
    #[inline]
    pub(crate) fn split(&self, choice: u32) -> (Columns, Columns) {
        let low = self.low[(choice & ((1 << LOW_RANKS) - 1)) as usize];
        let above = Columns { set: low | self.high[(choice >> LOW_RANKS) as usize], ranks: choice };
        (above, Columns { set: self.set ^ above.set, ranks: full_mask(self.half) ^ choice })
    }
}
