//! Parts of a loan, of which neighbours become one.

use std::collections::BTreeMap;

use crate::{KernelName, Loan, Range, Tally, TaskCounts};

/// A piece of a loan that a thread has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The loan it belongs to.
    pub loan: Loan,
    /// The ordinals that were counted.
    pub range: Range,
    /// What they count.
    pub tally: Tally,
    /// What each of them counts, if that is told.
    pub task_counts: TaskCounts,
    /// What counted them.
    pub kernel: KernelName,
    /// Thread time spent, microseconds.
    pub busy_us: u64,
}

/// Parts of one loan, neighbours joined, keyed by where they start and end.
///
/// They overlap if a loan was delivered twice. Nothing is thrown away for that: the farm takes
/// each ordinal once.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<(u64, u64), Part>);

impl Parts {
    /// Adds a part, and joins it with its neighbours unless their sum would not fit. Returns what it has become.
    pub(super) fn add(&mut self, mut part: Part) -> &Part {
        let left = self.0.range(..(part.range.start(), 0)).next_back();
        if let Some((&key, joined)) = left.and_then(|(key, left)| Some((key, left.join(&part)?))) {
            self.0.remove(&key);
            part = joined;
        }
        let right = self.0.range((part.range.end(), 0)..).next();
        if let Some((&key, joined)) = right.and_then(|(key, right)| Some((key, part.join(right)?)))
        {
            self.0.remove(&key);
            part = joined;
        }
        let place = self.0.entry((part.range.start(), part.range.end()));
        place.insert_entry(part).into_mut()
    }

    /// Whether one of them is all of this range.
    pub(super) fn hold(&self, range: Range) -> bool {
        self.0.contains_key(&(range.start(), range.end()))
    }

    /// Shows them in ascending order of their starts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.values()
    }

    /// Hands them out in ascending order of their starts.
    pub(super) fn into_iter(self) -> impl Iterator<Item = Part> {
        self.0.into_values()
    }
}

impl Part {
    /// This part and the next one as one, if they touch, one kernel counted them and their counts fit. A recount is reported
    /// as a whole: if its tasks are too many to be told one by one, their sum is.
    pub(super) fn join(&self, next: &Part) -> Option<Part> {
        if self.range.end() != next.range.start() || self.kernel != next.kernel {
            return None;
        }
        let untold = self.loan.recount.map(|_| TaskCounts::default());
        Some(Part {
            range: Range::new(self.range.start(), next.range.end())?,
            tally: self.tally.join(next.tally)?,
            task_counts: self.task_counts.join(&next.task_counts).or(untold)?,
            kernel: self.kernel,
            busy_us: self.busy_us.saturating_add(next.busy_us),
            loan: self.loan,
        })
    }
}
