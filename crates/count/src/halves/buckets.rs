//! Half-boards in buckets by the diagonals that are occupied most often.
//!
//! An upper and a lower half whose bucket numbers have a bit in common cannot fit, so most pairs
//! are never compared. A counting sort moves the listed half-boards into buckets. It moves only the
//! remaining diagonals, at most 32 bits.

use std::ops::Range;

use crate::halves::code::view;

/// A list of half-boards by bucket.
pub(crate) struct Buckets {
    /// The start of each bucket, and the end of the last one.
    pub(crate) first: Vec<u32>,
    /// The items, and [`STEP`] more at the end, whose values are unspecified.
    pub(crate) items: Box<[u32]>,
}

/// The half-boards of a list by bucket, in whatever memory they are kept.
#[derive(Clone, Copy)]
pub(crate) struct Sorted<'a> {
    pub(crate) starts: &'a [u32],
    /// The items, and at least [`STEP`] more at the end, whose values are unspecified.
    pub(crate) items: &'a [u32],
}

pub(crate) struct Sorter {
    bits: u32,
    /// The place where each stream puts the next half-board of each bucket.
    next: Vec<u32>,
}

/// The most buckets into which [`MANY`] streams are sorted. With more, their counters would leave
/// the cache.
const FEW_BUCKETS: usize = 1 << 10;

/// The number of streams that are sorted side by side into few buckets.
const MANY: usize = 8;

/// The number of streams that are sorted side by side into many buckets.
const SOME: usize = 2;

/// The number of items that are copied at a time.
pub(crate) const STEP: usize = 16;

impl Sorter {
    /// A sorter into buckets that are numbered by `bits` bits.
    pub(crate) fn new(bits: u32) -> Sorter {
        Sorter { bits, next: vec![0; streams(bits) << bits] }
    }

    /// The bytes of a sorter into buckets whose numbers have this many bits.
    pub(crate) fn bytes(bits: u32) -> u64 {
        (4 * streams(bits) as u64) << bits
    }

    /// Replaces the contents of `buckets` by the half-boards with these records.
    pub(crate) fn sort(&mut self, records: &[u64], buckets: &mut Buckets) {
        if streams(self.bits) == MANY {
            self.sort_streams::<MANY>(records, buckets);
        } else {
            self.sort_streams::<SOME>(records, buckets);
        }
    }

    /// Sorts parts of the list side by side, each with its own counters. Neighbours in the list
    /// often belong to one bucket, and one would wait for the counter of the other.
    fn sort_streams<const STREAMS: usize>(&mut self, records: &[u64], buckets: &mut Buckets) {
        let Buckets { first, items, .. } = buckets;
        assert!(records.len() + STEP <= items.len(), "more half-boards than there is room for");
        let next = self.next.as_chunks_mut::<STREAMS>().0;
        let len = records.len() / STREAMS;
        let streams: [&[u64]; STREAMS] = std::array::from_fn(|i| &records[i * len..(i + 1) * len]);
        let rest = &records[STREAMS * len..];

        next.fill([0; STREAMS]);
        let mut count = |record: u64, stream: usize| {
            let count = &mut next[view::bucket(record) as usize][stream];
            // The sum is at most the length of the list. Checking it here and below would cost
            // time.
            *count = count.wrapping_add(1);
        };
        for i in 0..len {
            streams.iter().enumerate().for_each(|(stream, records)| count(records[i], stream));
        }
        rest.iter().for_each(|&record| count(record, STREAMS - 1));

        let mut start = 0;
        for (first, next) in first.iter_mut().zip(next.iter_mut()) {
            *first = start;
            next.iter_mut().for_each(|next| start += std::mem::replace(next, start));
        }
        if let Some(end) = first.last_mut() {
            *end = start;
        }

        let mut place = |record: u64, stream: usize| {
            let next = &mut next[view::bucket(record) as usize][stream];
            items[*next as usize] = view::item(record);
            *next = next.wrapping_add(1);
        };
        for i in 0..len {
            streams.iter().enumerate().for_each(|(stream, records)| place(records[i], stream));
        }
        rest.iter().for_each(|&record| place(record, STREAMS - 1));
    }
}

/// The number of parts of a list that are sorted side by side.
fn streams(bits: u32) -> usize {
    if 1 << bits <= FEW_BUCKETS { MANY } else { SOME }
}

impl Buckets {
    /// Empty buckets, numbered by `bits` bits, with room for `room` half-boards.
    pub(crate) fn new(bits: u32, room: usize) -> Buckets {
        Buckets { first: vec![0; (1 << bits) + 1], items: vec![0; room + STEP].into_boxed_slice() }
    }

    /// The bytes of buckets whose numbers have this many bits, without their half-boards.
    pub(crate) fn bytes(bits: u32) -> u64 {
        4 << bits
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted().len()
    }

    pub(crate) fn clear(&mut self) {
        self.first.fill(0);
    }

    pub(crate) fn sorted(&self) -> Sorted<'_> {
        Sorted { starts: &self.first, items: &self.items }
    }

    /// The half-boards of neighbouring buckets.
    pub(crate) fn buckets(&self, numbers: Range<u32>) -> &[u32] {
        &self.items[self.sorted().places(numbers)]
    }

    /// All half-boards, each with the number of its bucket.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &u32)> {
        let numbers = 0..self.sorted().numbers();
        numbers.flat_map(|number| {
            self.buckets(number..number + 1).iter().map(move |item| (number, item))
        })
    }

    /// Copies the half-boards with these places to the start of `to`. Less than [`STEP`] items
    /// after them are overwritten.
    ///
    /// Most runs of buckets are short, so copying whole steps is faster than calling a copy
    /// function.
    pub(crate) fn copy(&self, places: Range<usize>, to: &mut [u32]) {
        for i in (0..places.len()).step_by(STEP) {
            let from = &self.items[places.start + i..places.start + i + STEP];
            to[i..i + STEP].copy_from_slice(from);
        }
    }
}

impl Sorted<'_> {
    /// The number of half-boards.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().map_or(0, |len| *len as usize)
    }

    /// The number of buckets.
    pub(crate) fn numbers(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// All items in groups. The last group may continue beyond the list's end.
    pub(crate) fn groups(&self) -> &[[u32; STEP]] {
        &self.items.as_chunks().0[..self.len().div_ceil(STEP)]
    }

    /// The places of the half-boards of neighbouring buckets.
    #[inline(always)]
    pub(crate) fn places(&self, numbers: Range<u32>) -> Range<usize> {
        let start = |number: u32| self.starts[number as usize] as usize;
        start(numbers.start)..start(numbers.end)
    }
}
