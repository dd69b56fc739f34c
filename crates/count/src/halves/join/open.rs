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
