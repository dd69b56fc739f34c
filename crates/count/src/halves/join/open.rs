//! Finds the lanes of a block that are open to each lower half: the lanes of upper halves that have
//! no bit of its high part.
//!
//! ```text
//!   high parts of the lanes   0110 0110 0111 0111      bits that all have: 011.
//!                                                      bits that vary:     ...1
//!   high parts of the probes  0000, 1000               all lanes are open
//!                             0001, 1001               the first two are
//! ```
//!
//! Lower halves with a bit that all lanes have are passed over. The others are *runs* of neighbours
//! to which the same lanes are open. These depend only on the bits that vary, which are few,
//! because the lanes are in the order of their high parts. So the lanes are worked out once for
//! each set of such bits.

use std::ops::Range;

use board::ones;

use crate::halves::buckets::Buckets;
use crate::halves::join::build::{ENTRY_LANES, Entry, Lanes};

/// The most bits of a high part.
pub(crate) const MOST_HIGH_BITS: usize = 13;

/// Some neighbouring probes to which the same lanes of a block are open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// The number of the open lanes.
    open: u32,
    /// The places of the probes.
    start: u32,
    end: u32,
}

impl Run {
    #[inline(always)]
    pub(crate) fn probes(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Both halves of a block, as bits. The first half is the lowest bit.
pub(crate) const BOTH: usize = 3;

/// The runs of a block, and the lanes that are open to them.
pub(crate) struct Runs {
    /// The open lanes for each set of high bits. Only the sets of bits that vary are in use.
    open: Box<[Lanes]>,
    /// The halves in which these lanes are.
    halves: Box<[u8]>,
    /// The runs by the halves in which lanes are open, and their numbers. The first group has no
    /// open lanes and is not looked up.
    runs: [Box<[Run]>; BOTH + 1],
    len: [usize; BOTH + 1],
    /// The bits that some lanes have.
    any: u32,
    /// The bits that all lanes have.
    common: u32,
}

impl Runs {
    /// No runs, for probes whose high parts have this many bits.
    pub(crate) fn new(high_bits: u32) -> Runs {
        assert!(high_bits as usize <= MOST_HIGH_BITS, "a high part of {high_bits} bits");
        let sets = 1 << high_bits;
        Runs {
            open: vec![Lanes::NONE; sets].into_boxed_slice(),
            halves: vec![0; sets].into_boxed_slice(),
            runs: std::array::from_fn(|_| vec![Run::default(); sets].into_boxed_slice()),
            len: [0; BOTH + 1],
            any: 0,
            common: 0,
        }
    }

    /// The bytes for high parts of this many bits.
    pub(crate) fn bytes(high_bits: u32) -> u64 {
        let runs = (BOTH + 1) * size_of::<Run>();
        ((size_of::<Lanes>() + size_of::<u8>() + runs) as u64) << high_bits
    }

    /// The runs to which lanes in exactly these halves are open.
    #[inline(always)]
    pub(crate) fn with(&self, halves: usize) -> &[Run] {
        &self.runs[halves][..self.len[halves]]
    }

    /// The runs to which lanes in this half are open.
    #[inline(always)]
    pub(crate) fn with_half(&self, half: usize) -> impl Iterator<Item = &Run> {
        self.with(1 << half).iter().chain(self.with(BOTH))
    }

    /// The lanes that are open to a run.
    #[inline(always)]
    pub(crate) fn open(&self, run: &Run) -> &Lanes {
        &self.open[run.open as usize]
    }

    /// Notes the high parts of `len` lanes. `highs` has each high part with its first lane.
    pub(crate) fn note(&mut self, highs: &[(u32, usize)], len: usize) {
        self.common = highs.iter().fold(u32::MAX, |common, (high, _)| common & high);
        self.any = highs.iter().fold(0, |any, (high, _)| any | high);
        let mut filled = Lanes::NONE;
        filled.add(0, len);
        self.set(0, filled);
        let varying = self.any & !self.common;
        let mut having = [Lanes::NONE; MOST_HIGH_BITS];
        let ends = highs[1..].iter().map(|&(_, start)| start).chain([len]);
        for (&(high, start), end) in highs.iter().zip(ends) {
            for bit in ones((high & varying).into()) {
                having[bit as usize].add(start, end);
            }
        }
        let mut set = next_subset(0, varying);
        while set != 0 {
            let without_lowest = self.open[(set & (set - 1)) as usize];
            self.set(set, without_lowest.without(&having[set.trailing_zeros() as usize]));
            set = next_subset(set, varying);
        }
    }

    fn set(&mut self, set: u32, open: Lanes) {
        let halves = open.0.as_chunks::<{ ENTRY_LANES / 64 }>().0.iter().enumerate();
        // Comparing arrays would call a function.
        let any = |lanes: &Entry| lanes.iter().fold(0, |any, word| any | word) != 0;
        self.halves[set as usize] = halves.map(|(half, lanes)| u8::from(any(lanes)) << half).sum();
        self.open[set as usize] = open;
    }

    /// Replaces the runs by those of all lower halves with this low part. The first of them is
    /// probe 0.
    pub(crate) fn find(&mut self, side: &Buckets, low: u32) {
        let Runs { open, halves, runs, any, common, .. } = self;
        let high_bits = open.len().trailing_zeros();
        let numbers = 1 << high_bits;
        let starts = &side.sorted().starts[(low * numbers) as usize..][..=numbers as usize];
        // Neighbours differ only in bits that no lane has.
        let neighbours = 1 << any.trailing_zeros().min(high_bits);
        let free = !*common & (numbers - neighbours);
        let varying = *any & !*common;
        let mut len = [0; BOTH + 1];
        let mut high = 0;
        loop {
            let set = high & varying;
            let (start, end) = (starts[high as usize], starts[(high + neighbours) as usize]);
            let halves = usize::from(halves[set as usize]) & BOTH;
            // The run is always written, and the end moves only if the run has a probe. This avoids
            // a branch. No start is less than the first one, and checking this would take time.
            let place = |at: u32| at.wrapping_sub(starts[0]);
            runs[halves][len[halves]] = Run { open: set, start: place(start), end: place(end) };
            len[halves] += usize::from(start < end);
            high = next_subset(high, free);
            if high == 0 {
                break;
            }
        }
        self.len = len;
    }
}

/// The next larger set of some of the bits of `all`, or 0 after the largest.
#[inline(always)]
pub(crate) fn next_subset(set: u32, all: u32) -> u32 {
    // Carries run through the other bits.
    (set | !all).wrapping_add(1) & all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::buckets::Sorter;
    use crate::halves::by_size::CodeBits;
    use crate::halves::join::build::LANES;
    use crate::halves::lists::records::Records;

    impl Runs {
        /// Runs in which these lanes are open to these probes.
        pub(crate) fn of(found: &[(Lanes, Range<usize>)]) -> Runs {
            let bits = found.len().next_power_of_two().trailing_zeros();
            let mut runs = Runs::new(bits);
            for (number, (open, probes)) in found.iter().enumerate() {
                runs.set(number as u32, *open);
                let halves = usize::from(runs.halves[number]);
                let (start, end) = (probes.start as u32, probes.end as u32);
                runs.runs[halves][runs.len[halves]] = Run { open: number as u32, start, end };
                runs.len[halves] += 1;
            }
            runs
        }
    }

    /// Lower halves with all numbers whose bit in `some` is set (bit number mod 61), and these
    /// numbers in order.
    fn lower(bits: CodeBits, some: u64) -> (Buckets, Vec<u32>) {
        let codes: Vec<u32> =
            (0..1 << bits.sum()).filter(|code| some >> (code % 61) & 1 == 1).collect();
        let mut records = Records::new(codes.len());
        records.add_records(codes.iter().map(|code| u64::from(*code) << 32));
        let mut sorted = Buckets::new(bits.sum(), records.len());
        Sorter::new(bits.sum()).sort(records.as_slice(), &mut sorted);
        (sorted, codes)
    }

    #[test]
    fn lanes_are_open_to_probes_without_a_bit_of_their_high_parts() {
        let mut closed = 0;
        for high_bits in [0, 1, 3, 5] {
            let mut runs = Runs::new(high_bits);
            for (round, some) in
                [u64::MAX, 0x1234_5678_9abc_def0, 0, 1 << 7 | 1].into_iter().enumerate()
            {
                let (buckets, codes) = lower(CodeBits { low: 2, high: high_bits }, some);
                for first in 0..1_u32 << high_bits {
                    // A block of a few neighbouring high parts, some of which are left out.
                    let highs = (first..1 << high_bits).step_by(1 + round).take(5).enumerate();
                    let parts: Vec<(u32, usize)> = highs.map(|(i, high)| (high, i * 230)).collect();
                    let len = (parts.len() * 230 - round).min(LANES);
                    runs.note(&parts, len);
                    for low in 0..4 {
                        runs.find(&buckets, low);
                        let probes: Vec<u32> =
                            codes.iter().copied().filter(|code| code >> high_bits == low).collect();
                        let mut open = vec![Lanes::NONE; probes.len()];
                        for halves in 1..=BOTH {
                            for run in runs.with(halves) {
                                for probe in run.probes() {
                                    assert_eq!(open[probe], Lanes::NONE, "a probe is in one run");
                                    open[probe] = *runs.open(run);
                                }
                            }
                        }
                        for (probe, open) in probes.iter().zip(&open) {
                            let high = probe & ((1 << high_bits) - 1);
                            for lane in 0..LANES {
                                let part = parts.iter().rev().find(|part| part.1 <= lane);
                                let expected =
                                    lane < len && part.expect("the first is 0").0 & high == 0;
                                assert_eq!(open.0[lane / 64] >> (lane % 64) & 1 == 1, expected);
                                closed += u32::from(!expected && lane < len);
                            }
                        }
                    }
                }
            }
        }
        assert!(closed > 1000, "nothing is closed");
    }

    #[test]
    fn runs_are_kept_apart_by_the_halves_that_are_open() {
        let lanes = |start, end| {
            let mut lanes = Lanes::NONE;
            lanes.add(start, end);
            lanes
        };
        let runs =
            Runs::of(&[(lanes(0, 512), 0..1), (lanes(512, 513), 1..3), (lanes(511, 513), 3..4)]);
        let probes = |halves: usize| {
            let [run] = runs.with(halves) else { panic!("there is one of each") };
            run.probes()
        };
        assert_eq!([probes(1), probes(2), probes(3)], [0..1, 1..3, 3..4]);
        let of_second: Vec<_> = runs.with_half(1).map(Run::probes).collect();
        assert_eq!(of_second, [1..3, 3..4]);
    }
}
