//! The method in plain Rust, for every processor.

use std::hint::black_box;

use crate::halves::join::build::{ENTRY_LANES, Entry, LANES, Table, Tables};
use crate::halves::join::open::Runs;
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::quarters::Quarter;
use crate::halves::units::Unit;

#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Unit for Portable {
    fn prefetch(self, upper: Quarter<'_>, lower: Quarter<'_>) {
        touch::<2>(upper.meet);
        touch::<2>(upper.far);
        touch::<4>(lower.meet);
        touch::<4>(lower.far);
    }

    fn tabulate(self, chunks: Chunks, items: &[u32; LANES], tables: &mut Tables) {
        let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; u32::BITS as usize];
        for (pair, items) in items.as_chunks::<128>().0.iter().enumerate() {
            let (half, word) = (pair * 128 / ENTRY_LANES, pair * 2 % (ENTRY_LANES / 64));
            for (lanes, column) in lanes.iter_mut().zip(transposed(items)) {
                lanes[half][word..word + 2].copy_from_slice(&column);
            }
        }
        tables.fill(chunks, &lanes);
    }

    /// Looks up one probe after the other, in one half of the lanes after the other.
    fn look_up<const USED: usize>(self, tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64 {
        let mut counter = Counter::default();
        for half in 0..LANES / ENTRY_LANES {
            let tables: [&Table; USED] = std::array::from_fn(|i| &tables.0[i][half]);
            for run in runs.with_half(half) {
                let open = &runs.open(run).0.as_chunks().0[half];
                for probes in probes[run.probes()].chunks(2 * MOST_SUMS) {
                    counter.add(open, tables, probes);
                }
            }
        }
        counter.sum()
    }
}

pub(super) fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    pair_in_rounds!(upper, lower, keys, 1)
}

pub(super) fn count_apart(item: u32, items: &[u32]) -> u64 {
    // There are fewer than 2^32 items in a list. The compiler would not use vectors for a checked
    // sum.
    let apart = items.iter().map(|other| u32::from(item & other == 0));
    u64::from(apart.fold(0, u32::wrapping_add))
}

/// Loads `LINES` cache lines from the start of `keys`, or fewer if there are fewer. The language
/// has no prefetch, but a processor that executes out of order does not wait for a load whose value
/// is not needed.
#[inline(always)]
fn touch<const LINES: usize>(keys: &[u64]) {
    const LINE_KEYS: usize = 8;
    for line in 0..LINES {
        black_box(keys.get(line * LINE_KEYS).copied());
    }
}

/// Compares `BOARDS` lower quarters from `start` on with every upper quarter.
fn pair_held<const BOARDS: usize>(
    upper: Quarter<'_>,
    lower: Quarter<'_>,
    start: usize,
    keys: &mut [u64],
) -> usize {
    let meet: &[u64; BOARDS] = lower.meet[start..].first_chunk().expect("so many quarters");
    let far: &[u64; BOARDS] = lower.far[start..].first_chunk().expect("so many quarters");
    let mut len = 0;
    for (&upper_meet, &upper_far) in upper.meet[..upper.len].iter().zip(upper.far) {
        let keys: &mut [u64; BOARDS] = keys[len..].first_chunk_mut().expect("room for every pair");
        let mut boards = 0;
        for i in 0..BOARDS {
            // The key is always written, and the end moves only if it is a half-board. This avoids
            // a branch.
            keys[boards] = upper_far | far[i];
            boards += usize::from(upper_meet & meet[i] == 0);
        }
        len += boards;
    }
    len
}

/// The bits of 128 items by place: bit `i` of item `k` becomes bit `k` of words `i`.
fn transposed(items: &[u32; 128]) -> [Pair; 32] {
    // The halves of each word of these are squares of 32 by 32 bits.
    let mut squares: [Pair; 32] = std::array::from_fn(|i| {
        each(|word| {
            let items = &items[64 * word..64 * word + 64];
            u64::from(items[i]) | u64::from(items[i + 32]) << 32
        })
    });
    exchange::<16>(&mut squares, 0x0000_ffff_0000_ffff);
    exchange::<8>(&mut squares, 0x00ff_00ff_00ff_00ff);
    exchange::<4>(&mut squares, 0x0f0f_0f0f_0f0f_0f0f);
    exchange::<2>(&mut squares, 0x3333_3333_3333_3333);
    exchange::<1>(&mut squares, 0x5555_5555_5555_5555);
    squares
}

/// Exchanges squares of `SIZE` by `SIZE` bits with those beyond the diagonal. `lower` has the lower
/// `SIZE` bits of each two times `SIZE` bits.
#[inline(always)]
fn exchange<const SIZE: usize>(squares: &mut [Pair; 32], lower: u64) {
    for i in (0..32).filter(|i| i & SIZE == 0) {
        let (a, b) = (squares[i], squares[i + SIZE]);
        let changed: Pair = each(|word| (a[word] >> SIZE ^ b[word]) & lower);
        squares[i] = each(|word| a[word] ^ changed[word] << SIZE);
        squares[i + SIZE] = each(|word| b[word] ^ changed[word]);
    }
}

/// The open lanes that have none of the bits of a probe.
#[inline(always)]
fn fits<const USED: usize>(open: &Entry, tables: [&Table; USED], probe: Probe) -> Entry {
    let entries: [&Entry; USED] = std::array::from_fn(|i| &tables[i].0[probe.byte(i) / 8]);
    std::array::from_fn(|i| entries.iter().fold(open[i], |lanes, entry| lanes & entry[i]))
}

/// Two words, which most processors compute at a time.
type Pair = [u64; 2];

/// Counts the bits of entries.
///
/// Carry-save additions keep the lower digits of the counts of all places side by side, so that
/// only one pair of words in eight has its bits counted (Harley and Seal; Warren, Hacker's Delight,
/// section 5-1).
#[derive(Default)]
struct Counter {
    ones: Pair,
    twos: Pair,
    fours: Pair,
    eights: u64,
}

/// The number of times that bytes of up to eight bits may be added.
const MOST_SUMS: usize = u8::MAX as usize / 8;

impl Counter {
    /// Looks these probes up, at most two times [`MOST_SUMS`].
    #[inline(always)]
    fn add<const USED: usize>(&mut self, open: &Entry, tables: [&Table; USED], probes: &[Probe]) {
        let (twos, rest) = probes.as_chunks();
        let mut bytes = Pair::default();
        for [a, b] in twos {
            let fours_1 = self.add_entry(fits(open, tables, *a));
            let fours_2 = self.add_entry(fits(open, tables, *b));
            let (fours, eights) = carry_save(self.fours, fours_1, fours_2);
            self.fours = fours;
            // The additions are unchecked, because each word would need its own check.
            bytes = each(|i| bytes[i].wrapping_add(bits_of_bytes(eights[i])));
        }
        if let [probe] = rest {
            let fours_1 = self.add_entry(fits(open, tables, *probe));
            let eights: Pair = each(|i| self.fours[i] & fours_1[i]);
            self.fours = each(|i| self.fours[i] ^ fours_1[i]);
            bytes = each(|i| bytes[i].wrapping_add(bits_of_bytes(eights[i])));
        }
        self.eights += sum_of_bytes(bytes[0]) + sum_of_bytes(bytes[1]);
    }

    /// Adds an entry to the ones and twos, and returns the fours that are carried.
    #[inline(always)]
    fn add_entry(&mut self, entry: Entry) -> Pair {
        let [a, b, c, d] = std::array::from_fn(|i| [entry[2 * i], entry[2 * i + 1]]);
        let (ones, twos_1) = carry_save(self.ones, a, b);
        let (ones, twos_2) = carry_save(ones, c, d);
        let (twos, fours) = carry_save(self.twos, twos_1, twos_2);
        (self.ones, self.twos) = (ones, twos);
        fours
    }

    /// The number of bits of all entries.
    fn sum(self) -> u64 {
        let count = |pair: Pair| u64::from(pair[0].count_ones() + pair[1].count_ones());
        count(self.ones) + 2 * count(self.twos) + 4 * count(self.fours) + 8 * self.eights
    }
}

/// The lower and the upper bit of the sum of three bits, in each place.
#[inline(always)]
fn carry_save(a: Pair, b: Pair, c: Pair) -> (Pair, Pair) {
    let odd: Pair = each(|i| a[i] ^ b[i]);
    (each(|i| odd[i] ^ c[i]), each(|i| a[i] & b[i] | odd[i] & c[i]))
}

#[inline(always)]
fn each(word: impl FnMut(usize) -> u64) -> Pair {
    std::array::from_fn(word)
}

/// The number of bits of each byte. Without an instruction for this, a processor is faster this way
/// than with the language's function, because both words of a pair are counted at a time.
#[inline(always)]
fn bits_of_bytes(word: u64) -> u64 {
    let pairs = word.wrapping_sub(word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333).wrapping_add(pairs >> 2 & 0x3333_3333_3333_3333);
    fours.wrapping_add(fours >> 4) & 0x0f0f_0f0f_0f0f_0f0f
}

fn sum_of_bytes(word: u64) -> u64 {
    word.to_le_bytes().into_iter().map(u64::from).sum()
}
