//! How often ranges were lost together with the process that counted them, as schedulers count attempts.
//!
//! A task may kill its worker, for lack of memory for instance. Ranges that were lost twice are therefore
//! leased alone, after everything else, and half of them at a time: innocent ones come back, and the
//! guilty one shrinks to one task. A task that is lost alone, for the third time or later, has failed permanently: it is
//! not leased any more. Whatever is counted, or brought back by a worker that still holds it, begins anew.
//!
//! All of this is a guess that saves workers. It is not durable.

use std::collections::BTreeMap;

use crate::Range;

/// Disjoint ranges of ordinals with the number of times that they were lost: start -> (end, times).
/// What is counted is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Attempts(BTreeMap<u64, (u64, u32)>);

impl Attempts {
    /// The most ranges that are remembered. Losses beyond them say nothing.
    const MOST: usize = 1_024;
    /// Ranges that were lost so often are leased alone.
    const SUSPECTED: u32 = 2;
    /// A task that was lost so often, the last time alone, has failed permanently.
    const FAILED_AFTER: u32 = 3;

    /// A process was lost with `range`. Returns the first part of it that was lost so often by now that
    /// it has failed permanently, if it was lost alone.
    pub(crate) fn record_loss(&mut self, range: Range) -> Option<Range> {
        if self.0.len() >= Self::MOST {
            return None;
        }
        let mut worst = None;
        let mut at = range.start();
        for (part, times) in self.take(range) {
            if at < part.start() {
                self.0.insert(at, (part.start(), 1));
            }
            self.0.insert(part.start(), (part.end(), times + 1));
            worst = worst.or(Some(part).filter(|_| times + 1 >= Self::FAILED_AFTER));
            at = part.end();
        }
        if at < range.end() {
            self.0.insert(at, (range.end(), 1));
        }
        worst
    }

    /// The parts of `range` that are to be leased alone, in ascending order.
    pub(crate) fn suspected(&self, range: Range) -> impl Iterator<Item = Range> + '_ {
        let earlier = self.0.range(..range.start()).next_back();
        let all = earlier.into_iter().chain(self.0.range(range.start()..range.end()));
        let often = all.filter(|&(_, &(_, times))| times >= Self::SUSPECTED);
        often.filter_map(move |(&start, &(end, _))| Range::new(start, end)?.intersect(range))
    }

    /// Takes out what is known of `range`, and leaves what is known beside it.
    pub(crate) fn take(&mut self, range: Range) -> Vec<(Range, u32)> {
        let from = self.0.range(..=range.start()).next_back().map_or(range.start(), |(&at, _)| at);
        let known: Vec<_> =
            self.0.extract_if(from..range.end(), |_, &mut (end, _)| end > range.start()).collect();
        let mut taken = Vec::with_capacity(known.len());
        for (start, (end, times)) in known {
            if start < range.start() {
                self.0.insert(start, (range.start(), times));
            }
            if range.end() < end {
                self.0.insert(range.end(), (end, times));
            }
            let part = Range::new(start, end).and_then(|known| known.intersect(range));
            taken.push((part.expect("it overlaps"), times));
        }
        taken
    }
}
