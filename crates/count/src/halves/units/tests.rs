//! Compares every unit of the processor with the definition of each step.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::halves::buckets::{Buckets, Sorter};
use crate::halves::by_size::CodeBits;
use crate::halves::code::view;
use crate::halves::code::view::{Reader, View};
use crate::halves::draws::Draws;
use crate::halves::join::build::{ENTRY_LANES, LANES, Lanes, Tables};
use crate::halves::join::open::Runs;
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::join::{Join, Side};
use crate::halves::lists::records::Records;
use crate::halves::quarters::{PADDING, Pair, Quarter};
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::units::Unit;
use crate::halves::units::portable::Portable;
#[cfg(target_arch = "aarch64")]
use crate::neon::Neon;
#[cfg(target_arch = "x86_64")]
use crate::{avx2::Avx2, avx512::Avx512};

/// A word with few bits, and often with none.
fn sparse(random: &mut StdRng) -> u64 {
    let some = (0..random.next_u64() % 5).fold(u64::MAX, |bits, _| bits & random.next_u64());
    some & random.next_u64() & random.next_u64()
}

/// Makes a test of each check, for every unit that this processor has.
macro_rules! every_unit {
    ($($check:ident)*) => {
        mod every_unit {
            $(
                #[test]
                fn $check() {
                    for chunks in [super::Chunks::Six, super::Chunks::Seven] {
                        super::$check(super::Portable, chunks);
                        #[cfg(target_arch = "aarch64")]
                        let _ = super::Neon::new().map(|unit| super::$check(unit, chunks));
                        #[cfg(target_arch = "x86_64")]
                        {
                            let _ = super::Avx2::new().map(|unit| super::$check(unit, chunks));
                            let avx512 = super::Avx512::<u32>::new();
                            let _ = avx512.map(|unit| super::$check(unit, chunks));
                        }
                    }
                }
            )*
        }
    };
}

every_unit! {
    joins_like_the_definition
    adds_up_probes_that_fit_everything
    counts_ties_apart_like_the_definition
    pairs_like_the_definition
    leaves_out_what_is_closed
    filters_like_the_definition
    reads_bit_by_bit
}

fn pairs_that_fit(upper: &[u32], lower: &[u32]) -> u64 {
    let fit = |upper: &u32| lower.iter().filter(|lower| upper & **lower == 0).count() as u64;
    upper.iter().map(fit).sum()
}

fn joins_like_the_definition<U: Unit>(unit: U, chunks: Chunks) {
    let mut random = StdRng::seed_from_u64(0x101);
    let mut tables = Tables::new();
    let mut all_fits = 0;
    for len in (1..=130).step_by(3) {
        let mut items = |len: usize| -> Vec<u32> {
            let mask = if chunks == Chunks::Six { u32::MAX >> 2 } else { u32::MAX };
            (0..len).map(|_| sparse(&mut random) as u32 & mask).collect()
        };
        let (upper, lower) = (items(LANES), items(len));
        let mut open = Lanes::NONE;
        open.add(len, len * 7);
        let mut probes = vec![Probe::default(); len];
        unit.to_probes(&lower, &mut probes);
        assert!(probes.iter().zip(&lower).all(|(probe, item)| *probe == Probe::of(*item)));
        let block = upper.first_chunk().expect("it is a block");
        unit.tabulate(chunks, block, &mut tables);
        let expected = pairs_that_fit(&upper[len..len * 7], &lower);
        let all = [(open, 0..len / 3), (open, len / 2..len / 2), (open, len / 3..len)];
        let fits = unit.probe(chunks, &tables, &Runs::of(&all), &probes);
        assert_eq!(fits, expected, "{}, {len}", std::any::type_name::<U>());
        let some = unit.probe(chunks, &tables, &Runs::of(&all[..2]), &probes);
        assert_eq!(some, pairs_that_fit(&upper[len..len * 7], &lower[..len / 3]));
        // These are lanes of the first half, of the second half, and of both.
        for lanes in [0..len, 512 - len..512, 512..512 + len, LANES - len..LANES, 0..LANES] {
            let mut open = Lanes::NONE;
            open.add(lanes.start, lanes.end);
            let runs = Runs::of(&[(open, 0..len)]);
            let of_first = usize::from(lanes.start < ENTRY_LANES);
            let halves = of_first | usize::from(lanes.end > ENTRY_LANES) << 1;
            assert_eq!(runs.with(halves).len(), 1, "{lanes:?}");
            let found = unit.probe(chunks, &tables, &runs, &probes);
            let name = std::any::type_name::<U>();
            assert_eq!(found, pairs_that_fit(&upper[lanes.clone()], &lower), "{name}, {lanes:?}");
        }
        let item = upper[len];
        assert_eq!(unit.count_apart(item, &lower), pairs_that_fit(&[item], &lower));
        all_fits += expected;
    }
    assert!(all_fits > 1000, "nothing is compared");
}

/// The counts are as large as possible when no item has a bit.
fn adds_up_probes_that_fit_everything<U: Unit>(unit: U, chunks: Chunks) {
    const PROBES: usize = 5000;
    let mut tables = Tables::new();
    unit.tabulate(chunks, &[0; LANES], &mut tables);
    let probes = [Probe::default(); PROBES];
    for lanes in [0..LANES, 0..ENTRY_LANES, ENTRY_LANES..LANES, LANES - 1..LANES] {
        let mut open = Lanes::NONE;
        open.add(lanes.start, lanes.end);
        for len in (0..10).chain([61, 62, 63, 64, PROBES]) {
            let runs = Runs::of(&[(open, 0..len)]);
            let found = unit.probe(chunks, &tables, &runs, &probes);
            assert_eq!(found, (len * lanes.len()) as u64, "{}", std::any::type_name::<U>());
        }
    }
    assert_eq!(unit.count_apart(u32::MAX, &[0; 299]), 299);
}

/// Adds the half-boards with these keys to a list.
fn add<U: Unit>(unit: U, view: &View, keys: &[u64], list: &mut Records) {
    // One of the two quarters has no diagonals, so every pair is a half-board.
    let none = [0; 1 + PADDING];
    let padded = [keys, &[0; PADDING]].concat();
    let upper = Quarter { len: 1, meet: &none, far: &none };
    let meet = vec![0; padded.len()];
    let lower = Quarter { len: keys.len(), meet: &meet, far: &padded };
    list.pair(unit, &[Pair { upper, lower }]);
    unit.read(&Reader::new(*view), list.keys());
    list.settle();
}

fn counts_ties_apart_like_the_definition<U: Unit>(unit: U, chunks: Chunks) {
    const ROOM: usize = 3000;
    let mut random = StdRng::seed_from_u64(0x404);
    let mut blocks_of_ties = 0;
    let codes = [(0, 0), (1, 0), (0, 1), (1, 2), (3, 3), (2, 7)];
    for (round, (low, high)) in (0..60).zip(codes.into_iter().cycle()) {
        let bits = CodeBits { low, high };
        // The code's diagonals are the bits from 7 on, those of the low part first. The items'
        // diagonals are the bits from 20 on.
        let view = |low_at, high_at| {
            let low_part = (0..low).map(|i| (7 + i, view::CODE + low_at + i));
            let high_part = (0..high).map(|i| (7 + low + i, view::CODE + high_at + i));
            let code = low_part.chain(high_part);
            View::new(code.chain((0..20).map(|i| (20 + i, i))))
        };
        let (above, below) = (view(0, low), view(high, 0));
        let used = ((1 << (low + high)) - 1) << 7 | 0xf_ffff << 20;
        let mut keys = |len: u64| -> Vec<u64> {
            (0..random.next_u64() % len).map(|_| sparse(&mut random) & used).collect()
        };
        // Some rounds have no ties at all, and some have so many that they are joined in blocks.
        let ties = [1, 200, 2900][round % 3];
        let (upper, lower) = ([keys(2900), keys(ties)], [keys(300), keys(ties / 7 + 1)]);
        let list = |view: &View, keys: &[u64]| {
            let mut list = Records::new(ROOM);
            let (some, others) = keys.split_at(keys.len() / 3);
            for keys in [some, others] {
                add(unit, view, keys, &mut list);
            }
            list
        };
        let sort = |view: &View, keys: &[u64]| {
            let mut buckets = Buckets::new(bits.sum(), ROOM);
            let mut sorter = Sorter::new(bits.sum());
            sorter.sort(list(view, &[0; 7]).as_slice(), &mut buckets);
            sorter.sort(list(view, keys).as_slice(), &mut buckets);
            buckets
        };
        let expected = [&upper[0], &upper[1]].map(|upper| {
            [&lower[0], &lower[1]].map(|lower| {
                let pairs = upper.iter().flat_map(|u| lower.iter().map(move |l| u & l));
                pairs.filter(|both| *both == 0).count() as u64
            })
        });
        blocks_of_ties += u32::from(upper[1].len() >= 2 * LANES);
        let build = Side { whole: sort(&above, &upper[0]), ties: sort(&above, &upper[1]) };
        let probe = Side { whole: sort(&below, &lower[0]), ties: sort(&below, &lower[1]) };
        let mut join = Join::new(unit, bits);
        // The second round shows whether the first one has left anything behind.
        for _ in 0..2 {
            let fits = join.count(&build, &probe, chunks, &mut { Draws::ALL });
            let name = std::any::type_name::<U>();
            assert_eq!(fits, expected, "{name}, {bits:?}, {ties} ties");
        }
    }
    assert!(blocks_of_ties > 0, "ties are never so many");
}

fn pairs_like_the_definition<U: Unit>(unit: U, _: Chunks) {
    let mut random = StdRng::seed_from_u64(0x202);
    // There are up to two rounds of lower quarters, as many as any unit holds at a time.
    for (upper, lower) in (0..20).flat_map(|upper| (0..70).map(move |lower| (upper, lower))) {
        // The keys after the end of a quarter belong to others.
        let mut keys = |len| (0..len + PADDING).map(|_| sparse(&mut random)).collect::<Vec<u64>>();
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

fn leaves_out_what_is_closed<U: Unit>(unit: U, _: Chunks) {
    let mut random = StdRng::seed_from_u64(0x505);
    for len in 0..100 {
        let closed = 0b1011 << (len % 60);
        let mut keys: Vec<u64> = (0..len).map(|_| random.next_u64() | random.next_u64()).collect();
        let mut expected = keys.clone();
        expected.retain(|key| key & closed != closed);
        let found = unit.leave_out(&mut keys, closed);
        assert!(len < 50 || (1..len as usize).contains(&found));
        assert_eq!(keys[..found], expected, "{}", std::any::type_name::<U>());
    }
}

fn filters_like_the_definition<U: Unit>(unit: U, _: Chunks) {
    const BITS: u32 = 3;
    const ROOM: usize = 700;
    let mut random = StdRng::seed_from_u64(0x606);
    let mut passed = Passed::default();
    let mut all = 0;
    let view = View::new((0..32 + BITS).map(|bit| (bit, bit)));
    // The lists end within a group and at its end. Buckets are closed alone and with others.
    for len in (0..150).chain([ROOM]) {
        let keys: Vec<u64> = (0..len).map(|_| random.next_u64() & view.used).collect();
        let mut list = Records::new(ROOM);
        add(unit, &view, &keys, &mut list);
        let merged = len as u32 % 3;
        let mut sorted = Buckets::new(BITS, len);
        let mut filtered = Buckets::new(BITS - merged, ROOM);
        Sorter::new(BITS).sort(list.as_slice(), &mut sorted);
        // The limit is often an item's own value, and this item passes.
        let limit = keys.last().map_or(0, |key| view::item(*key));
        let filter = Filter {
            numbers: len as u32 % (1 << BITS),
            bits: 1 << (len % 27),
            most: limit.max(1 << 31),
            keep: u32::MAX >> 5,
            merged,
        };
        filtered.filter(unit, sorted.sorted(), filter, &mut passed);
        for code in 0..1 << (BITS - merged) {
            let of_code = code << merged..(code + 1) << merged;
            let open = of_code.filter(|code| code & filter.numbers == 0);
            let items = open.flat_map(|code| sorted.buckets(code..code + 1));
            let through = items.filter(|item| **item <= filter.most && **item & filter.bits == 0);
            let expected: Vec<u32> = through.map(|item| item & filter.keep).collect();
            let name = std::any::type_name::<U>();
            assert_eq!(filtered.buckets(code..code + 1), expected, "{name}, {len}, {code}");
            all += expected.len();
        }
    }
    assert!(all > 1000, "nothing is let through");
}

fn reads_bit_by_bit<U: Unit>(unit: U, _: Chunks) {
    let mut random = StdRng::seed_from_u64(0x303);
    for len in 0..64 {
        let mut bits: Vec<u32> = (0..64).collect();
        bits.sort_by_cached_key(|_| random.next_u64());
        let places = bits[..len].to_vec();
        bits.sort_by_cached_key(|_| random.next_u64());
        let moves: Vec<(u32, u32)> = bits.into_iter().zip(places).collect();
        let view = View::new(moves.iter().copied());
        let keys: Vec<u64> = (0..97 + len).map(|_| random.next_u64()).collect();
        let mut records = keys.clone();
        unit.read(&Reader::new(view), &mut records);
        for (key, record) in keys.into_iter().zip(records) {
            let bit = |(bit, place): &(u32, u32)| (key >> bit & 1) << place;
            assert_eq!(record, moves.iter().map(bit).sum::<u64>());
            assert_eq!(record, view.read(key));
        }
    }
}
