//! Half-boards in buckets by the diagonals that are occupied most often.
//!
//! Halves whose buckets' numbers have a bit in common cannot fit, so most pairs are never compared. A
//! counting sort moves the listed half-boards into buckets. It scatters only the remaining diagonals, at
//! most 32 bits.

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
    /// One entry more than buckets. The second number of an entry is the start of its bucket. The first is
    /// where, in the bucket before, the half-boards from the first half of the list end.
    first: Vec<[u32; 2]>,
    /// The items, and [`STEP`] more at the end, whose values are unspecified.
    items: Box<[u32]>,
}

/// The number of items that are copied at a time.
const STEP: usize = 32;

impl Unsorted {
    /// An empty list with room for `room` half-boards.
    pub(crate) fn new(room: usize) -> Unsorted {
        Unsorted { codes: zeros(room), items: zeros(room), len: 0 }
    }

    /// Starts a new list.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends the half-boards with these keys, for which there is room.
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

/// Splits words into two of length `half`, and the last word if their number is odd.
fn halves(list: &[u32], half: usize) -> ((&[u32], &[u32]), &[u32]) {
    let (both, last) = list.split_at(2 * half);
    (both.split_at(half), last)
}

/// Zeros, whose pages take no memory until they are used.
fn zeros(len: usize) -> Box<[u32]> {
    vec![0; len].into_boxed_slice()
}

impl Buckets {
    /// Empty buckets, numbered by `bits` bits, with room for `room` half-boards.
    pub(crate) fn new(bits: u32, room: usize) -> Buckets {
        Buckets { first: vec![[0; 2]; (1 << bits) + 1], items: zeros(room + STEP) }
    }

    /// The half-boards of `unsorted`, with room for no more.
    pub(crate) fn of(bits: u32, unsorted: &Unsorted) -> Buckets {
        let mut buckets = Buckets::new(bits, unsorted.len());
        buckets.sort(unsorted);
        buckets
    }

    /// Replaces the contents by the half-boards of `unsorted`.
    ///
    /// Both halves of the list are processed side by side, each with its own counters. Neighbours in the list
    /// often belong to one bucket, and one would wait for the other's counter.
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
        // While half-boards are placed, the entry after a bucket's holds the places of its next ones.
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

    /// Replaces the contents by what a sieve lets through of `from`; there is room for all of it.
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
        // The sum is at most the length of the list. Checking it here and below would cost time.
        *count = count.wrapping_add(1);
    }

    fn place(&mut self, code: u32, half: usize, item: u32) {
        let next = &mut self.first[code as usize + 1][half];
        self.items[*next as usize] = item;
        *next = next.wrapping_add(1);
    }

    /// Whether there is a half-board without a diagonal in its item.
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

    /// Copies the half-boards of neighbouring buckets to `to`, and returns their number. Less than [`STEP`]
    /// items of `to` after them are overwritten.
    ///
    /// Most runs of buckets are short, so copying whole steps is faster than calling a copy function.
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
