//! Ranges of ordinals.

use std::fmt;

/// A half-open, never empty interval `[start, end)` of a plan's ordinals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    start: u64,
    end: u64,
}

impl Range {
    /// `[start, end)`, or `None` if that would be empty.
    pub fn new(start: u64, end: u64) -> Option<Range> {
        (start < end).then_some(Range { start, end })
    }

    /// The first ordinal.
    pub fn start(self) -> u64 {
        self.start
    }

    /// One past the last ordinal.
    pub fn end(self) -> u64 {
        self.end
    }

    /// How many tasks; at least 1. There is no `is_empty`, because no range is.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// The ordinals that are in both.
    pub fn intersect(self, other: Range) -> Option<Range> {
        Range::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// From the beginning of one to the end of the other.
    #[must_use]
    pub fn hull(self, other: Range) -> Range {
        Range { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The first `tasks` of them, at least 1, or all if there are no more.
    pub fn first(self, tasks: u64) -> Range {
        assert!(tasks > 0, "a range is never empty");
        Range { start: self.start, end: self.start + tasks.min(self.len()) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}
