//! Counts the pairs of half-boards that fit.
//!
//! The number of a bucket has two parts, `high` and `low`. For each low part of the lower halves, the upper
//! halves whose low part has no bit in common with it are gathered in blocks by their high part:
//!
//! ```text
//!   lower low = 01     upper buckets  high low
//!                                      00  00, 10    -> blocks 0, 1       10  00, 10 -> block 4
//!                                      01  00, 10    -> blocks 2, 3       11  00, 10 -> blocks 5, 6
//!   lower high = 10    joined with blocks 0 to 3
//! ```
//!
//! Every upper half is thus copied into blocks about 1.75 times for each bit of the low part, and a lower
//! half is compared only with blocks whose buckets it can fit. What remains is to compare the items of both,
//! by a unit's [`join`](Unit::join): it turns the items of a few lower halves into tables and looks the
//! items of the blocks up in them, all lanes at once.
//!
//! A few half-boards are *ties*, whose pairs have another share in the sum. Blocks of ties for each high part
//! would be almost empty. Tied upper halves are therefore gathered in the order of their high parts without
//! gaps, and a lower half is compared with those lanes of their blocks that are open to it.
//!
//! The last block of a high part is filled up with [`FILLING`], which fits a lower half without a diagonal
//! in its item. If there is such a lower half, as on small boards, these pairs are subtracted.

use std::ops::Range;

use super::buckets::{Buckets, Unsorted};
use super::memory::Room;
use super::sum::Sum;
use super::unit::{FILLING, Fits, Meeting, Unit};

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

/// The room to join two lists of half-boards.
pub(crate) struct Join<U: Unit> {
    unit: U,
    low_bits: u32,
    high_bits: u32,
    /// For each number of `low_bits` bits, the numbers that have none in common with it.
    low_runs: Vec<Vec<Range<u32>>>,
    /// For each number of `high_bits` bits, the numbers that have none in common with it.
    high_runs: Vec<Vec<Range<u32>>>,
    whole: Whole<U>,
    ties: Ties<U>,
}

/// Upper halves in blocks by the high part of their bucket's number.
struct Whole<U: Unit> {
    /// The items that are not packed into blocks yet, and room to copy more.
    items: Vec<u32>,
    blocks: Vec<U::Block>,
    /// The start of each high part, and the end of the last.
    first: Vec<Start>,
    /// The places of the blocks to join; the first `len` are in use.
    chosen: Vec<u32>,
    len: usize,
}

/// The numbers of blocks and half-boards before a high part.
#[derive(Clone, Copy)]
struct Start {
    blocks: u32,
    half_boards: u32,
}

/// Tied upper halves in blocks without gaps, in the order of the high parts.
struct Ties<U: Unit> {
    sorted: Buckets,
    /// Whether there are any ties.
    any: bool,
    items: Vec<u32>,
    /// The high part of each lane's bucket, and [`CLOSED`] after the last half-board.
    highs: Vec<u32>,
    blocks: Vec<U::Block>,
    /// The places of the blocks to join, each with its open lanes.
    open: Vec<(u32, u64)>,
}

/// The high part that closes a lane: a bit that no bucket's number has.
const CLOSED: u32 = 1 << 31;

/// The least number of items that are packed at a time.
const CHUNK: usize = 4096;

impl<U: Unit> Join<U> {
    /// Room to join lists whose buckets `code_bits` bits number, with upper lists of the size of `room`.
    pub(crate) fn new(unit: U, code_bits: u32, room: Room) -> Join<U> {
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
            whole: Whole {
                items: Vec::new(),
                blocks: Vec::with_capacity(room.whole.div_ceil(U::LANES) + (1 << high_bits) + 1),
                first: Vec::new(),
                chosen: Vec::new(),
                len: 0,
            },
            ties: Ties {
                sorted: Buckets::new(code_bits, room.ties),
                any: false,
                items: Vec::new(),
                highs: Vec::new(),
                blocks: Vec::new(),
                open: Vec::new(),
            },
        }
    }

    /// Adds a share for every pair that fits to `sum`. The share of a pair is `shares[upper][lower]`, where
    /// each index is 0 for a whole half-board and 1 for a tie.
    ///
    /// The number of pairs times the greatest share must be less than 2^64.
    pub(crate) fn count(
        &mut self,
        upper: &Upper,
        lower: &Lower,
        shares: [[u64; 2]; 2],
        sum: &mut Sum,
    ) {
        let fits = self.fits(upper, lower);
        for (fits, shares) in fits.into_iter().zip(shares) {
            for (fits, share) in fits.into_iter().zip(shares) {
                sum.add(fits * share);
            }
        }
    }

    /// The number of pairs that fit.
    fn fits(&mut self, upper: &Upper, lower: &Lower) -> Fits {
        let mut fits = [[0; 2]; 2];
        let any_empty = lower.whole.any_empty() || lower.ties.any_empty();
        self.ties.sort(&upper.ties);
        for low in 0..1 << self.low_bits {
            self.gather(upper, low);
            for high in 0..1 << self.high_bits {
                let code = high << self.low_bits | low;
                let lower = [lower.whole.bucket(code), lower.ties.bucket(code)];
                if lower[0].is_empty() && lower[1].is_empty() {
                    continue;
                }
                let filling = self.whole.choose(&self.high_runs[high as usize]);
                self.ties.choose(high);
                let upper = Meeting {
                    whole: &self.whole.blocks,
                    chosen: &self.whole.chosen[..self.whole.len],
                    ties: &self.ties.blocks,
                    open: &self.ties.open,
                };
                let found = self.unit.join(upper, lower);
                for (fits, found) in fits.iter_mut().zip(found) {
                    fits[0] += found[0];
                    fits[1] += found[1];
                }
                if any_empty {
                    let empty = |lower: &[u32]| lower.iter().filter(|item| **item == 0).count();
                    fits[0][0] -= filling * empty(lower[0]) as u64;
                    fits[0][1] -= filling * empty(lower[1]) as u64;
                }
            }
        }
        fits
    }

    /// Fills the blocks with the upper halves whose low part has no bit of `low`.
    fn gather(&mut self, upper: &Upper, low: u32) {
        let Join { unit, low_bits, high_bits, whole, ties, .. } = self;
        let low_runs = &self.low_runs[low as usize];
        // The buckets of each high part.
        let highs = (0..1 << *high_bits).map(|high: u32| {
            let code = high << *low_bits;
            low_runs.iter().map(move |run| code + run.start..code + run.end)
        });
        whole.gather(*unit, &upper.whole, highs.clone());
        if ties.any {
            ties.gather(*unit, highs);
        }
    }
}

impl<U: Unit> Whole<U> {
    /// Fills the blocks with the half-boards of some buckets of each high part.
    ///
    /// A run of neighbouring buckets costs about as much as ten half-boards.
    fn gather(
        &mut self,
        unit: U,
        upper: &Buckets,
        highs: impl Iterator<Item = impl Iterator<Item = Range<u32>>>,
    ) {
        let Whole { items, blocks, first, .. } = self;
        blocks.clear();
        first.clear();
        let mut place = Start { blocks: 0, half_boards: 0 };
        let mut len = 0;
        for codes in highs {
            first.push(place);
            let start = len;
            for codes in codes {
                len += upper.copy(codes, items, len);
            }
            place.half_boards += (len - start) as u32;
            len = fill_up::<U>(items, len);
            place.blocks += ((len - start) / U::LANES) as u32;
            if len >= CHUNK {
                unit.pack(&items[..std::mem::take(&mut len)], blocks);
            }
        }
        first.push(place);
        // An empty block at the end fills up what is chosen.
        items[len..len + U::LANES].fill(FILLING);
        unit.pack(&items[..len + U::LANES], blocks);
    }

    /// Chooses the blocks of the high parts in `runs`, filled up with the empty last block. Returns the number
    /// of chosen lanes without a half-board.
    fn choose(&mut self, runs: &[Range<u32>]) -> u64 {
        // The number of places that one store writes; most runs are short.
        const STEP: usize = 8;
        let most = self.blocks.len().next_multiple_of(U::CHOSEN) + STEP;
        if self.chosen.len() < most {
            self.chosen.resize(most, 0);
        }
        let (mut len, mut half_boards) = (0, 0);
        for run in runs {
            let (start, end) = (self.first[run.start as usize], self.first[run.end as usize]);
            let count = (end.blocks - start.blocks) as usize;
            for i in (0..count).step_by(STEP) {
                let block = start.blocks + i as u32;
                let blocks: [u32; STEP] = std::array::from_fn(|i| block.wrapping_add(i as u32));
                self.chosen[len + i..len + i + STEP].copy_from_slice(&blocks);
            }
            len += count;
            half_boards += end.half_boards - start.half_boards;
        }
        self.len = len.next_multiple_of(U::CHOSEN);
        self.chosen[len..self.len].fill(self.blocks.len() as u32 - 1);
        (self.len * U::LANES) as u64 - u64::from(half_boards)
    }
}

impl<U: Unit> Ties<U> {
    fn sort(&mut self, ties: &Unsorted) {
        self.any = ties.len() > 0;
        if self.any {
            self.sorted.sort(ties);
        } else {
            self.highs.clear();
        }
    }

    /// Fills the blocks with the tied half-boards of some buckets of each high part.
    fn gather(&mut self, unit: U, highs: impl Iterator<Item = impl Iterator<Item = Range<u32>>>) {
        self.highs.clear();
        let mut len = 0;
        for (high, codes) in highs.enumerate() {
            for codes in codes {
                len += self.sorted.copy(codes, &mut self.items, len);
            }
            self.highs.resize(len, high as u32);
        }
        let len = fill_up::<U>(&mut self.items, len);
        self.highs.resize(len, CLOSED);
        self.blocks.clear();
        unit.pack(&self.items[..len], &mut self.blocks);
    }

    /// Chooses the lanes whose high part has no bit of `high`.
    fn choose(&mut self, high: u32) {
        self.open.clear();
        let taken = high | CLOSED;
        for (block, highs) in self.highs.chunks(U::LANES).enumerate() {
            let lane = |lanes, high: &u32| lanes << 1 | u64::from(high & taken == 0);
            let lanes = highs.iter().rev().fold(0, lane);
            if lanes != 0 {
                self.open.push((block as u32, lanes));
            }
        }
    }
}

/// Appends [`FILLING`] to the first `len` items up to a whole block, and returns the new number of items.
fn fill_up<U: Unit>(items: &mut Vec<u32>, len: usize) -> usize {
    let full = len.next_multiple_of(U::LANES);
    if items.len() < full + U::LANES {
        items.resize(full + U::LANES, 0);
    }
    items[len..full].fill(FILLING);
    full
}

/// The numbers of `bits` bits that have no bit in common with `taken`, as runs of neighbours.
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
