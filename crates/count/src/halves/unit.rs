//! Units: the steps of the method that have an implementation for each instruction set.

use super::geometry::View;

/// The right to execute some instructions: a value exists only where the processor has them.
pub(crate) trait Unit: Copy {
    /// Some upper half-boards, laid out for [`join`](Unit::join) with a lane for each.
    type Block;

    /// The number of half-boards of a block.
    const LANES: usize;

    /// The number of bits of an item, at most 32.
    const ITEM_BITS: u32;

    /// The number of blocks of whole half-boards that are joined together.
    const CHOSEN: usize;

    /// Writes the keys of the half-boards that the quarters make to the start of `keys`, and
    /// returns their number. `keys` has room for every pair and for [`PADDING`] more.
    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;

    /// Prefetches the cache lines that hold quarters: the keys from the first of `keys` on, and the `starts`
    /// of their numbers.
    fn prefetch(self, _keys: &[u64], _starts: &[u16]) {}

    /// Splits each key into the number of its bucket and its item.
    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]);

    /// Moves the keys that lack a bit of `closed` to the start, and returns their number. The contents after
    /// them are unspecified.
    fn leave_out(self, keys: &mut [u64], closed: u64) -> usize {
        let mut len = 0;
        for i in 0..keys.len() {
            let key = keys[i];
            // The key is always written, and the end moves only if it stays: no branch.
            keys[len] = key;
            len += usize::from(key & closed != closed);
        }
        len
    }

    /// Writes the items of a bucket that a sieve lets through to the start of `to`, in order, and returns
    /// their number. `to` has room for all of them and for [`SIFT_PADDING`] more.
    fn sift(self, items: &[u32], sieve: Sieve, to: &mut [u32]) -> usize {
        let mut len = 0;
        for &item in items {
            to[len] = item & sieve.keep;
            len += usize::from(item < sieve.below && item & sieve.bits == 0);
        }
        len
    }

    /// Appends blocks of `items`, in their order; their number is a multiple of [`LANES`](Unit::LANES). In a
    /// block a [`FILLING`] is an item with all bits.
    fn pack(self, items: &[u32], blocks: &mut Vec<Self::Block>);

    /// The number of pairs of an upper half-board and a lower one that have no bit in common. `lower` has the
    /// items of the lower half-boards: first of those that are whole, then of the ties.
    fn join(self, upper: Meeting<'_, Self::Block>, lower: [&[u32]; 2]) -> Fits;
}

/// The number of keys beyond a list's end that may be loaded as part of a vector.
pub(crate) const PADDING: usize = 8;

/// Some quarter-boards with equal columns: their keys, and [`PADDING`] more.
#[derive(Clone, Copy)]
pub(crate) struct Quarter<'a> {
    /// The number of boards.
    pub(crate) len: usize,
    /// The diagonals as the row between the quarters sees them.
    pub(crate) meet: &'a [u64],
    /// The diagonals as the row beyond the half-board sees them.
    pub(crate) far: &'a [u64],
}

/// The number of items beyond the end of what is sifted that may be written as part of a vector.
pub(crate) const SIFT_PADDING: usize = 16;

/// Which half-boards of a sorted list are let through, and which bits of their items are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve {
    /// Half-boards of a bucket whose number has one of these bits are left out.
    pub(crate) codes: u32,
    /// Half-boards whose item has one of these bits are left out.
    pub(crate) bits: u32,
    /// Half-boards whose item is not less than this are left out.
    pub(crate) below: u32,
    /// The bits of the items that are kept.
    pub(crate) keep: u32,
}

/// The numbers of pairs that fit, indexed by the upper half and then by the lower one: 0 for a whole one, 1
/// for a tie.
pub(crate) type Fits = [[u64; 2]; 2];

/// Upper half-boards to join.
pub(crate) struct Meeting<'a, Block> {
    pub(crate) whole: &'a [Block],
    /// The places in `whole` of the blocks to join; their number is a multiple of [`CHOSEN`](Unit::CHOSEN).
    pub(crate) chosen: &'a [u32],
    pub(crate) ties: &'a [Block],
    /// The places in `ties` of the blocks to join, each with its lanes to join, the first lane as the lowest
    /// bit.
    pub(crate) open: &'a [(u32, u64)],
}

/// The item of a lane without a half-board. It has all bits, so it fits only an item without bits.
pub(crate) const FILLING: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::buckets::{Buckets, Unsorted};
    use crate::halves::join::{Join, Lower, Upper};
    use crate::halves::lists::Kept;
    use crate::halves::memory::Room;
    use crate::halves::portable::Portable;
    use crate::halves::sum::Sum;
    #[cfg(target_arch = "x86_64")]
    use crate::halves::{avx2::Avx2, avx512::Avx512};

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        /// Few bits, and often none.
        fn sparse(&mut self) -> u64 {
            (0..self.next() % 5).fold(self.next(), |bits, _| bits & self.next()) & self.next()
        }
    }

    /// Runs a check for every unit that this processor has.
    macro_rules! for_every_unit {
        ($check:ident) => {
            $check(Portable::<4>);
            $check(Portable::<5>);
            #[cfg(target_arch = "x86_64")]
            {
                let _ = Avx2::<7>::new().map($check);
                let _ = Avx2::<8>::new().map($check);
                let _ = Avx512::<4>::new().map($check);
                let _ = Avx512::<5>::new().map($check);
            }
        };
    }

    fn pairs_that_fit(upper: &[u32], lower: &[u32]) -> u64 {
        let fit = |upper: &u32| lower.iter().filter(|lower| upper & **lower == 0).count() as u64;
        upper.iter().map(fit).sum()
    }

    /// Items in blocks, which a [`FILLING`] ends.
    fn blocks<U: Unit>(unit: U, items: &[u32]) -> (Vec<u32>, Vec<U::Block>) {
        let mut filled = items.to_vec();
        filled.resize((items.len() + 1).next_multiple_of(U::LANES * U::CHOSEN), FILLING);
        let mut blocks = Vec::new();
        unit.pack(&filled, &mut blocks);
        assert_eq!(blocks.len() * U::LANES, filled.len());
        (filled, blocks)
    }

    fn joins_like_the_definition<U: Unit>(unit: U) {
        let mut random = Random(0x101);
        let name = std::any::type_name::<U>();
        let mut fits_of_ties = 0;
        for len in 0..=130 {
            let mut items = |len: u64| -> Vec<u32> {
                let mask = u32::MAX >> (32 - U::ITEM_BITS);
                (0..len).map(|_| random.sparse() as u32 & mask).collect()
            };
            let lower = [items(len), items(len * 7 % 37)];
            let (filled, whole) = blocks(unit, &items(len * 3));
            let (ties, tie_blocks) = blocks(unit, &items(len * 5 % 300));
            let chosen: Vec<u32> = (0..whole.len() as u32).rev().collect();
            let mut open_ties = Vec::new();
            let mut open = Vec::new();
            for (block, ties) in ties.chunks(U::LANES).enumerate() {
                let lanes = random.next() >> (64 - U::LANES);
                let is_open = |(lane, item)| (lanes >> lane & 1 == 1).then_some(item);
                open_ties.extend(ties.iter().enumerate().filter_map(is_open));
                open.push((block as u32, lanes));
            }
            let upper = |chosen, open| Meeting { whole: &whole, chosen, ties: &tie_blocks, open };
            let lower = [&lower[0][..], &lower[1]];
            let expected = |upper: &[u32]| lower.map(|lower| pairs_that_fit(upper, lower));
            let expected = [expected(&filled), expected(&open_ties)];
            assert!(len < 9 || expected[0][0] > 0, "nothing is compared");
            fits_of_ties += expected[1][0].min(expected[1][1]);
            assert_eq!(unit.join(upper(&chosen, &open), lower), expected, "{name}, {len}");
            let found = unit.join(upper(&[], &open), lower);
            assert_eq!(found, [[0, 0], expected[1]], "{name}, {len}");
            let found = unit.join(upper(&chosen, &[]), lower);
            assert_eq!(found, [expected[0], [0, 0]], "{name}, {len}");
        }
        assert!(fits_of_ties > 1000, "no ties are compared");
    }

    #[test]
    fn every_unit_joins_like_the_definition_empty_items_too() {
        for_every_unit!(joins_like_the_definition);
    }

    fn counts_shares_like_the_definition<U: Unit>(unit: U) {
        const ROOM: usize = 500;
        let mut random = Random(0x404);
        for (round, bits) in (0..60).zip([0, 1, 2, 3, 6, 9].into_iter().cycle()) {
            let cut = ((1 << bits) - 1) << 7;
            let view = View { rotate: 0, cut, rest: 0xf_ffff << 20 };
            let mut keys = |len: u64| -> Vec<u64> {
                (0..random.next() % len).map(|_| random.sparse() & (view.cut | view.rest)).collect()
            };
            // At times no ties at all.
            let ties = if round % 3 == 0 { 1 } else { 200 };
            let (upper, lower) = ([keys(500), keys(ties)], [keys(500), keys(ties)]);
            let list = |keys: &[u64]| {
                let mut list = Unsorted::new(ROOM);
                let (some, others) = keys.split_at(keys.len() / 3);
                list.append(unit, some, view);
                list.append(unit, others, view);
                list
            };
            let sort = |keys: &[u64]| {
                let mut buckets = Buckets::new(bits, ROOM);
                buckets.sort(&list(&[0; 7]));
                buckets.sort(&list(keys));
                buckets
            };
            let shares = [[1, 10], [100, 1000]];
            let mut expected = 0;
            for (upper, shares) in upper.iter().zip(shares) {
                for (lower, share) in lower.iter().zip(shares) {
                    let pairs = upper.iter().flat_map(|u| lower.iter().map(move |l| u & l));
                    expected += share * pairs.filter(|both| *both == 0).count() as u64;
                }
            }
            let upper = Upper { whole: sort(&upper[0]), ties: list(&upper[1]) };
            let lower = Lower { whole: sort(&lower[0]), ties: sort(&lower[1]) };
            let room = Room { kept: Kept::All, whole: ROOM, ties: ROOM, shared: 0 };
            let mut join = Join::new(unit, bits, room);
            // Twice, so that what the first leaves behind is seen.
            for _ in 0..2 {
                let mut sum = Sum::default();
                join.count(&upper, &lower, shares, &mut sum);
                assert_eq!(
                    sum.get(),
                    Some(expected),
                    "{}, {bits} bits",
                    std::any::type_name::<U>()
                );
            }
        }
    }

    #[test]
    fn every_unit_counts_shares_of_ties_like_the_definition() {
        for_every_unit!(counts_shares_like_the_definition);
    }

    fn pairs_like_the_definition<U: Unit>(unit: U) {
        let mut random = Random(0x202);
        for (upper, lower) in (0..20).flat_map(|upper| (0..20).map(move |lower| (upper, lower))) {
            // Beyond its end a quarter's keys are those of others.
            let mut keys = |len| (0..len + PADDING).map(|_| random.sparse()).collect::<Vec<u64>>();
            let (upper_meet, upper_far) = (keys(upper), keys(upper));
            let (lower_meet, lower_far) = (keys(lower), keys(lower));
            let mut expected = Vec::new();
            for (i, j) in (0..upper).flat_map(|i| (0..lower).map(move |j| (i, j))) {
                if upper_meet[i] & lower_meet[j] == 0 {
                    expected.push(upper_far[i] | lower_far[j]);
                }
            }
            let mut found = vec![0; upper * lower + PADDING];
            let upper = Quarter { len: upper, meet: &upper_meet, far: &upper_far };
            let lower = Quarter { len: lower, meet: &lower_meet, far: &lower_far };
            let len = unit.pair(upper, lower, &mut found);
            found.truncate(len);
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{}", std::any::type_name::<U>());
        }
    }

    #[test]
    fn every_unit_pairs_quarters_like_the_definition() {
        for_every_unit!(pairs_like_the_definition);
    }

    fn leaves_out_what_is_closed<U: Unit>(unit: U) {
        let mut random = Random(0x505);
        for len in 0..100 {
            let closed = 0b1011 << (len % 60);
            let mut keys: Vec<u64> = (0..len).map(|_| random.next() | random.next()).collect();
            let mut expected = keys.clone();
            expected.retain(|key| key & closed != closed);
            let found = unit.leave_out(&mut keys, closed);
            assert!(len < 50 || (1..len as usize).contains(&found));
            assert_eq!(keys[..found], expected, "{}", std::any::type_name::<U>());
        }
    }

    #[test]
    fn every_unit_leaves_out_what_is_closed() {
        for_every_unit!(leaves_out_what_is_closed);
    }

    fn sifts_like_the_definition<U: Unit>(unit: U) {
        let mut random = Random(0x606);
        for len in 0..100 {
            let items: Vec<u32> = (0..len).map(|_| random.next() as u32).collect();
            let below = (random.next() as u32).max(1 << 31);
            let sieve = Sieve { codes: 0, bits: 1 << (len % 27), below, keep: u32::MAX >> 5 };
            let lets_through = |item: &&u32| **item < below && **item & sieve.bits == 0;
            let expected: Vec<u32> =
                items.iter().filter(lets_through).map(|item| item & sieve.keep).collect();
            let mut found = vec![0; items.len() + SIFT_PADDING];
            let count = unit.sift(&items, sieve, &mut found);
            assert!(len < 50 || count > 0);
            assert_eq!(found[..count], expected, "{}", std::any::type_name::<U>());
        }
    }

    #[test]
    fn every_unit_sifts_like_the_definition() {
        for_every_unit!(sifts_like_the_definition);
    }

    fn extracts_bit_by_bit<U: Unit>(unit: U) {
        let mut random = Random(0x303);
        for rotate in [0, 32] {
            let cut = random.next() & random.next() & random.next();
            let rest = random.next() & random.next() & !cut;
            let view = View { rotate, cut, rest };
            let keys: Vec<u64> = (0..37).map(|_| random.next()).collect();
            let (mut codes, mut items) = (vec![0; keys.len()], vec![0; keys.len()]);
            unit.extract(&keys, view, &mut codes, &mut items);
            let gather = |key: u64, mask: u64| {
                let places = (0..64).filter(|place| mask >> place & 1 == 1);
                places.enumerate().map(|(i, place)| (key >> place & 1) << i).sum::<u64>() as u32
            };
            for (i, key) in keys.into_iter().enumerate() {
                let key = key.rotate_left(rotate);
                assert_eq!((codes[i], items[i]), (gather(key, cut), gather(key, rest)));
            }
        }
    }

    #[test]
    fn every_unit_extracts_bit_by_bit() {
        for_every_unit!(extracts_bit_by_bit);
    }
}
