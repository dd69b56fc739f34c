//! Filters sorted lists: a task takes its part of a list that several tasks share.
//!
//! ```text
//!   buckets  of the shared list    0         1    2             3
//!   items    in groups of 16       |...............|...............|....
//!   through                         x..x.x.....     xx....          x.x     bucket 2 is closed
//!   before                         0               3                   5
//! ```
//!
//! Items are filtered in one pass over all groups. It notes for each group how many items before it
//! pass, and which of its own items pass. The new beginning of a bucket is the number of items
//! before its old beginning that pass, which is a look-up. A pass over one bucket after the other
//! took twice as long, because a processor cannot predict where each bucket ends.

use std::ops::Range;

use crate::halves::buckets::STEP;

/// The half-boards of a sorted list that pass, and the bits of their items that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    /// Half-boards of a bucket whose number has one of these bits are left out.
    pub(crate) numbers: u32,
    /// Half-boards whose item has one of these bits are left out.
    pub(crate) bits: u32,
    /// Half-boards whose item is more than this are left out.
    pub(crate) most: u32,
    /// The bits of the items that are kept.
    pub(crate) keep: u32,
    /// Buckets whose numbers differ only in this many of the lowest bits become one.
    pub(crate) merged: u32,
}

/// The items of each group that pass. One more group at the end has no item that passes.
#[derive(Default)]
pub(crate) struct Passed {
    /// The items of the group that pass, as bits. The first item is the lowest bit. Before the pass
    /// over the list, these are the items that may pass.
    pub(crate) through: Vec<u16>,
    /// The number of items before the group that pass.
    pub(crate) before: Vec<u32>,
}

impl Passed {
    /// The bytes for a list of this many items.
    pub(crate) fn bytes(len: usize) -> u64 {
        (len.div_ceil(STEP) as u64 + 1) * (2 + 4)
    }

    /// Starts with `len` items, all of which may pass.
    pub(crate) fn start(&mut self, len: usize) {
        let groups = len.div_ceil(STEP);
        self.before.clear();
        self.before.resize(groups + 1, 0);
        self.through.clear();
        self.through.resize(groups, u16::MAX);
        self.through.push(0);
        self.close(len..groups * STEP);
    }

    /// Excludes the items at these places.
    pub(super) fn close(&mut self, Range { start, end }: Range<usize>) {
        if start == end {
            return;
        }
        let (first, last) = (start / STEP, end / STEP);
        let (before_start, before_end) = ((1 << (start % STEP)) - 1, (1 << (end % STEP)) - 1);
        if first == last {
            self.through[first] &= before_start | !before_end;
        } else {
            self.through[first] &= before_start;
            self.through[first + 1..last].fill(0);
            self.through[last] &= !before_end;
        }
    }

    /// Writes how many items before the first of every `step` places pass.
    #[inline(always)]
    pub(crate) fn ranks(&self, places: &[u32], step: usize, ranks: &mut [u32]) {
        for (rank, &place) in ranks.iter_mut().zip(places.iter().step_by(step)) {
            *rank = self.rank(place);
        }
    }

    /// The number of items before `place` that pass.
    #[inline(always)]
    fn rank(&self, place: u32) -> u32 {
        let (group, before_place) = (place as usize / STEP, (1 << (place as usize % STEP)) - 1);
        self.before[group] + (self.through[group] & before_place).count_ones()
    }
}
