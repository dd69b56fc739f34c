//! Half-boards in buckets by the diagonals that are occupied most often.
//!
//! Halves whose buckets' numbers have a bit in common cannot fit, so that most pairs are never
//! looked at. The sort is a counting sort: bucket numbers are counted while half-boards are listed,
//! and then the remaining diagonals, up to 31 bits in a `u32`, are scattered.

use std::ops::Range;

use super::geometry::View;
use super::unit::Unit;

/// Half-boards as they are listed, before they are sorted.
pub(crate) struct Unsorted {
    codes: Box<[u32]>,
    items: Box<[u32]>,
    len: usize,
}

/// A list of half-boards by bucket.
pub(crate) struct Buckets {
    /// One more than buckets: where each starts.
    first: Vec<u32>,
    items: Box<[u32]>,
}

impl Unsorted {
    /// With room for `room` half-boards.
    pub(crate) fn new(room: usize) -> Unsorted {
        Unsorted { codes: zeros(room), items: zeros(room), len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn room_left(&self) -> usize {
        self.items.len() - self.len
    }

    pub(crate) fn append<U: Unit>(&mut self, unit: U, keys: &[u64], view: View) {
        let range = self.len..self.len + keys.len();
        unit.extract(keys, view, &mut self.codes[range.clone()], &mut self.items[range.clone()]);
        self.len = range.end;
    }
}

/// Pages of zeros are not there until they are used.
fn zeros(len: usize) -> Box<[u32]> {
    vec![0; len].into_boxed_slice()
}

impl Buckets {
    /// Empty buckets, numbered by `bits` bits, with room for `room` half-boards.
    pub(crate) fn new(bits: u32, room: usize) -> Buckets {
        Buckets { first: vec![0; (1 << bits) + 1], items: zeros(room) }
    }

    /// Sorts what was appended.
    pub(crate) fn sort(&mut self, unsorted: &Unsorted) {
        let Unsorted { codes, items, len } = unsorted;
        self.first.fill(0);
        for &code in &codes[..*len] {
            self.first[code as usize + 1] += 1;
        }
        let mut start = 0;
        for next in &mut self.first[1..] {
            start += std::mem::replace(next, start);
        }
        // Until all are placed, the entry after a bucket's is where its next half-board goes.
        for (&code, &item) in codes[..*len].iter().zip(&items[..*len]) {
            let next = &mut self.first[code as usize + 1];
            self.items[*next as usize] = item;
            *next += 1;
        }
    }

    /// The half-boards of a bucket.
    pub(crate) fn bucket(&self, code: u32) -> &[u32] {
        self.buckets(code..code + 1)
    }

    /// The half-boards of neighbouring buckets.
    pub(crate) fn buckets(&self, codes: Range<u32>) -> &[u32] {
        let start = self.first[codes.start as usize];
        let end = self.first[codes.end as usize];
        &self.items[start as usize..end as usize]
    }
}

/// The upper half-boards of a task.
pub(crate) struct Upper {
    pub(crate) whole: Buckets,
    pub(crate) ties: Unsorted,
}

/// The lower half-boards of a task.
pub(crate) struct Lower {
    pub(crate) whole: Buckets,
    pub(crate) ties: Buckets,
}
