//! The count of each single task of a range.
//!
//! A total is checked by counting some of it again. Tasks of `colours` are few and long, so the
//! count of each is kept beside the sum of its range. A check can then count single tasks again
//! that it draws at random, instead of ranges whose lengths the farm has chosen.

use std::sync::Arc;

use crate::{CheckedCount, Fingerprint, Range};

/// Weight x count of each task of a range, in the order of their ordinals. It is empty if only
/// their sum is reported. Copies share one memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts(Arc<[u64]>);

impl TaskCounts {
    /// The most tasks that are reported together. It bounds the size of messages and rows.
    pub const MOST: usize = 4096;

    /// These counts.
    pub fn new(counts: &[u64]) -> TaskCounts {
        TaskCounts(counts.into())
    }

    /// Whether only the sum is reported.
    pub fn are_omitted(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// Joins the counts of two neighbouring ranges. The result is omitted if either is; `None` if
    /// there are too many.
    #[must_use]
    pub fn join(&self, next: &TaskCounts) -> Option<TaskCounts> {
        if self.are_omitted() || next.are_omitted() {
            return Some(TaskCounts::default());
        }
        let fits = self.0.len() + next.0.len() <= TaskCounts::MOST;
        fits.then(|| TaskCounts(self.0.iter().chain(&*next.0).copied().collect()))
    }

    /// Whether they are the counts of a range with this checked count. Omitted counts contradict
    /// nothing.
    #[must_use]
    pub fn add_up_to(&self, plan: Fingerprint, range: Range, checked_count: CheckedCount) -> bool {
        if self.are_omitted() {
            return true;
        }
        let mut each = (range.start()..).zip(&*self.0);
        let sum = each.try_fold(CheckedCount::EMPTY, |sum, (at, &count)| sum.with(plan, at, count));
        self.0.len() as u64 == range.len() && sum == Some(checked_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Fingerprint = Fingerprint([7; 32]);

    fn checked_count(start: u64, counts: &[u64]) -> CheckedCount {
        let each = (start..).zip(counts).map(|(at, &count)| (at, count));
        let sum = |sum: CheckedCount, (at, count)| sum.with(PLAN, at, count);
        each.into_iter().try_fold(CheckedCount::EMPTY, sum).expect("it is small")
    }

    #[test]
    fn they_add_up_to_the_count_of_their_range_and_of_no_other() {
        let counts = [10, 0, 7];
        let (reported, range) = (TaskCounts::new(&counts), Range::new(3, 6).expect("not empty"));
        let right = checked_count(3, &counts);
        assert!(reported.add_up_to(PLAN, range, right));
        assert!(TaskCounts::default().add_up_to(PLAN, range, right), "nothing is reported");
        for (range, checked_count) in [
            (range, checked_count(3, &[0, 10, 7])),
            (range, CheckedCount { count: 18, ..right }),
            (Range::new(4, 7).expect("not empty"), right),
            (Range::new(3, 7).expect("not empty"), right),
        ] {
            assert!(!reported.add_up_to(PLAN, range, checked_count), "{range} {checked_count:?}");
        }
        assert!(!TaskCounts::new(&[u64::MAX, 1]).add_up_to(
            PLAN,
            Range::new(0, 2).expect("not empty"),
            right
        ));
    }

    #[test]
    fn neighbours_become_one_unless_they_are_too_many() {
        let (one, two) = (TaskCounts::new(&[1, 2]), TaskCounts::new(&[3]));
        assert_eq!(one.join(&two), Some(TaskCounts::new(&[1, 2, 3])));
        assert_eq!(one.join(&TaskCounts::default()), Some(TaskCounts::default()));
        assert_eq!(TaskCounts::default().join(&two), Some(TaskCounts::default()));
        let most = TaskCounts::new(&[1; TaskCounts::MOST - 1]);
        assert!(most.join(&two).is_some());
        assert_eq!(most.join(&one), None);
    }
}
