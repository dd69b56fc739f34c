//! Counts the pairs of half-boards that fit.
//!
//! A bucket's number has two parts, `high` and `low`. For each low part of the lower half, the
//! upper halves whose low part has no bit in common with it are gathered, by their high part:
//!
//! ```text
//!   lower low = 01     upper buckets  high low
//!                                      00  00, 10    -> blocks 0, 1       10  00, 10 -> block 4
//!                                      01  00, 10    -> blocks 2, 3       11  00, 10 -> blocks 5, 6
//!   lower high = 10    joined with blocks 0 to 3
//! ```
//!
//! So every upper half is copied into blocks about 1.75 times for each bit of the low part, and
//! each lower half meets blocks in whose buckets it may fit, and no others. What is left to compare
//! is an item of each, and this is a unit's [`join`](Unit::join): the items of a few lower halves
//! are turned into tables, and those of the blocks are looked up in them, all lanes at once.
//!
//! The last block of a high part is filled up with [`absent`] items, which fit none.

use std::ops::Range;

use super::buckets::{Buckets, Lower, Upper};
use super::sum::Sum;
use super::unit::{CHOSEN, Unit, absent};

/// The room to join two lists of half-boards.
pub(crate) struct Join<U: Unit> {
    unit: U,
    low_bits: u32,
    high_bits: u32,
    /// For each number of `low_bits` bits, the numbers that have none in common with it.
    low_runs: Vec<Vec<Range<u32>>>,
    /// The same for `high_bits`.
    high_runs: Vec<Vec<Range<u32>>>,
    /// The items of a block, or of more.
    items: Vec<u32>,
    /// The gathered upper halves, by the high part of their bucket's number.
    blocks: Vec<U::Block>,
    /// One more than high parts: where each starts.
    first: Vec<u32>,
    chosen: Vec<u32>,
}

impl<U: Unit> Join<U> {
    /// For buckets that `code_bits` bits number, and at most `room` upper halves.
    pub(crate) fn new(unit: U, code_bits: u32, room: usize) -> Join<U> {
        let low_bits = code_bits / 2;
        let high_bits = code_bits - low_bits;
        let all_runs =
            |bits: u32| (0..1_u32 << bits).map(|taken| disjoint_runs(taken, bits)).collect();
        Join {
            unit,
            low_bits,
            high_bits,
            low_runs: all_runs(low_bits),
            high_runs: all_runs(high_bits),
            items: Vec::new(),
            blocks: Vec::with_capacity(room.div_ceil(U::LANES) + (1 << high_bits) + 1),
            first: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Adds the number of pairs that fit to `sum`.
    pub(crate) fn count(&mut self, upper: &Upper, lower: &Lower, shares: [[u64; 2]; 2], sum: &mut Sum) {
        let mut upper_ties = Buckets::new(self.low_bits + self.high_bits, upper.ties.len());
        upper_ties.sort(&upper.ties);
        self.join(&upper.whole, &lower.whole, shares[0][0], sum);
        self.join(&upper.whole, &lower.ties, shares[0][1], sum);
        self.join(&upper_ties, &lower.whole, shares[1][0], sum);
        self.join(&upper_ties, &lower.ties, shares[1][1], sum);
    }

    fn join(&mut self, upper: &Buckets, lower: &Buckets, share: u64, sum: &mut Sum) {
        for low in 0..1 << self.low_bits {
            self.gather(upper, low);
            for high in 0..1 << self.high_bits {
                let lower = lower.bucket(high << self.low_bits | low);
                if lower.is_empty() {
                    continue;
                }
                self.choose(high);
                sum.add(share * self.unit.join(&self.blocks, &self.chosen, lower));
            }
        }
    }

    /// Fills the blocks with the upper halves that have no bit of `low`.
    fn gather(&mut self, upper: &Buckets, low: u32) {
        self.blocks.clear();
        self.first.clear();
        self.first.push(0);
        for high in 0..1 << self.high_bits {
            self.items.clear();
            for run in &self.low_runs[low as usize] {
                let code = high << self.low_bits;
                self.items.extend_from_slice(upper.buckets(code + run.start..code + run.end));
            }
            self.items.resize(self.items.len().next_multiple_of(U::LANES), absent::<U>());
            self.unit.pack(&self.items, &mut self.blocks);
            self.first.push(self.blocks.len() as u32);
        }
        self.items.clear();
        self.items.resize(U::LANES, absent::<U>());
        self.unit.pack(&self.items, &mut self.blocks);
    }

    /// Chooses the blocks that have no bit of `high`, and the empty last one to fill up.
    fn choose(&mut self, high: u32) {
        self.chosen.clear();
        for run in &self.high_runs[high as usize] {
            self.chosen.extend(self.first[run.start as usize]..self.first[run.end as usize]);
        }
        let empty = self.blocks.len() as u32 - 1;
        self.chosen.resize(self.chosen.len().next_multiple_of(CHOSEN), empty);
    }
}

/// The numbers of `bits` bits that have none in common with `taken`, as runs of neighbours.
fn disjoint_runs(taken: u32, bits: u32) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for number in (0..1 << bits).filter(|number| number & taken == 0) {
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
