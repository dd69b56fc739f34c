//! What was reported of one loan, as stretches.

use std::collections::BTreeMap;

use super::parts::{Part, Parts};
use crate::Stretch;

/// Stretches of one loan.
///
/// ```text
///   report     1     2     3     4     5     6     7     8
///   doubled          1-2         1-4         5-6         1-8
///   whole                  1-3         1-5   1-6   1-7
/// ```
///
/// The whole is all that was reported around a report, so that it is one row with one signature in the ledger. If the ledger
/// keeps one report apart, because it is to be counted again, then the whole says nothing about the rows on either side of
/// it. So a report also joins the stretch beside it that is of as many reports, as digits carry: then the others are few
/// signatures, too.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    whole: Parts,
    /// By where they begin.
    doubled: BTreeMap<u64, Doubled>,
}

/// Neighbours as one part, and how often twice as many became one.
#[derive(Debug)]
struct Doubled {
    part: Part,
    doublings: u32,
}

impl Stretches {
    /// The stretches of a part that is reported now, the longer one last.
    pub(super) fn add(&mut self, part: &Part) -> Vec<Stretch> {
        let doubled = self.double(part.untold());
        let whole = self.whole.add(part.untold()).as_stretch();
        let mut stretches = vec![doubled, whole];
        stretches.dedup();
        stretches.retain(|stretch| stretch.range != part.range);
        stretches
    }

    fn double(&mut self, part: Part) -> Stretch {
        let mut doubled = Doubled { part, doublings: 0 };
        while let Some((start, next)) = self.beside(&doubled) {
            self.doubled.remove(&start);
            doubled = next;
        }
        let stretch = doubled.part.as_stretch();
        self.doubled.insert(stretch.range.start(), doubled);
        stretch
    }

    /// The first of both neighbours that is of as many reports: where it begins, and what they become.
    fn beside(&self, doubled: &Doubled) -> Option<(u64, Doubled)> {
        let range = doubled.part.range;
        let left = self.doubled.range(..range.start()).next_back();
        let left = left.map(|(&start, left)| (start, left, left.part.join(&doubled.part)));
        let right = self.doubled.get(&range.end());
        let right = right.map(|right| (range.end(), right, doubled.part.join(&right.part)));
        let doublings = doubled.doublings + 1;
        [left, right].into_iter().flatten().find_map(|(start, other, part)| {
            let is_alike = other.doublings == doubled.doublings;
            Some((start, Doubled { part: part?, doublings })).filter(|_| is_alike)
        })
    }
}
