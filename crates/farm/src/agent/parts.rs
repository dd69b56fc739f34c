//! Parts of a loan, of which neighbours become one.

use std::collections::BTreeMap;

use crate::{Range, Report};

/// Parts of one loan, neighbours joined, keyed by where they start and end.
///
/// They overlap if a loan was delivered twice. Nothing is thrown away for that: the farm takes
/// each ordinal once.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<(u64, u64), Report>);

impl Parts {
    /// Adds a part, and joins it with its neighbours unless their sum would not fit. Returns what it has become.
    pub(super) fn add(&mut self, mut part: Report) -> &Report {
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
    pub(super) fn iter(&self) -> impl Iterator<Item = &Report> {
        self.0.values()
    }

    /// Hands them out in ascending order of their starts.
    pub(super) fn into_iter(self) -> impl Iterator<Item = Report> {
        self.0.into_values()
    }
}
