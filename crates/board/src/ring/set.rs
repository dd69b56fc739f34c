//! Sets of sides, as bits.

use crate::ones;

/// The most sides of a board: 31 * 30 of width 2 for N = 32.
const MOST_SIDES: usize = 930;

/// A set of sides, by their places in the list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Set([u64; MOST_SIDES.div_ceil(64)]);

impl Set {
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn contains(&self, side: usize) -> bool {
        self.0[side / 64] >> (side % 64) & 1 == 1
    }

    /// The sides that are in both sets.
    pub(super) fn and(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(super) fn remove(&mut self, side: usize) {
        self.0[side / 64] &= !(1 << (side % 64));
    }

    /// The members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = (0..).step_by(64).zip(&self.0);
        words.flat_map(|(start, &word)| ones(word).map(move |bit| start + bit as usize))
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(sides: I) -> Set {
        let mut set = Set::default();
        sides.into_iter().for_each(|side| set.0[side / 64] |= 1 << (side % 64));
        set
    }
}
