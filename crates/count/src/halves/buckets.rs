//! Half-boards in buckets by the diagonals that are occupied most often.
//!
//! Halves whose buckets' numbers have a bit in common cannot fit, so that most pairs are never
//! looked at. The sort is a counting sort of what was listed, of which only the remaining diagonals,
//! up to 32 bits in a `u32`, are scattered.

use std::ops::Range;

use super::geometry::View;
use super::unit::{Sieve, Unit};

/// Half-boards as they are listed, before they are sorted.
pub(crate) struct Unsorted {
    codes: Box<[u32]>,
    items: Box<[u32]>,
    len: usize,
}

/// A list of half-boards by bucket.
pub(crate) struct Buckets {
    /// One more than buckets: in the second place, where each starts. In the first, where those
    /// half-boards of the bucket before end that came from the first half of the list.
    first: Vec<[u32; 2]>,
    /// With [`STEP`] more items at the end, which are anything.
    items: Box<[u32]>,
}

/// So many items are copied at a time.
const STEP: usize = 32;

impl Unsorted {
    /// With room for `room` half-boards.
    pub(crate) fn new(room: usize) -> Unsorted {
        Unsorted { codes: zeros(room), items: zeros(room), len: 0 }
    }

    /// Starts a new list.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Takes the half-boards with these keys, for which there is room.
    pub(crate) fn append<U: Unit>(&mut self, unit: U, keys: &[u64], view: View) {
        assert!(keys.len() <= self.room_left(), "more half-boards than there is room for");
        let range = self.len..self.len + keys.len();
        self.len = range.end;
        unit.extract(keys, view, &mut self.codes[range.clone()], &mut self.items[range]);
    }

    /// The number of half-boards.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many more half-boards there is room for.
    pub(crate) fn room_left(&self) -> usize {
        self.items.len() - self.len
    }
}

/// Twice `half` words, and the last one of an odd number.
fn halves(list: &[u32], half: usize) -> ((&[u32], &[u32]), &[u32]) {
    let (both, last) = list.split_at(2 * half);
    (both.split_at(half), last)
}

/// Pages of zeros are not there until they are used.
fn zeros(len: usize) -> Box<[u32]> {
    vec![0; len].into_boxed_slice()
}

impl Buckets {
    /// Empty buckets, numbered by `bits` bits, with room for `room` half-boards.
    pub(crate) fn new(bits: u32, room: usize) -> Buckets {
        Buckets { first: vec![[0; 2]; (1 << bits) + 1], items: zeros(room + STEP) }
    }

    /// What `unsorted` holds, with room for no more.
    pub(crate) fn of(bits: u32, unsorted: &Unsorted) -> Buckets {
        let mut buckets = Buckets::new(bits, unsorted.len());
        buckets.sort(unsorted);
        buckets
    }

    /// Holds what `unsorted` does instead of what it held.
    ///
    /// The halves of the list are taken side by side, each with its own counters: neighbours in it
    /// are often for one bucket, and each would wait for the other's counter.
    pub(crate) fn sort(&mut self, unsorted: &Unsorted) {
        let (codes, items) = (&unsorted.codes[..unsorted.len], &unsorted.items[..unsorted.len]);
        assert!(codes.len() + STEP <= self.items.len(), "more half-boards than there is room for");
        let half = codes.len() / 2;
        let ((codes, other_codes), last_code) = halves(codes, half);
        let ((items, other_items), last_item) = halves(items, half);

        self.first.fill([0; 2]);
        for (&code, &other) in codes.iter().zip(other_codes) {
            self.count(code, 0);
            self.count(other, 1);
        }
        for &code in last_code {
            self.count(code, 1);
        }
        // Until all are placed, the entry after a bucket's is where its next half-boards go.
        let mut start = 0;
        for next in self.first[1..].as_flattened_mut() {
            start += std::mem::replace(next, start);
        }
        let (ones, others) = (codes.iter().zip(items), other_codes.iter().zip(other_items));
        for ((&code, &item), (&other, &other_item)) in ones.zip(others) {
            self.place(code, 0, item);
            self.place(other, 1, other_item);
        }
        for (&code, &item) in last_code.iter().zip(last_item) {
            self.place(code, 1, item);
        }
    }

    /// Holds what a sieve lets through of `from` instead of what it held; there is room for all of it.
    pub(crate) fn sift<U: Unit>(&mut self, unit: U, from: &Buckets, sieve: Sieve) {
        let mut len = 0;
        self.first[0] = [0; 2];
        for (code, next) in (0..).zip(&mut self.first[1..]) {
            if code & sieve.codes == 0 {
                len += unit.sift(from.bucket(code), sieve, &mut self.items[len..]);
            }
            *next = [len as u32; 2];
        }
    }

    fn count(&mut self, code: u32, half: usize) {
        let count = &mut self.first[code as usize + 1][half];
        // It is at most the length of the list. Here and below a check would cost.
        *count = count.wrapping_add(1);
    }

    fn place(&mut self, code: u32, half: usize, item: u32) {
        let next = &mut self.first[code as usize + 1][half];
        self.items[*next as usize] = item;
        *next = next.wrapping_add(1);
    }

    /// Whether a half-board has no diagonal in its item.
    pub(crate) fn any_empty(&self) -> bool {
        let [.., last] = self.first.as_slice() else { return false };
        self.items[..last[1] as usize].contains(&0)
    }

    /// The half-boards of a bucket.
    pub(crate) fn bucket(&self, code: u32) -> &[u32] {
        self.buckets(code..code + 1)
    }

    /// The half-boards of neighbouring buckets.
    pub(crate) fn buckets(&self, codes: Range<u32>) -> &[u32] {
        &self.items[self.places(codes)]
    }

    /// Copies the half-boards of neighbouring buckets to `to`, and returns their number. After
    /// them, less than [`STEP`] items of `to` are overwritten.
    ///
    /// Most runs of buckets are short: to copy whole steps is faster than to call for a copy.
    pub(crate) fn copy(&self, codes: Range<u32>, to: &mut Vec<u32>, at: usize) -> usize {
        let Range { start, end } = self.places(codes);
        let len = end - start;
        let room = at + len + STEP;
        if to.len() < room {
            to.resize(room, 0);
        }
        for i in (0..len).step_by(STEP) {
            let from = &self.items[start + i..start + i + STEP];
            to[at + i..at + i + STEP].copy_from_slice(from);
        }
        len
    }

    fn places(&self, codes: Range<u32>) -> Range<usize> {
        let start = |code: u32| self.first[code as usize][1] as usize;
        start(codes.start)..start(codes.end)
    }
}
