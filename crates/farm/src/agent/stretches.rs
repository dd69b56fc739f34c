//! What was reported of one loan, as stretches.

use std::collections::BTreeMap;

use super::parts::{Part, Parts};
use crate::Stretch;

/// Stretches of one loan.
///
/// ```text
///   report     1     2     3     4     5     6     7     8
///   doubled          1-2         3-4         5-6         7-8
///                                1-4                     5-8
///                                                        1-8
///   whole                  1-3         1-5   1-6   1-7
/// ```
///
/// The whole is all that was reported around a report, so that it is one row with one signature in the ledger. If the ledger
/// keeps one report apart, because it is to be counted again, then the whole says nothing about the rows on either side of
/// it. So a report also joins the stretch beside it that is of as many reports, then the one beside both that is of as many as
/// both, and so on, and says each of these: then few signatures are enough on either side, whichever report is kept apart.
/// It is one for each report on average.
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
    /// The stretches of a part that is reported now, the longest one last.
    pub(super) fn add(&mut self, part: &Part) -> Vec<Stretch> {
        let mut stretches = self.double(part.untold());
        stretches.push(self.whole.add(part.untold()).as_stretch());
        stretches.dedup();
        stretches.retain(|stretch| stretch.range != part.range);
        stretches.split_off(stretches.len().saturating_sub(Stretch::MOST))
    }

    /// What a part becomes with its neighbours, one after the other.
    fn double(&mut self, part: Part) -> Vec<Stretch> {
        let mut doubled = Doubled { part, doublings: 0 };
        let mut stretches = Vec::new();
        while let Some((start, next)) = self.beside(&doubled) {
            self.doubled.remove(&start);
            stretches.push(next.part.as_stretch());
            doubled = next;
        }
        self.doubled.insert(doubled.part.range.start(), doubled);
        stretches
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
