//! Finds the lanes of a block that are open to each lower half: those of upper halves without a bit of its high part.

use std::ops::Range;

use super::buckets::Buckets;
use super::unit::{Lanes, Run};

/// The most bits of a high part.
pub(crate) const MOST_HIGH_BITS: usize = 13;

/// Which lanes of a block are open to which high parts.
pub(crate) struct Highs {
    /// The bits that all lanes have.
    common: u32,
    /// The bits that some lanes have.
    any: u32,
    /// For each bit that some lanes have and others lack, those that have it.
    having: [Lanes; MOST_HIGH_BITS],
    /// The lanes that are filled.
    filled: Lanes,
}

impl Highs {
    /// Those of a block without lanes.
    pub(crate) fn new() -> Highs {
        let having = [Lanes::NONE; MOST_HIGH_BITS];
        Highs { common: 0, any: 0, having, filled: Lanes::NONE }
    }

    /// Notes which lanes have which high parts: each of `parts` with its first lane, of `len` lanes.
    pub(crate) fn note(&mut self, parts: &[(u32, usize)], len: usize) {
        bits(self.any & !self.common).for_each(|bit| self.having[bit] = Lanes::NONE);
        self.common = parts.iter().fold(u32::MAX, |common, (high, _)| common & high);
        self.any = parts.iter().fold(0, |any, (high, _)| any | high);
        self.filled = Lanes::NONE;
        self.filled.add(0, len);
        let varying = self.any & !self.common;
        let ends = parts[1..].iter().map(|&(_, start)| start).chain([len]);
        for (&(high, start), end) in parts.iter().zip(ends) {
            bits(high & varying).for_each(|bit| self.having[bit].add(start, end));
        }
    }
}

/// The bits of `set`, the lowest first.
fn bits(set: u32) -> impl Iterator<Item = usize> {
    let some = |set: u32| (set != 0).then_some(set);
    let without_lowest = move |set: &u32| some(set & (set - 1));
    std::iter::successors(some(set), without_lowest).map(|set| set.trailing_zeros() as usize)
}

/// A walk over the lower halves of one low part, in the order of their high parts.
pub(crate) struct Walk<'a> {
    /// The lanes of the block.
    pub(crate) highs: &'a Highs,
    /// The lower halves of all low parts.
    pub(crate) lower: &'a Buckets,
    /// The low part.
    pub(crate) low: u32,
    /// The number of bits of a high part.
    pub(crate) high_bits: u32,
    /// The number of bits of a tail.
    pub(crate) tail: u32,
    /// The place of the first lower half of the low part, which is the run's word 0.
    pub(crate) first: usize,
}

/// The lower halves that have some bits on top of their high parts in common, and the lanes that have none of these.
#[derive(Clone, Copy)]
struct Node {
    /// The low part and the high part, without the bits that are not in common.
    code: u32,
    /// The number of bits that are not in common.
    bits: u32,
    open: Lanes,
}

impl Walk<'_> {
    /// Adds the runs of lower halves to which lanes are open.
    ///
    /// High parts are divided by their highest bit, then by the next one, as long as lanes differ in it.
    #[inline(always)]
    pub(crate) fn runs(&self, runs: &mut Vec<Run>) {
        let Highs { common, any, having, filled } = self.highs;
        let all = Node { code: self.low << self.high_bits, bits: self.high_bits, open: *filled };
        // Each is a part with the bit, which comes after the part without it.
        let mut left = [all; MOST_HIGH_BITS + 1];
        let mut len = 1;
        while len > 0 {
            len -= 1;
            let Node { code, mut bits, open } = left[len];
            while any & ((1 << bits) - 1) != 0 && !self.places(code, bits).is_empty() {
                bits -= 1;
                let with = code | 1 << bits;
                if common >> bits & 1 == 0 && !self.places(with, bits).is_empty() {
                    let open = open.without(&having[bits as usize]);
                    left[len] = Node { code: with, bits, open };
                    len += usize::from(open.any());
                }
            }
            let places = self.places(code, bits);
            if !places.is_empty() {
                let words = places.start - self.first..places.end - self.first;
                runs.push(Run { open, words });
            }
        }
    }

    /// The places of the lower halves whose code, without the tail, is `code` but for its lowest `bits` bits.
    #[inline(always)]
    fn places(&self, code: u32, bits: u32) -> Range<usize> {
        self.lower.places(code << self.tail..(code + (1 << bits)) << self.tail)
    }
}
