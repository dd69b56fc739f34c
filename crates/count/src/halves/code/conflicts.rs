//! Chooses the diagonals of a code by the conflicts of a sample of pairs of half-boards.
//!
//! Pairs whose codes meet are never compared, so the best code is the one on which the most pairs
//! meet. It does not consist of the diagonals on which most pairs meet, because many pairs meet on
//! several of them. Instead, each step takes the diagonal on which most of the remaining pairs
//! meet. This is the greedy solution of the maximum coverage problem. It covers at least 1 - 1/e of
//! what the best code of that size covers (Nemhauser, Wolsey and Fisher, 1978).

use std::cmp::Reverse;

use board::ones;

use crate::halves::code::diagonals::as_upper;

/// The bits on which sampled pairs of an upper and a lower half-board meet.
#[derive(Default)]
pub(crate) struct Conflicts(Vec<u64>);

impl Conflicts {
    /// Adds the conflicts of `count` pairs from all over both lists of a board of size `n`. There are
    /// none if a list is empty.
    pub(crate) fn add_sample(&mut self, n: u32, count: u64, upper: &[u64], lower: &[u64]) {
        // The fractional parts of the multiples of an irrational number are spread evenly.
        const GOLDEN_SECTION: u64 = 0x9e37_79b9_7f4a_7c15;
        const SQUARE_ROOT_OF_TWO: u64 = 0x6a09_e667_f3bc_c909;
        let at = |i: u64, step: u64, keys: &[u64]| {
            let place = (u128::from(i.wrapping_mul(step)) * keys.len() as u128) >> 64;
            keys.get(place as usize).copied().unwrap_or(0)
        };
        let pair =
            |i: u64| at(i, GOLDEN_SECTION, upper) & as_upper(n, at(i, SQUARE_ROOT_OF_TWO, lower));
        self.0.extend((1..=count).map(pair).filter(|conflict| *conflict != 0));
    }

    /// Moves `count` diagonals to the front. Each of them is the diagonal on which most of the
    /// pairs meet that do not meet on an earlier one.
    pub(crate) fn order(mut self, diagonals: &mut [u32], count: usize) {
        for i in 0..count.min(diagonals.len()) {
            let mut meetings = [0_u32; 64];
            for bit in self.0.iter().flat_map(|&conflict| ones(conflict)) {
                meetings[bit as usize] += 1;
            }
            // Among equals, the first one is taken, which was the most important one before.
            let rest = diagonals[i..].iter().enumerate();
            let (most, _) = rest
                .max_by_key(|&(place, bit)| (meetings[*bit as usize], Reverse(place)))
                .expect("there is a diagonal");
            diagonals[i..=i + most].rotate_right(1);
            let bit = diagonals[i];
            self.0.retain(|conflict| conflict >> bit & 1 == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Conflicts {
        /// The number of pairs that do not meet on any of these diagonals, but on others.
        pub(crate) fn left(&self, diagonals: &[u32]) -> usize {
            let code = diagonals.iter().fold(0, |code, bit| code | 1 << bit);
            self.0.iter().filter(|conflict| **conflict & code == 0).count()
        }
    }

    #[test]
    fn a_diagonal_whose_pairs_meet_on_another_too_is_not_important() {
        // Bits 3 and 4 have the most meetings, but the same pairs meet on both.
        let keys = [0b1_1000, 0b1_1000, 0b1_1000, 0b1_1000, 0b01, 0b01, 0b10];
        let mut diagonals = [4, 0, 1, 3];
        Conflicts(keys.to_vec()).order(&mut diagonals, 3);
        assert_eq!(diagonals, [4, 0, 1, 3]);
        let mut diagonals = [3, 4, 1, 0];
        Conflicts(keys.to_vec()).order(&mut diagonals, 2);
        assert_eq!(diagonals, [3, 0, 4, 1]);
    }

    #[test]
    fn a_sample_is_of_pairs_from_all_over() {
        let upper: Vec<u64> = (0..40).map(|i| 1 << i).collect();
        // On an odd board a diagonal is the same bit of both halves' keys, in the other mask.
        let lower = [(u64::MAX << 20).rotate_left(32); 7];
        let mut conflicts = Conflicts::default();
        conflicts.add_sample(9, 10, &[], &lower);
        assert!(conflicts.0.is_empty());
        conflicts.add_sample(9, 400, &upper, &lower);
        let all = conflicts.0.iter().fold(0, |all, conflict| all | conflict);
        assert_eq!(all, ((1 << 40) - 1) >> 20 << 20);
        assert!((190..210).contains(&conflicts.0.len()), "{}", conflicts.0.len());
    }
}
