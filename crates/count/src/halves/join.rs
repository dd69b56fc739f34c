//! Counts the pairs of half-boards that fit.
//!
//! This is a hash join in which two half-boards fit if they have no bit in common. The upper
//! half-boards are its *build side*, which is tabulated in blocks. The lower ones are its *probe
//! side*, which is looked up.
//!
//! The number of a bucket has two parts, `high` and `low`. For each low part of the probes, the
//! upper halves whose low part has no bit in common with it are streamed in the order of their high
//! parts. Every 1,024 of them are a *block*:
//!
//! ```text
//!   probes' low = 01     buckets to build   high low      lanes of block 0   lanes of block 1
//!                                            00  00, 10      0 .. 600
//!                                            01  00, 10    600 .. 1024           0 .. 200
//!                                            10  00, 10                        200 .. 1024
//!   probes' high = 10    looked up in block 0, and in lanes 0 to 200 of block 1
//! ```
//!
//! Each bit of the low part multiplies the copies of an upper half by about 1.75. An item is
//! divided into chunks of five bits. For each chunk and each of its values, a block has the set of
//! lanes that have none of the value's bits. A lower half is looked up by its chunks. The
//! intersection of the sets is the set of lanes that fit. Lanes with a bit of its high part are
//! closed before ([`open`]). Blocks without an open lane are passed over: neighbours in the order
//! of the high parts have most of their high bits in common.
//!
//! A few half-boards are *ties*, whose pairs have another share in the sum. Tied lower halves are
//! looked up after the others of their bucket. Tied upper halves have blocks of their own. If there
//! are too few of them, they are compared one by one instead.

pub(crate) mod build;
pub(crate) mod open;
pub(crate) mod probe;

use std::ops::Range;

use crate::halves::buckets::Buckets;
use crate::halves::by_size::CodeBits;
use crate::halves::draws::{Drawn, Draws};
use crate::halves::join::build::{Block, Tables};
use crate::halves::join::open::{Runs, next_subset};
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::units::Unit;

/// The half-boards of one side of the join, those of the build side or of the probe side.
pub(crate) struct Side {
    pub(crate) whole: Buckets,
    pub(crate) ties: Buckets,
}

/// The room to join two lists of half-boards.
pub(crate) struct Join<U: Unit> {
    unit: U,
    bits: CodeBits,
    /// The low parts that have no bit in common with each low part, as runs of neighbours.
    low_runs: Vec<Vec<Range<u32>>>,
    block: Block,
    /// The number of chunks of items that are looked up.
    chunks: Chunks,
    tables: Box<Tables>,
    /// The probes of one low part: first those that are not ties, then the ties.
    probes: [Vec<Probe>; 2],
    runs: Runs,
}

/// The smallest number of tied upper halves that are joined in blocks. With fewer, most lanes would
/// be empty.
const MANY_TIES: usize = 300;

impl<U: Unit> Join<U> {
    pub(crate) fn new(unit: U, bits: CodeBits) -> Join<U> {
        Join {
            unit,
            bits,
            low_runs: (0..1 << bits.low).map(|taken| disjoint_runs(taken, bits.low)).collect(),
            block: Block::new(),
            chunks: Chunks::Seven,
            tables: Tables::new(),
            probes: Default::default(),
            runs: Runs::new(bits.high),
        }
    }

    /// The numbers of pairs that fit: `fits[upper is a tie][lower is a tie]`. They are estimates if
    /// not all blocks are drawn.
    pub(crate) fn count(
        &mut self,
        build: &Side,
        probe: &Side,
        chunks: Chunks,
        draws: &mut Draws,
    ) -> [[u64; 2]; 2] {
        self.chunks = chunks;
        let whole = self.in_blocks(&build.whole, probe, draws);
        let ties = if build.ties.len() >= MANY_TIES {
            self.in_blocks(&build.ties, probe, draws)
        } else {
            self.one_by_one(&build.ties, probe)
        };
        [whole, ties]
    }

    /// The numbers of pairs that fit: first with lower halves that are not ties, then with ties.
    fn in_blocks(&mut self, build: &Buckets, probe: &Side, draws: &mut Draws) -> [u64; 2] {
        let CodeBits { low: low_bits, high: high_bits } = self.bits;
        let starts = build.sorted().starts;
        let start_of = |number: u32| starts[number as usize] as usize;
        let mut fits = [0; 2];
        for low in 0..1_u32 << low_bits {
            let numbers = low << high_bits..(low + 1) << high_bits;
            for (probes, side) in self.probes.iter_mut().zip([&probe.whole, &probe.ties]) {
                take(self.unit, side.buckets(numbers.clone()), probes);
            }
            if self.probes.iter().all(Vec::is_empty) {
                continue;
            }
            for high in 0..1 << high_bits {
                for run in 0..self.low_runs[low as usize].len() {
                    let Range { start, end } = self.low_runs[low as usize][run];
                    let first = high << low_bits;
                    let mut places = start_of(first + start)..start_of(first + end);
                    while !places.is_empty() {
                        let end = places.end.min(places.start + self.block.room());
                        self.stream(build, places.start..end, high, draws);
                        places.start = end;
                        if self.block.room() == 0 {
                            self.end_block(low, probe, &mut fits, draws);
                        }
                    }
                }
            }
            if self.block.len > 0 {
                self.end_block(low, probe, &mut fits, draws);
            }
        }
        fits.map(|fits| fits * draws.every)
    }

    /// Fills lanes of the block with the upper halves at these places, if the block is drawn. There
    /// must be room for them.
    fn stream(&mut self, build: &Buckets, places: Range<usize>, high: u32, draws: &mut Draws) {
        if self.block.len == 0 {
            draws.begin();
        }
        match draws.block {
            Drawn::Yes | Drawn::WarmsUp => self.block.fill(build, places, high),
            Drawn::No => self.block.len += places.len(),
        }
    }

    /// Joins the block if it is drawn, and empties it.
    fn end_block(&mut self, low: u32, probe: &Side, fits: &mut [u64; 2], draws: &mut Draws) {
        match draws.block {
            Drawn::Yes => self.join_block(low, probe, fits),
            Drawn::WarmsUp => self.join_block(low, probe, &mut [0; 2]),
            Drawn::No => self.block.empty(),
        }
        draws.end();
    }

    /// Joins the block with the lower halves of the low part `low`, adds the numbers of pairs that
    /// fit to `fits`, and empties the block.
    fn join_block(&mut self, low: u32, probe: &Side, fits: &mut [u64; 2]) {
        let items = self.block.items.first_chunk().expect("a block has more room");
        self.unit.tabulate(self.chunks, items, &mut self.tables);
        self.runs.note(&self.block.highs, self.block.len);
        self.block.empty();
        let sides = [&probe.whole, &probe.ties];
        for ((fits, side), probes) in fits.iter_mut().zip(sides).zip(&self.probes) {
            if !probes.is_empty() {
                self.runs.find(side, low);
                *fits += self.unit.probe(self.chunks, &self.tables, &self.runs, probes);
            }
        }
    }

    /// The numbers of pairs that fit: first with lower halves that are not ties, then with ties.
    fn one_by_one(&self, build: &Buckets, probe: &Side) -> [u64; 2] {
        let CodeBits { low: low_bits, high: high_bits } = self.bits;
        let mut fits = [0; 2];
        for (number, &item) in build.numbered() {
            let (low, high) = (number & ((1 << low_bits) - 1), number >> low_bits);
            // High parts that differ only in bits below the lowest of these are neighbours.
            let below = high.trailing_zeros().min(high_bits);
            for low in disjoint(low, low_bits) {
                for high in disjoint(high >> below, high_bits - below) {
                    let start = low << high_bits | high << below;
                    let numbers = start..start + (1 << below);
                    for (fits, side) in fits.iter_mut().zip([&probe.whole, &probe.ties]) {
                        let items = side.buckets(numbers.clone());
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

/// Replaces probes by those of these items.
fn take<U: Unit>(unit: U, items: &[u32], probes: &mut Vec<Probe>) {
    probes.reserve_exact(items.len().saturating_sub(probes.len()));
    probes.resize(items.len(), Probe::default());
    unit.to_probes(items, probes);
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
