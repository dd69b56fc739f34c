//! Units: the steps of the method that have an implementation for each instruction set.

use super::buckets::STEP;
use super::open::Runs;
use super::sift::{Passed, Sieve};
use super::view::View;
use super::word::{CHUNK_BITS, CHUNKS, Chunks, Word};

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

    /// Writes the items that a sieve lets through to the start of `to`, in order, if they may pass, and notes
    /// which did. `to` has room for all of them and for a group more.
    fn sift(self, groups: &[[u32; STEP]], sieve: Sieve, passed: &mut Passed, to: &mut [u32]) {
        let mut len = 0;
        let Passed { through, before } = passed;
        for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
            *before = len as u32;
            let may = std::mem::take(through);
            let to = to[len..].first_chunk_mut::<STEP>().expect("room for all and a group");
            let mut passed = 0;
            for (i, &item) in items.iter().enumerate() {
                // The item is always written, and the end moves only if it passes: no branch.
                to[passed % STEP] = item & sieve.keep;
                let passes =
                    u16::from(item <= sieve.most) & u16::from(item & sieve.bits == 0) & may >> i;
                *through |= passes << i;
                passed += usize::from(passes);
            }
            len += passed;
        }
        before[groups.len()] = len as u32;
    }

    /// Writes for the first of every `step` places how many items before it passed.
    fn ranks(self, places: &[u32], step: usize, passed: &Passed, ranks: &mut [u32]) {
        for (rank, &place) in ranks.iter_mut().zip(places.iter().step_by(step)) {
            *rank = passed.rank(place);
        }
    }

    /// Writes the word of each item.
    fn words(self, items: &[u32], words: &mut [Word]);

    /// Replaces the tables by those of `items`, a lane for each. Chunks that are not looked up may have any
    /// tables.
    fn tabulate(self, chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);

    /// Counts the pairs of a word and a lane that fit, for each run's words and open lanes.
    fn join(self, chunks: Chunks, tables: &Tables, runs: &Runs, words: &[Word]) -> u64;

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
    #[inline(always)]
    pub(crate) fn without(&self, other: &Lanes) -> Lanes {
        Lanes(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }
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
    pub(crate) fn fill(&mut self, chunks: Chunks, lanes: &[[Entry; LANES / ENTRY_LANES]]) {
        let used = match chunks {
            Chunks::Six => 6,
            Chunks::Seven => 7,
        };
        for (chunk, tables) in self.0[..used].iter_mut().enumerate() {
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

#[cfg(test)]
mod tests;
