//! Tasks that may kill: which ordinals were lost together with how many worker processes.
//!
//! ```text
//!   processes lost with a range
//!     0, 1      it is lent like any other
//!     2, …      suspected: lent alone, and at most half of it at a time, so that innocent halves
//!               come back and the guilty one shrinks
//!     3, …      and the last of them held one suspected task alone: poison, not lent any more
//!
//!   lost:        a, b                     a, b, c    a, b
//!            |████████████████| ─c dies─► |████████|████████| ─d brings the right half─► …
//! ```
//!
//! A process that comes back was not killed, and a task that was counted did not kill: both are cleared. All of
//! this is a guess that saves workers. It is not durable: a restarted coordinator begins without it.

use std::collections::{BTreeMap, BTreeSet};

use crate::Range;
use crate::session::Process;

/// What is known against an ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing that matters.
    Clear,
    /// It is to be lent alone.
    Suspected,
    /// It is not to be lent.
    Poison,
}

/// Disjoint ranges of ordinals, each with the processes that were lost with it.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// By where they start.
    suspicions: BTreeMap<u64, Suspicion>,
}

#[derive(Clone, Debug, Default)]
struct Suspicion {
    end: u64,
    /// Never empty.
    lost: BTreeSet<Process>,
    poison: bool,
}

impl Suspicion {
    fn standing(&self) -> Standing {
        match self.lost.len() {
            _ if self.poison => Standing::Poison,
            0 | 1 => Standing::Clear,
            _ => Standing::Suspected,
        }
    }
}

impl Quarantine {
    /// The most ranges of a job that are remembered.
    pub(crate) const MOST: usize = 1024;
    /// So many processes must have been lost with a task before it is taken for poison.
    const POISON: usize = 3;

    /// A process was lost with `range`; `alone`: it held one suspected task, and no more.
    pub(crate) fn record_loss(&mut self, range: Range, process: &Process, alone: bool) {
        self.split(range.start());
        self.split(range.end());
        let mut at = range.start();
        while at < range.end() {
            let next = self.suspicions.range(at + 1..).next().map(|(&start, _)| start);
            let end = next.unwrap_or(u64::MAX).min(range.end());
            let new = || Suspicion { end, ..Suspicion::default() };
            let suspicion = self.suspicions.entry(at).or_insert_with(new);
            suspicion.lost.insert(process.clone());
            suspicion.poison |= alone && suspicion.lost.len() >= Self::POISON;
            at = suspicion.end;
        }
    }

    /// The process is alive. Returns what was held against it.
    pub(crate) fn clear(&mut self, process: &Process) -> Vec<Range> {
        let mut changed = Vec::new();
        self.suspicions.retain(|&start, suspicion| {
            if suspicion.lost.remove(process) {
                suspicion.poison = false;
                changed.extend(Range::new(start, suspicion.end));
            }
            !suspicion.lost.is_empty()
        });
        changed
    }

    /// These ordinals were counted.
    pub(crate) fn counted(&mut self, range: Range) {
        self.split(range.start());
        self.split(range.end());
        self.suspicions.extract_if(range.start()..range.end(), |_, _| true).for_each(drop);
    }

    /// Forgets the weakest suspicions if there are too many. Returns what they were about.
    pub(crate) fn trim(&mut self) -> Vec<Range> {
        let mut forgotten = Vec::new();
        while self.suspicions.len() > Self::MOST {
            let strength =
                |(_, suspicion): &(&u64, &Suspicion)| (suspicion.poison, suspicion.lost.len());
            let weakest = self.suspicions.iter().min_by_key(strength);
            let (&start, &Suspicion { end, .. }) = weakest.expect("there are too many");
            self.suspicions.remove(&start);
            forgotten.extend(Range::new(start, end));
        }
        forgotten
    }

    /// What is not [`Standing::Clear`] of a range, in ascending order, one such range at a time.
    pub(crate) fn within(&self, range: Range) -> impl Iterator<Item = (Range, Standing)> + '_ {
        let earlier = self.suspicions.range(..range.start()).next_back();
        let all = earlier.into_iter().chain(self.suspicions.range(range.start()..range.end()));
        let parts = all.filter_map(move |(&start, suspicion)| {
            let part = Range::new(start, suspicion.end).expect("suspicions are not empty");
            Some((part.intersect(range)?, suspicion.standing()))
        });
        parts.filter(|&(_, standing)| standing != Standing::Clear)
    }

    /// Makes a suspicion begin at `at`, if there is one around it.
    fn split(&mut self, at: u64) {
        let around = self.suspicions.range_mut(..at).next_back();
        if let Some((_, suspicion)) = around.filter(|(_, suspicion)| suspicion.end > at) {
            let right = suspicion.clone();
            suspicion.end = at;
            self.suspicions.insert(at, right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(instance: u64) -> Process {
        Process { owner: "rack7".into(), instance }
    }

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("not empty")
    }

    fn standings(quarantine: &Quarantine) -> Vec<(u64, u64, Standing)> {
        let all = quarantine.within(range(0, 1_000_000));
        all.map(|(range, standing)| (range.start(), range.end(), standing)).collect()
    }

    #[test]
    fn suspicions_are_split_where_losses_begin_and_end() {
        let mut quarantine = Quarantine::default();
        quarantine.record_loss(range(0, 10), &process(1), false);
        assert_eq!(standings(&quarantine), []);

        quarantine.record_loss(range(4, 12), &process(2), false);
        assert_eq!(standings(&quarantine), [(4, 10, Standing::Suspected)]);

        quarantine.record_loss(range(6, 7), &process(3), true);
        assert_eq!(
            standings(&quarantine),
            [(4, 6, Standing::Suspected), (6, 7, Standing::Poison), (7, 10, Standing::Suspected)]
        );
        assert_eq!(
            quarantine.within(range(5, 7)).collect::<Vec<_>>(),
            [(range(5, 6), Standing::Suspected), (range(6, 7), Standing::Poison)]
        );
    }

    #[test]
    fn what_is_counted_and_who_comes_back_is_cleared() {
        let mut quarantine = Quarantine::default();
        for number in 1..=3 {
            quarantine.record_loss(range(0, 3), &process(number), false);
        }
        quarantine.record_loss(range(2, 3), &process(4), true);
        quarantine.counted(range(0, 1));
        assert_eq!(standings(&quarantine), [(1, 2, Standing::Suspected), (2, 3, Standing::Poison)]);

        // Three are left, but the task is to be tried alone once more.
        assert_eq!(quarantine.clear(&process(4)), [range(2, 3)]);
        assert_eq!(
            standings(&quarantine),
            [(1, 2, Standing::Suspected), (2, 3, Standing::Suspected)]
        );
        quarantine.clear(&process(1));
        quarantine.clear(&process(2));
        assert_eq!(standings(&quarantine), []);
        assert_eq!(quarantine.clear(&process(3)), [range(1, 2), range(2, 3)]);
        assert!(quarantine.suspicions.is_empty());
    }

    #[test]
    fn the_weakest_suspicions_are_forgotten_first() {
        let mut quarantine = Quarantine::default();
        let most = Quarantine::MOST as u64;
        quarantine.record_loss(range(0, 1), &process(1), false);
        quarantine.record_loss(range(0, 1), &process(2), false);
        (1..=most)
            .for_each(|at| quarantine.record_loss(range(2 * at, 2 * at + 1), &process(1), false));

        assert_eq!(quarantine.trim(), [range(2, 3)]);
        assert_eq!(standings(&quarantine), [(0, 1, Standing::Suspected)]);
    }
}
