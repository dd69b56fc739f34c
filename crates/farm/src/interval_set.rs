//! A set of ordinals, kept as disjoint intervals that never touch.
//!
//! ```text
//!   ordinals   0    5    10   15   20
//!              |████|    |█████████|        map: 0 -> 5, 10 -> 20
//! ```
//!
//! Its size is the number of gaps, not of ordinals: a plan of 10^9 tasks of which the first half is
//! covered is one entry.

use std::collections::BTreeMap;

use crate::Range;

/// Disjoint, non-touching intervals of ordinals, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    /// start -> end
    ends: BTreeMap<u64, u64>,
    tasks: u64,
}

impl IntervalSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many ordinals are in it.
    pub fn len(&self) -> u64 {
        self.tasks
    }

    /// Whether no ordinal is in it.
    pub fn is_empty(&self) -> bool {
        self.tasks == 0
    }

    /// The intervals, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Range> + '_ {
        self.ends.iter().map(|(&start, &end)| interval(start, end))
    }

    /// The parts of `range` that are in the set, ascending.
    pub fn within(&self, range: Range) -> impl Iterator<Item = Range> + '_ {
        let from = match self.ends.range(..=range.start()).next_back() {
            Some((&start, &end)) if end > range.start() => start,
            _ => range.start(),
        };
        let overlapping = self.ends.range(from..range.end());
        overlapping.filter_map(move |(&start, &end)| interval(start, end).intersect(range))
    }

    /// Whether any ordinal of `range` is in the set.
    pub fn intersects(&self, range: Range) -> bool {
        self.within(range).next().is_some()
    }

    /// Whether all of `range` is in the set.
    pub fn contains(&self, range: Range) -> bool {
        self.within(range).next() == Some(range)
    }

    /// Adds `range`; what is in already stays.
    pub fn insert(&mut self, range: Range) {
        let (mut start, mut end) = (range.start(), range.end());
        if let Some((&s, &e)) = self.ends.range(..=start).next_back()
            && e >= start
        {
            start = s;
            end = end.max(e);
        }
        while let Some((&s, &e)) = self.ends.range(start..=end).next() {
            self.ends.remove(&s);
            self.tasks -= e - s;
            end = end.max(e);
        }
        self.ends.insert(start, end);
        self.tasks += end - start;
    }

    /// Takes `range` out, and returns the parts of it that were in.
    pub fn remove(&mut self, range: Range) -> Vec<Range> {
        let covered: Vec<Range> = self.within(range).collect();
        for part in &covered {
            let (&start, &end) = self
                .ends
                .range(..=part.start())
                .next_back()
                .expect("`within` yields only parts of intervals that are in the map");
            self.ends.remove(&start);
            if start < part.start() {
                self.ends.insert(start, part.start());
            }
            if part.end() < end {
                self.ends.insert(part.end(), end);
            }
            self.tasks -= part.len();
        }
        covered
    }
}

impl FromIterator<Range> for IntervalSet {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        let mut set = IntervalSet::new();
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}

fn interval(start: u64, end: u64) -> Range {
    Range::new(start, end).expect("intervals of the set are never empty")
}
