//! Blocks of the build side, as tables in which probes are looked up.

use std::ops::Range;

use crate::halves::buckets::{Buckets, STEP};
use crate::halves::join::probe::{CHUNK_BITS, CHUNKS, Chunks};

/// The number of upper half-boards of a block, with which a lower one is compared at a time.
pub(crate) const LANES: usize = 1024;

/// The upper half-boards of a block.
pub(crate) struct Block {
    /// The items of the lanes that are filled, and room to copy more.
    pub(crate) items: Box<[u32; LANES + STEP]>,
    pub(crate) len: usize,
    /// The high parts of the lanes, each with its first lane.
    pub(crate) highs: Vec<(u32, usize)>,
}

impl Block {
    pub(crate) fn new() -> Block {
        Block { items: Box::new([0; LANES + STEP]), len: 0, highs: Vec::new() }
    }

    pub(crate) fn room(&self) -> usize {
        LANES - self.len
    }

    pub(crate) fn empty(&mut self) {
        self.len = 0;
        self.highs.clear();
    }

    /// Fills lanes with the upper halves at these places. There must be room for them.
    pub(crate) fn fill(&mut self, build: &Buckets, places: Range<usize>, high: u32) {
        if self.highs.last().is_none_or(|last| last.0 != high) {
            self.highs.push((high, self.len));
        }
        let len = places.len();
        build.copy(places, &mut self.items[self.len..]);
        self.len += len;
    }
}

/// A set of lanes of a block, the first lane as the lowest bit of the first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u64; LANES / 64]);

impl Lanes {
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

/// A block of upper half-boards, as tables in which lower ones are looked up. Each chunk of an item
/// has a table for each half of the lanes.
#[repr(C, align(64))]
pub(crate) struct Tables(pub(crate) [[Table; LANES / ENTRY_LANES]; CHUNKS]);

impl Tables {
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
                    let Some(lanes) = lanes.get(chunk * CHUNK_BITS as usize + bit) else {
                        break;
                    };
                    let (lesser, rest) = entries.split_at_mut(1 << bit);
                    for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                        *with = std::array::from_fn(|i| lesser[i] & !lanes[half][i]);
                    }
                }
            }
        }
    }
}
