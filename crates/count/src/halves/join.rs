//! Counts the pairs of half-boards that fit.
//!
//! The number of a bucket has two parts, `high` and `low`. For each low part of the
//! lower halves, the upper halves whose low part has no bit in common with it are streamed in the order of
//! their high parts. Every 1,024 of them are a *block*:
//!
//! ```text
//!   lower low = 01     upper buckets  high low                      lanes
//!                                      00  00, 10    -> block 0      0 .. 600
//!                                      01  00, 10    -> block 0      600 .. 1024     -> block 1      0 .. 200
//!                                      10  00, 10                                    -> block 1    200 .. 1024
//!   lower high = 10    looked up in block 0, and in lanes 0 to 200 of block 1
//! ```
//!
//! Each bit of the low part multiplies the copies of an upper half by about 1.75. A block has for
//! each chunk of five bits of an item, and each value of it, the set of lanes that have none of its bits. A
//! lower half is looked up by its chunks; the intersection of the sets is the set of lanes that fit. Lanes with a
//! bit of its high part are closed before ([`open`](super::open)), and blocks without an open lane are passed over: neighbours in the
//! order of the high parts have most of their high bits in common.
//!
//! A few half-boards are *ties*, whose pairs have another share in the sum. Tied lower halves are looked up
//! after the others of their bucket. Tied upper halves have blocks of their own, unless they are too few: then they
//! are compared one by one.

use std::ops::Range;

use super::buckets::{Buckets, STEP, Sorter};
use super::draws::{Drawn, Draws};
use super::geometry::Code;
use super::memory::Room;
use super::open::{Runs, next_subset};
use super::phases::{Phase, Phases};
use super::sum::Sum;
use super::unit::{LANES, Tables, Unit};
use super::unsorted::Unsorted;
use super::view;
use super::word::{Chunks, Word};

/// The upper halves of a split.
pub(crate) struct Upper {
    pub(crate) whole: Buckets,
    pub(crate) ties: Unsorted,
}

/// The lower halves of a split.
pub(crate) struct Lower {
    pub(crate) whole: Buckets,
    pub(crate) ties: Buckets,
}

/// How the pairs of two lists are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// How many chunks their items have.
    pub(crate) chunks: Chunks,
    /// The share of a pair of an upper half of kind `i` and a lower one of kind `j` is `shares[i][j]`, where 0 is a whole
    /// one and 1 a tie.
    pub(crate) shares: [[u64; 2]; 2],
}

/// The room to join two lists of half-boards.
pub(crate) struct Join<U: Unit> {
    unit: U,
    code: Code,
    /// For each low part, the low parts that have no bit in common with it, as runs of neighbours.
    low_runs: Vec<Vec<Range<u32>>>,
    block: Block,
    /// How many chunks of items are looked up.
    chunks: Chunks,
    tables: Box<Tables>,
    /// The lower halves of one low part: whole ones, then ties.
    words: [Words; 2],
    runs: Runs,
    /// Tied upper halves, if they are many.
    ties: Buckets,
    /// The blocks that are joined.
    pub(crate) draws: Draws,
}

/// The upper half-boards of a block.
struct Block {
    /// The items of the lanes that are filled, and room to copy more.
    items: Box<[u32; LANES + STEP]>,
    /// The number of lanes that are filled.
    len: usize,
    /// The high parts of the lanes, each with its first lane.
    parts: Vec<(u32, usize)>,
}

/// Lower half-boards of one low part, in the order of their high parts.
#[derive(Default)]
struct Words(Vec<Word>);

/// So many tied upper halves, or more, are joined in blocks. With fewer, most lanes would be empty.
const MANY_TIES: usize = 300;

impl<U: Unit> Join<U> {
    /// Room to join lists of half-boards with this code, with upper lists of the size of `room`.
    pub(crate) fn new(unit: U, code: Code, room: Room) -> Join<U> {
        Join {
            unit,
            code,
            low_runs: (0..1 << code.low).map(|taken| disjoint_runs(taken, code.low)).collect(),
            block: Block { items: Box::new([0; LANES + STEP]), len: 0, parts: Vec::new() },
            chunks: Chunks::Seven,
            tables: Tables::new(),
            words: Default::default(),
            runs: Runs::new(code.high),
            ties: Buckets::new(code.bits(), room.ties),
            draws: Draws::ALL,
        }
    }

    /// Adds the shares of all pairs that fit to `sum`. A kind's sum must be less than 2^64.
    pub(crate) fn count(
        &mut self,
        upper: &Upper,
        lower: &Lower,
        terms: Terms,
        sum: &mut Sum,
        sorter: &mut Sorter,
        phases: &mut Phases,
    ) {
        self.chunks = terms.chunks;
        let whole = self.in_blocks(&upper.whole, lower, phases);
        let ties = if upper.ties.len() >= MANY_TIES {
            let mut sorted = std::mem::replace(&mut self.ties, Buckets::new(0, 0));
            sorter.sort(&upper.ties, &mut sorted);
            let fits = self.in_blocks(&sorted, lower, phases);
            self.ties = sorted;
            fits
        } else {
            self.one_by_one(&upper.ties, lower)
        };
        phases.end(Phase::Ties);
        for (fits, shares) in [whole, ties].into_iter().zip(terms.shares) {
            for (fits, share) in fits.into_iter().zip(shares) {
                sum.add(fits * share);
            }
        }
    }

    /// The numbers of pairs that fit, with whole lower halves and with ties; estimates of them, if not all blocks
    /// are drawn.
    fn in_blocks(&mut self, upper: &Buckets, lower: &Lower, phases: &mut Phases) -> [u64; 2] {
        let Code { low: low_bits, high: high_bits } = self.code;
        let starts = upper.sorted().starts;
        let start_of = |code: u32| starts[code as usize] as usize;
        let mut fits = [0; 2];
        for low in 0..1_u32 << low_bits {
            let codes = low << high_bits..(low + 1) << high_bits;
            for (words, lower) in self.words.iter_mut().zip([&lower.whole, &lower.ties]) {
                words.take(self.unit, lower.buckets(codes.clone()));
            }
            if self.words.iter().all(|Words(words)| words.is_empty()) {
                continue;
            }
            for high in 0..1 << high_bits {
                for run in 0..self.low_runs[low as usize].len() {
                    let Range { start, end } = self.low_runs[low as usize][run];
                    let code = high << low_bits;
                    let mut places = start_of(code + start)..start_of(code + end);
                    while !places.is_empty() {
                        let end = places.end.min(places.start + self.block.room());
                        self.stream(upper, places.start..end, high);
                        places.start = end;
                        if self.block.room() == 0 {
                            self.end_block(low, lower, &mut fits, phases);
                        }
                    }
                }
            }
            if self.block.len > 0 {
                self.end_block(low, lower, &mut fits, phases);
            }
        }
        fits.map(|fits| fits * self.draws.every())
    }

    /// Fills lanes of the block with the upper halves at these places, for which there is room, if the block is drawn.
    fn stream(&mut self, upper: &Buckets, places: Range<usize>, high: u32) {
        if self.block.len == 0 {
            self.draws.begin();
        }
        match self.draws.block() {
            Drawn::Yes | Drawn::WarmsUp => self.block.fill(upper, places, high),
            Drawn::No => self.block.len += places.len(),
        }
    }

    /// Joins the block, if it is drawn, and empties it.
    fn end_block(&mut self, low: u32, lower: &Lower, fits: &mut [u64; 2], phases: &mut Phases) {
        match self.draws.block() {
            Drawn::Yes => self.join_block(low, lower, fits, phases),
            Drawn::WarmsUp => self.join_block(low, lower, &mut [0; 2], phases),
            Drawn::No => self.block.empty(),
        }
        self.draws.end();
    }

    /// Joins the block with the lower halves of the low part `low`, adds the numbers of pairs that fit to
    /// `fits`, and empties the block.
    fn join_block(&mut self, low: u32, lower: &Lower, fits: &mut [u64; 2], phases: &mut Phases) {
        let items = self.block.items.first_chunk().expect("a block has more room");
        self.unit.tabulate(self.chunks, items, &mut self.tables);
        phases.end(Phase::Blocks);
        self.runs.note(&self.block.parts, self.block.len);
        self.block.empty();
        for ((fits, lower), Words(words)) in
            fits.iter_mut().zip([&lower.whole, &lower.ties]).zip(&self.words)
        {
            if !words.is_empty() {
                self.runs.find(lower, low);
                *fits += self.unit.join(self.chunks, &self.tables, &self.runs, words);
            }
        }
        phases.end(Phase::Join);
    }

    /// The numbers of pairs that fit, with whole lower halves and with ties.
    fn one_by_one(&self, upper: &Unsorted, lower: &Lower) -> [u64; 2] {
        let Code { low: low_bits, high: high_bits } = self.code;
        let mut fits = [0; 2];
        for &record in upper.records() {
            let (code, item) = (view::code(record), view::item(record));
            let (low, high) = (code & ((1 << low_bits) - 1), code >> low_bits);
            // High parts that differ only in bits below the lowest of these are neighbours.
            let below = high.trailing_zeros().min(high_bits);
            for low in disjoint(low, low_bits) {
                for high in disjoint(high >> below, high_bits - below) {
                    let start = low << high_bits | high << below;
                    let codes = start..start + (1 << below);
                    for (fits, lower) in fits.iter_mut().zip([&lower.whole, &lower.ties]) {
                        let items = lower.buckets(codes.clone());
                        if !items.is_empty() {
                            *fits += self.unit.count_apart(item, items);
                        }
                    }
                }
            }
        }
        fits
    }
}

impl Block {
    /// The number of lanes that are not filled.
    fn room(&self) -> usize {
        LANES - self.len
    }

    /// Empties all lanes.
    fn empty(&mut self) {
        self.len = 0;
        self.parts.clear();
    }

    /// Fills lanes with the upper halves at these places, for which there is room.
    fn fill(&mut self, upper: &Buckets, places: Range<usize>, high: u32) {
        if self.parts.last().is_none_or(|last| last.0 != high) {
            self.parts.push((high, self.len));
        }
        let len = places.len();
        upper.copy(places, &mut self.items[self.len..]);
        self.len += len;
    }
}

impl Words {
    /// Replaces the contents by the half-boards with these items.
    fn take<U: Unit>(&mut self, unit: U, items: &[u32]) {
        let Words(words) = self;
        words.reserve_exact(items.len().saturating_sub(words.len()));
        words.resize(items.len(), Word::default());
        unit.words(items, words);
    }
}

/// The numbers of `bits` bits that have no bit in common with `taken`, in order.
fn disjoint(taken: u32, bits: u32) -> impl Iterator<Item = u32> {
    let free = !taken & ((1 << bits) - 1);
    let next = move |number: &u32| Some(next_subset(*number, free)).filter(|next| *next != 0);
    std::iter::successors(Some(0), next)
}

/// These numbers as runs of neighbours.
fn disjoint_runs(taken: u32, bits: u32) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for number in disjoint(taken, bits) {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_the_numbers_without_a_taken_bit_and_do_not_touch() {
        for bits in 0..=6 {
            for taken in 0..1 << bits {
                let runs = disjoint_runs(taken, bits);
                assert!(runs.is_sorted_by(|a, b| a.end < b.start));
                let expected: Vec<u32> = (0..1 << bits).filter(|code| code & taken == 0).collect();
                assert_eq!(runs.into_iter().flatten().collect::<Vec<_>>(), expected);
            }
        }
    }
}
