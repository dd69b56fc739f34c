//! Half-boards as they are listed, before they are sorted.

use crate::halves::quarters::{PADDING, Pair};
use crate::halves::units::Unit;

/// A list that grows at its end: first the records of half-boards, then the keys of those that were
/// added last.
#[derive(Default)]
pub(crate) struct Records {
    /// The records and keys. The first `len` are in use.
    records: Vec<u64>,
    len: usize,
    /// The number of half-boards that are records already.
    settled: usize,
    /// The most half-boards that may be settled.
    room: usize,
}

impl Records {
    pub(crate) fn new(room: usize) -> Records {
        Records { records: vec![0; room], len: 0, settled: 0, room }
    }

    pub(crate) fn clear(&mut self) {
        (self.len, self.settled) = (0, 0);
    }

    /// Adds the half-boards that the pairs of quarters make.
    pub(crate) fn pair<U: Unit>(&mut self, unit: U, pairs: &[Pair<'_>]) {
        for pair in pairs {
            let end = self.len + pair.upper.len * pair.lower.len + PADDING;
            if self.records.len() < end {
                // Exactly the needed memory is reserved, because a list may fill most of the
                // memory.
                self.records.reserve_exact(end - self.records.len());
                self.records.resize(end, 0);
            }
            self.len += unit.pair(pair.upper, pair.lower, &mut self.records[self.len..]);
        }
    }

    /// The keys that are not settled.
    pub(crate) fn keys(&mut self) -> &mut [u64] {
        &mut self.records[self.settled..self.len]
    }

    /// Drops the keys after the first `len` that are not settled.
    pub(crate) fn keep(&mut self, len: usize) {
        self.len = self.settled + len;
    }

    /// Whether there is room to settle all half-boards.
    pub(crate) fn fits(&self) -> bool {
        self.len <= self.room
    }

    /// Declares that all keys are records now.
    pub(crate) fn settle(&mut self) {
        self.settled = self.len;
    }

    /// The records of the settled half-boards.
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.records[..self.settled]
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }
}

#[cfg(test)]
impl Records {
    /// Adds half-boards with these records.
    pub(crate) fn add_records(&mut self, records: impl Iterator<Item = u64>) {
        self.records.truncate(self.len);
        self.records.extend(records);
        self.len = self.records.len();
        self.settle();
    }
}
