//! Units: the steps of the method that have an implementation for each instruction set.

use std::ops::Range;

use super::geometry::TAIL_BITS;
use super::view::View;
use super::word::{CHUNK_BITS, CHUNKS, Word};

/// The right to execute some instructions: a value exists only where the processor has them.
pub(crate) trait Unit: Copy {
    /// A view in the form in which the unit reads keys.
    type Reader;

    /// Writes the keys of the half-boards that the quarters make to the start of `keys`, and
    /// returns their number. `keys` has room for every pair and for [`PADDING`] more.
    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;

    /// Prefetches the cache lines that hold the keys of quarters.
    fn prefetch(self, _upper: Quarter<'_>, _lower: Quarter<'_>) {}

    /// Prefetches the cache lines that tell where quarters start.
    fn prefetch_starts(self, _first: &[u32], _starts: &[u16]) {}

    /// Prepares a view.
    fn reader(self, view: &View) -> Self::Reader;

    /// Replaces each key by its record.
    fn read(self, keys: &mut [u64], reader: &Self::Reader);

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

    /// Writes the word of each item.
    fn words(self, items: &[u32], words: &mut [Word]);

    /// Replaces the tables by those of `items`, a lane for each, with their tails if there are any.
    fn tabulate(self, items: &[u32; LANES], tails: Option<&[u8; LANES]>, tables: &mut Tables);

    /// Counts the pairs of a word and a lane that fit, for each run's words and open lanes.
    fn join(self, tables: &Tables, runs: &[Run], words: &[Word]) -> u64;

    /// The number of `items` that have no bit in common with `item`.
    fn count_apart(self, item: u32, items: &[u32]) -> u64;
}

/// The number of keys beyond a list's end that may be loaded as part of a vector.
pub(crate) const PADDING: usize = 8;

/// Some quarter-boards with equal columns: their keys, and [`PADDING`] more.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quarter<'a> {
    /// The number of boards.
    pub(crate) len: usize,
    /// The diagonals as the row between the quarters sees them.
    pub(crate) meet: &'a [u64],
    /// The diagonals as the row beyond the half-board sees them.
    pub(crate) far: &'a [u64],
}

/// Quarters whose half-boards are listed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pair<'a> {
    pub(crate) upper: Quarter<'a>,
    pub(crate) lower: Quarter<'a>,
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

/// The number of upper half-boards of a block, which lower ones are compared with at a time.
pub(crate) const LANES: usize = 1024;

/// A set of lanes of a block, the first lane as the lowest bit of the first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u64; LANES / 64]);

impl Lanes {
    /// No lane.
    pub(crate) const NONE: Lanes = Lanes([0; LANES / 64]);

    /// Adds the lanes `start..end`, which must not be empty.
    pub(crate) fn add(&mut self, start: usize, end: usize) {
        debug_assert!(start < end && end <= LANES, "lanes {start} to {end}");
        let (first, last) = (start / 64, (end - 1) / 64);
        for (i, word) in self.0.iter_mut().enumerate().take(last + 1).skip(first) {
            let below = if i == first { start % 64 } else { 0 };
            let above = if i == last { 63 - (end - 1) % 64 } else { 0 };
            *word |= u64::MAX << below & u64::MAX >> above;
        }
    }

    /// The lanes that are not in `other`.
    pub(crate) fn without(&self, other: &Lanes) -> Lanes {
        Lanes(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// Whether there is a lane.
    pub(crate) fn any(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) != 0
    }
}

/// Some neighbouring words, and the lanes of a block that are open to them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The open lanes.
    pub(crate) open: Lanes,
    /// The places of the words.
    pub(crate) words: Range<usize>,
}

/// The number of lanes of half a block: an entry of a table has as many, and fills a cache line.
pub(crate) const ENTRY_LANES: usize = 512;

/// The words of an entry.
pub(crate) type Entry = [u64; ENTRY_LANES / 64];

/// The entries for each value of a chunk: the lanes whose items have none of its bits.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Table(pub(crate) [Entry; 1 << CHUNK_BITS]);

/// A block of upper half-boards, as tables in which lower ones are looked up: for each chunk of an item a
/// table for each half of the lanes.
#[repr(C, align(64))]
pub(crate) struct Tables(pub(crate) [[Table; LANES / ENTRY_LANES]; CHUNKS]);

impl Tables {
    /// Tables of no half-board.
    pub(crate) fn new() -> Box<Tables> {
        let empty = Table([[0; ENTRY_LANES / 64]; 1 << CHUNK_BITS]);
        Box::new(Tables([[empty; LANES / ENTRY_LANES]; CHUNKS]))
    }

    /// Fills the tables from the lanes that have each bit of an item.
    #[inline(always)]
    pub(crate) fn fill(&mut self, chunks: usize, lanes: &[[Entry; LANES / ENTRY_LANES]]) {
        for (chunk, tables) in self.0[..chunks].iter_mut().enumerate() {
            for (half, Table(entries)) in tables.iter_mut().enumerate() {
                entries[0] = [u64::MAX; ENTRY_LANES / 64];
                for bit in 0..CHUNK_BITS as usize {
                    let Some(lanes) = lanes.get(chunk * CHUNK_BITS as usize + bit) else { break };
                    let (lesser, rest) = entries.split_at_mut(1 << bit);
                    for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                        *with = std::array::from_fn(|i| lesser[i] & !lanes[half][i]);
                    }
                }
            }
        }
    }
}

/// The lanes that have each bit of a tail.
#[inline(always)]
pub(crate) fn lanes_of_tails(
    tails: &[u8; LANES],
) -> [[Entry; LANES / ENTRY_LANES]; TAIL_BITS as usize] {
    let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; TAIL_BITS as usize];
    for (i, tails) in tails.as_chunks::<64>().0.iter().enumerate() {
        for (bit, lanes) in lanes.iter_mut().enumerate() {
            let word = &mut lanes[i * 64 / ENTRY_LANES][i % (ENTRY_LANES / 64)];
            *word = (0..64).fold(0, |word, lane| word | u64::from(tails[lane] >> bit & 1) << lane);
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::buckets::{Buckets, Sorter};
    use crate::halves::geometry::Code;
    use crate::halves::join::{Join, Lower, Upper};
    use crate::halves::lists::Kept;
    use crate::halves::memory::Room;
    use crate::halves::phases::Phases;
    use crate::halves::portable::Portable;
    use crate::halves::sum::Sum;
    use crate::halves::unsorted::Unsorted;
    use crate::halves::view;
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
            $check(Portable::<6>, 6);
            $check(Portable::<7>, 7);
            #[cfg(target_arch = "x86_64")]
            {
                let _ = Avx2::<6>::new().map(|unit| $check(unit, 6));
                let _ = Avx2::<7>::new().map(|unit| $check(unit, 7));
                let _ = Avx512::<6>::new().map(|unit| $check(unit, 6));
                let _ = Avx512::<7>::new().map(|unit| $check(unit, 7));
            }
        };
    }

    fn pairs_that_fit(upper: &[u32], lower: &[u32]) -> u64 {
        let fit = |upper: &u32| lower.iter().filter(|lower| upper & **lower == 0).count() as u64;
        upper.iter().map(fit).sum()
    }

    fn joins_like_the_definition<U: Unit>(unit: U, chunks: u32) {
        let mut random = Random(0x101);
        let mut tables = Tables::new();
        let mut all_fits = 0;
        for len in (1..=130).step_by(3) {
            let mut items = |len: usize| -> Vec<u32> {
                let mask = u32::MAX >> (32 - (chunks * CHUNK_BITS).min(32));
                (0..len).map(|_| random.sparse() as u32 & mask).collect()
            };
            let (upper, lower) = (items(LANES), items(len));
            let mut open = Lanes::NONE;
            open.add(len, len * 7);
            let mut words = vec![Word::default(); len];
            unit.words(&lower, &mut words);
            assert!(words.iter().zip(&lower).all(|(word, item)| *word == Word::of(*item)));
            unit.tabulate(upper.first_chunk().expect("it is a block"), None, &mut tables);
            let expected = pairs_that_fit(&upper[len..len * 7], &lower);
            let run = |words| Run { open, words };
            let all = [run(0..len / 3), run(len / 2..len / 2), run(len / 3..len)];
            let fits = unit.join(&tables, &all, &words);
            assert_eq!(fits, expected, "{}, {len}", std::any::type_name::<U>());
            let some = unit.join(&tables, &all[..2], &words);
            assert_eq!(some, pairs_that_fit(&upper[len..len * 7], &lower[..len / 3]));
            // Lanes of one half, of the other, and of both.
            for lanes in [0..len, 512 - len..512, 512..512 + len, LANES - len..LANES, 0..LANES] {
                let mut open = Lanes::NONE;
                open.add(lanes.start, lanes.end);
                let found = unit.join(&tables, &[Run { open, words: 0..len }], &words);
                let name = std::any::type_name::<U>();
                assert_eq!(
                    found,
                    pairs_that_fit(&upper[lanes.clone()], &lower),
                    "{name}, {lanes:?}"
                );
            }
            let item = upper[len];
            assert_eq!(unit.count_apart(item, &lower), pairs_that_fit(&[item], &lower));
            all_fits += expected;
        }
        assert!(all_fits > 1000, "nothing is compared");
    }

    #[test]
    fn every_unit_joins_like_the_definition() {
        for_every_unit!(joins_like_the_definition);
    }

    #[test]
    fn lanes_are_those_that_were_added() {
        for (start, end) in [
            (0, 1),
            (0, 63),
            (0, 64),
            (63, 65),
            (64, 128),
            (5, 700),
            (0, LANES),
            (LANES - 1, LANES),
        ] {
            let mut lanes = Lanes::NONE;
            lanes.add(start, end);
            let has = |lane: &usize| lanes.0[lane / 64] >> (lane % 64) & 1 == 1;
            assert!((0..LANES).filter(has).eq(start..end), "{start} to {end}");
            assert!(lanes.any() && !lanes.without(&lanes).any());
        }
    }

    fn counts_shares_like_the_definition<U: Unit>(unit: U, chunks: u32) {
        const ROOM: usize = 3000;
        let mut random = Random(0x404);
        let mut blocks_of_ties = 0;
        let codes = [(0, 0), (1, 0), (0, 1), (1, 2), (3, 3), (2, 7)];
        let tails = [0, if chunks == 7 { TAIL_BITS } else { 0 }];
        for (round, (low, high)) in (0..60).zip(codes.into_iter().cycle()) {
            let tail = tails[round / 3 % 2];
            let code = Code { low, high, tail };
            // The code's diagonals are bits from 7 on, the low part's first; the items' from 20 on.
            let view = |low_at, high_at| {
                let low_part = (0..low).map(|i| (7 + i, view::CODE + low_at + i));
                let high_part = (0..high).map(|i| (7 + low + i, view::CODE + high_at + i));
                let tail_part = (0..tail).map(|i| (50 + i, view::CODE + i));
                let code = low_part.chain(high_part).chain(tail_part);
                View::new(code.chain((0..20).map(|i| (20 + i, i))))
            };
            let (above, below) = (view(tail, tail + low), view(tail + high, tail));
            let used = ((1 << (low + high)) - 1) << 7 | 0xf_ffff << 20 | ((1 << tail) - 1) << 50;
            let mut keys = |len: u64| -> Vec<u64> {
                (0..random.next() % len).map(|_| random.sparse() & used).collect()
            };
            // At times no ties at all, and at times so many that they are joined in blocks.
            let ties = [1, 200, 2900][round % 3];
            let (upper, lower) = ([keys(2900), keys(ties)], [keys(300), keys(ties / 7 + 1)]);
            let list = |view: &View, keys: &[u64]| {
                let mut list = Unsorted::new(ROOM);
                let reader = unit.reader(view);
                let (some, others) = keys.split_at(keys.len() / 3);
                for keys in [some, others] {
                    // Quarters of which one has no diagonals: every pair is a half-board.
                    let none = [0; 1 + PADDING];
                    let padded = [keys, &[0; PADDING]].concat();
                    let upper = Quarter { len: 1, meet: &none, far: &none };
                    let meet = vec![0; padded.len()];
                    let lower = Quarter { len: keys.len(), meet: &meet, far: &padded };
                    list.pair(unit, &[Pair { upper, lower }]);
                    unit.read(list.keys(), &reader);
                    list.settle();
                }
                list
            };
            let sort = |view: &View, keys: &[u64]| {
                let mut buckets = Buckets::with_tails(code, ROOM);
                let mut sorter = Sorter::new(code.bits());
                sorter.sort(&list(view, &[0; 7]), &mut buckets);
                sorter.sort(&list(view, keys), &mut buckets);
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
            blocks_of_ties += u32::from(upper[1].len() >= 2 * LANES);
            let upper = Upper { whole: sort(&above, &upper[0]), ties: list(&above, &upper[1]) };
            let lower = Lower { whole: sort(&below, &lower[0]), ties: sort(&below, &lower[1]) };
            let room = Room { kept: Kept::All, whole: ROOM, ties: ROOM, shared: 0 };
            let mut join = Join::new(unit, code, room);
            let mut sorter = Sorter::new(code.bits());
            // Twice, so that what the first leaves behind is seen.
            for _ in 0..2 {
                let mut sum = Sum::default();
                let phases = &mut Phases::default();
                join.count(&upper, &lower, shares, &mut sum, &mut sorter, phases);
                let name = std::any::type_name::<U>();
                assert_eq!(sum.get(), Some(expected), "{name}, {code:?}, {ties} ties");
            }
        }
        assert!(blocks_of_ties > 0, "ties are never so many");
    }

    #[test]
    fn every_unit_counts_shares_of_ties_like_the_definition() {
        for_every_unit!(counts_shares_like_the_definition);
    }

    fn pairs_like_the_definition<U: Unit>(unit: U, _: u32) {
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

    fn leaves_out_what_is_closed<U: Unit>(unit: U, _: u32) {
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

    fn sifts_like_the_definition<U: Unit>(unit: U, _: u32) {
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

    fn reads_bit_by_bit<U: Unit>(unit: U, _: u32) {
        let mut random = Random(0x303);
        for len in 0..64 {
            let mut bits: Vec<u32> = (0..64).collect();
            bits.sort_by_cached_key(|_| random.next());
            let places = bits[..len].to_vec();
            bits.sort_by_cached_key(|_| random.next());
            let moves: Vec<(u32, u32)> = bits.into_iter().zip(places).collect();
            let view = View::new(moves.iter().copied());
            let keys: Vec<u64> = (0..97 + len).map(|_| random.next()).collect();
            let mut records = keys.clone();
            unit.read(&mut records, &unit.reader(&view));
            for (key, record) in keys.into_iter().zip(records) {
                let bit = |(bit, place): &(u32, u32)| (key >> bit & 1) << place;
                assert_eq!(record, moves.iter().map(bit).sum::<u64>());
                assert_eq!(record, view.read(key));
            }
        }
    }

    #[test]
    fn every_unit_reads_bit_by_bit() {
        for_every_unit!(reads_bit_by_bit);
    }
}
