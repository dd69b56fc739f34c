//! How much was counted when: a ring for each job and one for the farm, fine for the last hours and coarse for the last year.
//!
//! ```text
//!   10 s for 6 h      2,160 slots at most
//!   5 min for 7 d     2,016
//!   1 h for a year    8,760
//! ```
//!
//! Only slots in which something was counted take memory. Nothing is decided by them, and they are not durable:
//! what was counted before the coordinator was started comes from the times in its ledger.

use std::collections::{BTreeMap, VecDeque};

use farm::JobId;

/// What was done in a slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Placements in the counts that were accepted, before symmetry.
    pub placements: f64,
    /// The most workers that had a part in it.
    pub workers: u64,
}

/// A resolution of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Span {
    /// The last six hours, in slots of ten seconds.
    #[default]
    Hours,
    /// The last seven days, in slots of five minutes.
    Days,
    /// The last year, in slots of an hour.
    Year,
}

impl Span {
    /// All of them, the finest first.
    pub const ALL: [Span; 3] = [Span::Hours, Span::Days, Span::Year];

    /// The length of a slot, ms.
    pub fn slot_ms(self) -> i64 {
        match self {
            Span::Hours => 10_000,
            Span::Days => 5 * 60_000,
            Span::Year => 3_600_000,
        }
    }

    /// What it shows, in words that addresses have too.
    pub fn name(self) -> &'static str {
        match self {
            Span::Hours => "6h",
            Span::Days => "7d",
            Span::Year => "1y",
        }
    }

    /// How many slots are kept.
    pub fn slots(self) -> i64 {
        match self {
            Span::Hours => 6 * 360,
            Span::Days => 7 * 24 * 12,
            Span::Year => 365 * 24,
        }
    }
}

/// The history of all jobs, and of all together: that of `None`.
#[derive(Clone, Debug, Default)]
pub struct History {
    rings: BTreeMap<Option<JobId>, [Ring; 3]>,
}

/// What was done in neighbouring slots, up to a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// How long the slots are.
    pub span: Span,
    /// One for each slot.
    pub loads: Vec<Load>,
    /// The end of the last slot, Unix milliseconds.
    pub until_ms: i64,
}

/// Slots of one length in ascending order: their numbers since 1970, and what was done.
#[derive(Clone, Debug, Default)]
struct Ring(VecDeque<(i64, Load)>);

impl History {
    /// Notes what was done until `unix_ms`, which is no earlier than what was noted of it before.
    pub fn add(&mut self, job: Option<JobId>, unix_ms: i64, load: Load) {
        for span in Span::ALL {
            self.add_to(span, job, unix_ms, load);
        }
    }

    /// The same in one resolution, for what is read from a ledger.
    pub fn add_to(&mut self, span: Span, job: Option<JobId>, unix_ms: i64, load: Load) {
        let slot = unix_ms.div_euclid(span.slot_ms());
        let ring = &mut self.rings.entry(job).or_default()[span as usize].0;
        match ring.back_mut() {
            // A clock that was set back adds to the latest slot.
            Some((latest, sum)) if slot <= *latest => {
                sum.placements += load.placements;
                sum.workers = sum.workers.max(load.workers);
            }
            _ => ring.push_back((slot, load)),
        }
    }

    /// Forgets what is too old at `unix_ms`.
    pub fn forget(&mut self, unix_ms: i64) {
        self.rings.retain(|_, rings| {
            for (span, ring) in Span::ALL.into_iter().zip(&mut *rings) {
                let first = unix_ms.div_euclid(span.slot_ms()) - span.slots();
                while ring.0.front().is_some_and(|&(slot, _)| slot <= first) {
                    ring.0.pop_front();
                }
            }
            rings.iter().any(|ring| !ring.0.is_empty())
        });
    }

    /// What was done for a job from its first slot on, in the finest resolution that shows all of it: up to its end, or, if it
    /// goes on, up to the slot of `unix_ms`, which is not over. Nothing of a job of which nothing is known.
    pub fn of(&self, job: JobId, unix_ms: i64, ended_ms: Option<i64>) -> Option<Past> {
        let rings = self.rings.get(&Some(job))?;
        let begun_ms = rings[Span::Year as usize].0.front()?.0 * Span::Year.slot_ms();
        // The first hour may have begun before the job.
        let is_shown =
            |span: &Span| begun_ms + Span::Year.slot_ms() > unix_ms - span.slots() * span.slot_ms();
        let span = Span::ALL.into_iter().find(is_shown).unwrap_or(Span::Year);
        rings[span as usize].past(span, unix_ms, ended_ms)
    }

    /// What was lately done for all jobs.
    pub fn of_all(&self, span: Span, unix_ms: i64) -> Option<Past> {
        self.rings.get(&None)?[span as usize].past(span, unix_ms, None)
    }
}

impl Ring {
    fn past(&self, span: Span, unix_ms: i64, ended_ms: Option<i64>) -> Option<Past> {
        let now = unix_ms.div_euclid(span.slot_ms());
        let end = ended_ms.map_or(now, |ended| now.min(ended.div_euclid(span.slot_ms()) + 1));
        let first = self.0.front()?.0.max(now - span.slots());
        let length = usize::try_from(end - first).ok().filter(|&length| length > 0)?;
        let mut loads = vec![Load::default(); length];
        for &(slot, load) in &self.0 {
            if let Ok(at) = usize::try_from(slot - first)
                && let Some(place) = loads.get_mut(at)
            {
                *place = load;
            }
        }
        let until_ms = ended_ms.unwrap_or(i64::MAX).min(end * span.slot_ms());
        Some(Past { span, loads, until_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(1);
    const HOUR: i64 = 3_600_000;

    fn load(placements: u64) -> Load {
        Load { placements: placements as f64, workers: placements }
    }

    fn sum(past: &Past) -> f64 {
        past.loads.iter().map(|load| load.placements).sum()
    }

    #[test]
    fn what_was_counted_in_a_slot_is_added_up() {
        let mut history = History::default();
        for (at, placements) in [(0, 1), (9_999, 2), (10_000, 4), (30_000, 8)] {
            history.add(Some(JOB), at, load(placements));
        }
        let past = history.of(JOB, 40_000, None).expect("it is known");
        assert_eq!((past.span, past.until_ms), (Span::Hours, 40_000));
        let placements: Vec<f64> = past.loads.iter().map(|load| load.placements).collect();
        assert_eq!(placements, [3.0, 4.0, 0.0, 8.0]);
        assert_eq!(history.of(JOB, 9_999, None), None, "its first slot is not over");
        assert_eq!(past.loads[0].workers, 2, "the most at a time");
        assert_eq!(history.of(JobId(2), 40_000, None), None);
        assert_eq!(history.of_all(Span::Hours, 40_000), None);
    }

    #[test]
    fn what_is_told_of_an_ended_job_ends_with_it() {
        let mut history = History::default();
        [0, 15_000, 21_000].into_iter().for_each(|at| history.add(Some(JOB), at, load(1)));
        for now in [30_000, HOUR, 5 * HOUR] {
            let past = history.of(JOB, now, Some(22_000)).expect("it is known");
            assert_eq!((past.loads.len(), past.until_ms), (3, 22_000), "at {now}");
            assert_eq!(sum(&past), 3.0);
        }
    }

    #[test]
    fn a_longer_history_is_shown_in_longer_slots() {
        let mut history = History::default();
        for hour in 0..24 * 365 * 2 {
            history.add(Some(JOB), hour * HOUR, load(1));
        }
        let shown = |now| history.of(JOB, now, None).map(|past| past.span);
        assert_eq!(shown(5 * HOUR), Some(Span::Hours));
        assert_eq!(shown(8 * HOUR), Some(Span::Days));
        assert_eq!(shown(24 * HOUR * 8), Some(Span::Year));
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_memory_is_bounded() {
        let mut history = History::default();
        let years = 24 * 365 * 3;
        for hour in 0..years {
            history.add(Some(JOB), hour * HOUR, load(1));
            history.forget(hour * HOUR);
        }
        let kept = |span: Span| history.rings[&Some(JOB)][span as usize].0.len() as i64;
        assert_eq!((kept(Span::Hours), kept(Span::Days), kept(Span::Year)), (6, 168, 8_760));
        assert_eq!(history.of(JOB, years * HOUR, None).map(|past| sum(&past)), Some(8_760.0));
        history.forget(years * HOUR * 2);
        assert_eq!(history.of(JOB, years * HOUR, None), None);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut history = History::default();
        history.add(Some(JOB), HOUR, load(1));
        history.add(Some(JOB), 0, load(2));
        assert_eq!(history.of(JOB, 2 * HOUR, None).map(|past| sum(&past)), Some(3.0));
    }
}
