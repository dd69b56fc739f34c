//! How much was counted when: a ring for each job, fine for the last hours and coarse for the last year.
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

/// What was done for a job in a slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Tasks that were accepted.
    pub tasks: u64,
    /// The most workers that had a part in it.
    pub workers: u64,
}

/// A resolution of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The last six hours, in slots of ten seconds.
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

    /// How many slots are kept.
    pub fn slots(self) -> i64 {
        match self {
            Span::Hours => 6 * 360,
            Span::Days => 7 * 24 * 12,
            Span::Year => 365 * 24,
        }
    }
}

/// The history of all jobs.
#[derive(Clone, Debug, Default)]
pub struct History {
    jobs: BTreeMap<JobId, [Ring; 3]>,
}

/// Slots of one length in ascending order: their numbers since 1970, and what was done.
#[derive(Clone, Debug, Default)]
struct Ring(VecDeque<(i64, Load)>);

impl History {
    /// Notes what was done for a job until `unix_ms`, which is no earlier than what was noted of it before.
    pub fn add(&mut self, job: JobId, unix_ms: i64, load: Load) {
        for span in Span::ALL {
            self.add_to(span, job, unix_ms, load);
        }
    }

    /// The same in one resolution, for what is read from a ledger.
    pub fn add_to(&mut self, span: Span, job: JobId, unix_ms: i64, load: Load) {
        let slot = unix_ms.div_euclid(span.slot_ms());
        let ring = &mut self.jobs.entry(job).or_default()[span as usize].0;
        match ring.back_mut() {
            // A clock that was set back adds to the latest slot.
            Some((latest, sum)) if slot <= *latest => {
                sum.tasks = sum.tasks.saturating_add(load.tasks);
                sum.workers = sum.workers.max(load.workers);
            }
            _ => ring.push_back((slot, load)),
        }
    }

    /// Forgets what is too old at `unix_ms`.
    pub fn forget(&mut self, unix_ms: i64) {
        self.jobs.retain(|_, rings| {
            for (span, ring) in Span::ALL.into_iter().zip(&mut *rings) {
                let first = unix_ms.div_euclid(span.slot_ms()) - span.slots();
                while ring.0.front().is_some_and(|&(slot, _)| slot <= first) {
                    ring.0.pop_front();
                }
            }
            rings.iter().any(|ring| !ring.0.is_empty())
        });
    }

    /// The loads of a job from its first slot on, in the finest resolution that shows all of them. The slot of
    /// `unix_ms` is not over, and left out. Nothing of a job of which nothing is known.
    pub fn of(&self, job: JobId, unix_ms: i64) -> Option<(Span, Vec<Load>)> {
        let rings = self.jobs.get(&job)?;
        let coarse = &rings[Span::Year as usize].0;
        let begun_ms = coarse.front()?.0 * Span::Year.slot_ms();
        // The first hour may have begun before the job.
        let is_shown =
            |span: &Span| begun_ms + Span::Year.slot_ms() > unix_ms - span.slots() * span.slot_ms();
        let span = Span::ALL.into_iter().find(is_shown).unwrap_or(Span::Year);
        let ring = &rings[span as usize].0;
        let now = unix_ms.div_euclid(span.slot_ms());
        let first = ring.front()?.0.max(now - span.slots());
        let length = usize::try_from(now - first).ok().filter(|&length| length > 0)?;
        let mut loads = vec![Load::default(); length];
        for &(slot, load) in ring {
            if let Ok(at) = usize::try_from(slot - first)
                && let Some(place) = loads.get_mut(at)
            {
                *place = load;
            }
        }
        Some((span, loads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(1);
    const HOUR: i64 = 3_600_000;

    fn load(tasks: u64) -> Load {
        Load { tasks, workers: tasks }
    }

    #[test]
    fn what_was_counted_in_a_slot_is_added_up() {
        let mut history = History::default();
        for (at, tasks) in [(0, 1), (9_999, 2), (10_000, 4), (30_000, 8)] {
            history.add(JOB, at, load(tasks));
        }
        let (span, loads) = history.of(JOB, 40_000).expect("it is known");
        assert_eq!(span, Span::Hours);
        let tasks: Vec<u64> = loads.iter().map(|load| load.tasks).collect();
        assert_eq!(tasks, [3, 4, 0, 8]);
        assert_eq!(history.of(JOB, 9_999), None, "its first slot is not over");
        assert_eq!(loads[0].workers, 2, "the most at a time");
        assert_eq!(history.of(JobId(2), 40_000), None);
    }

    #[test]
    fn a_longer_history_is_shown_in_longer_slots() {
        let mut history = History::default();
        for hour in 0..24 * 365 * 2 {
            history.add(JOB, hour * HOUR, load(1));
        }
        let shown = |now| history.of(JOB, now).map(|(span, _)| span);
        assert_eq!(shown(5 * HOUR), Some(Span::Hours));
        assert_eq!(shown(8 * HOUR), Some(Span::Days));
        assert_eq!(shown(24 * HOUR * 8), Some(Span::Year));
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_memory_is_bounded() {
        let mut history = History::default();
        let years = 24 * 365 * 3;
        for hour in 0..years {
            history.add(JOB, hour * HOUR, load(1));
            history.forget(hour * HOUR);
        }
        let kept = |span: Span| history.jobs[&JOB][span as usize].0.len() as i64;
        assert_eq!((kept(Span::Hours), kept(Span::Days), kept(Span::Year)), (6, 168, 8_760));
        let (_, loads) = history.of(JOB, years * HOUR).expect("it is known");
        assert_eq!(loads.iter().map(|load| load.tasks).sum::<u64>(), 8_760);
        history.forget(years * HOUR * 2);
        assert_eq!(history.of(JOB, years * HOUR), None);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut history = History::default();
        history.add(JOB, HOUR, load(1));
        history.add(JOB, 0, load(2));
        let (_, loads) = history.of(JOB, 2 * HOUR).expect("it is known");
        assert_eq!(loads.iter().map(|load| load.tasks).sum::<u64>(), 3);
    }
}
