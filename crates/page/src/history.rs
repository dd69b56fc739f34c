//! The history of what was counted since the coordinator was started: of each job, and of the whole
//! farm for the last hours.
//!
//! ```text
//!   the farm   2,160 slots of 10 s: six hours, of which the oldest goes
//!   a job      2,160 slots at most: when they are full, two become one of twice the length
//! ```
//!
//! Only slots in which something was counted take memory. The history is for people: the farm
//! decides nothing by it, and it is lost with the process. Prometheus keeps longer histories.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use farm::{JobId, Progress, Times};

/// The most slots of a ring.
const SLOTS: i64 = 2_160;
/// The length of the shortest slots, ms.
const SHORTEST_MS: i64 = 10_000;

/// The history of a job is forgotten when nothing of the job was counted for this time, ms.
const KEPT_MS: i64 = 7 * 24 * 3_600_000;

/// The work in a slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Placements in the counts that were accepted, before symmetry.
    pub placements: f64,
    /// The most workers that counted at the same time.
    pub workers: u64,
}

/// The history of all jobs, and that of the farm under `None`.
#[derive(Clone, Debug, Default)]
pub struct History {
    rings: BTreeMap<Option<JobId>, Ring>,
}

/// The work of a job or of the farm, slot by slot without a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The length of a slot, ms.
    pub slot_ms: i64,
    /// The work in each slot. The first slot is shorter if the job began in it, and the last one is
    /// shorter or longer if the job has ended.
    pub loads: Vec<Load>,
    /// The beginning of the first slot, Unix milliseconds.
    pub from_ms: i64,
    /// The end of the last slot, Unix milliseconds.
    pub until_ms: i64,
}

impl Load {
    fn add(&mut self, more: Load) {
        self.placements += more.placements;
        self.workers = self.workers.max(more.workers);
    }
}

impl Past {
    /// When the slot with this index begins, Unix milliseconds. An index after the last slot gives
    /// the end of the last slot.
    pub(crate) fn begin(&self, slot: usize) -> i64 {
        let number = self.from_ms.div_euclid(self.slot_ms) + slot as i64;
        let is_there = slot < self.loads.len();
        if is_there { self.from_ms.max(number * self.slot_ms) } else { self.until_ms }
    }
}

/// The nearest time between 1970 and the year 9999, Unix milliseconds. A ledger or a clock may say
/// any time, and the arithmetic here is safe only with such times. Whoever shows a time that is not
/// among them says that it is unknown.
fn bounded(unix_ms: i64) -> i64 {
    unix_ms.clamp(0, 253_402_300_799_999)
}

/// Slots of one length in ascending order: their numbers since 1970, and their work.
#[derive(Clone, Debug)]
struct Ring {
    slot_ms: i64,
    loads: VecDeque<(i64, Load)>,
}

impl History {
    /// Notes what was counted of jobs until `unix_ms`, while `workers` workers were connected. A
    /// job that is not among `jobs` was removed. It is forgotten, as is a job of which nothing was
    /// counted for a week.
    pub fn note(
        &mut self,
        unix_ms: i64,
        progress: &[Progress],
        workers: usize,
        jobs: &BTreeSet<JobId>,
    ) {
        let unix_ms = bounded(unix_ms);
        let mut all = Load { placements: 0.0, workers: workers as u64 };
        for &Progress { job, placements, workers } in progress {
            all.placements += placements;
            self.add(Some(job), unix_ms, Load { placements, workers: workers as u64 });
        }
        if all != Load::default() {
            self.add(None, unix_ms, all);
        }
        let is_kept = |ring: &Ring| {
            ring.loads.back().is_some_and(|&(slot, _)| slot * ring.slot_ms > unix_ms - KEPT_MS)
        };
        let is_there = |job: &Option<JobId>| job.is_none_or(|job| jobs.contains(&job));
        self.rings.retain(|job, ring| is_there(job) && is_kept(ring));
    }

    /// Notes work for a job, or for the farm, until `unix_ms`.
    fn add(&mut self, job: Option<JobId>, unix_ms: i64, load: Load) {
        let new = || Ring { slot_ms: SHORTEST_MS, loads: VecDeque::new() };
        let ring = self.rings.entry(job).or_insert_with(new);
        ring.push(unix_ms.div_euclid(ring.slot_ms), load);
        while ring.is_too_long() {
            if job.is_some() {
                ring.halve();
            } else {
                ring.loads.pop_front();
            }
        }
    }

    /// The work for a job with these times, or for the farm. It ends with the job. If the job goes
    /// on, and for the farm, it ends before the slot of `unix_ms`, because that slot is not over.
    /// `None` if nothing is known.
    pub fn of(&self, job: Option<JobId>, unix_ms: i64, times: Times) -> Option<Past> {
        let mut ring = self.rings.get(&job)?.clone();
        let unix_ms = bounded(unix_ms);
        let [begun, ended] = [times.begun_at_ms, times.ended_at_ms].map(|at| at.map(bounded));
        let slots = |ring: &Ring| {
            let first = ring.loads.front()?.0;
            let slot_of = |ms: i64| ms.div_euclid(ring.slot_ms);
            // The last counts may be noted after the end of the job. If the last slot were much
            // shorter than others, they would show as too high a rate.
            let last = ended.map(|ended| slot_of(ended + ring.slot_ms / 2));
            Some((first, last.map_or(slot_of(unix_ms), |end| end.max(first + 1))))
        };
        let (mut first, mut end) = slots(&ring)?;
        // A job may have been paused for long since the latest slot, and a clock may jump.
        while job.is_some() && end - first > SLOTS {
            ring.halve();
            (first, end) = slots(&ring)?;
        }
        let Ring { slot_ms, loads } = ring;
        let first = if job.is_some() { first } else { first.max(end - SLOTS) };
        let length = usize::try_from(end - first).ok().filter(|&length| length > 0)?;
        let mut past = vec![Load::default(); length];
        for (slot, load) in loads {
            let slot = if ended.is_some() { slot.min(end - 1) } else { slot };
            if let Ok(at) = usize::try_from(slot - first)
                && let Some(place) = past.get_mut(at)
            {
                place.add(load);
            }
        }
        let (begin, begun) = (first * slot_ms, begun.unwrap_or(i64::MIN));
        let from_ms = begun.clamp(begin, begin + slot_ms - 1);
        let until_ms = ended.unwrap_or(end * slot_ms);
        Some(Past { slot_ms, loads: past, from_ms, until_ms })
    }
}

impl Ring {
    fn push(&mut self, slot: i64, load: Load) {
        match self.loads.back_mut() {
            // After the clock was set back, work is added to the latest slot.
            Some((latest, sum)) if slot <= *latest => sum.add(load),
            _ => self.loads.push_back((slot, load)),
        }
    }

    fn is_too_long(&self) -> bool {
        let ends = self.loads.front().zip(self.loads.back());
        ends.is_some_and(|((first, _), (last, _))| last - first >= SLOTS)
    }

    /// Joins each two neighbouring slots into one of twice the length.
    fn halve(&mut self) {
        self.slot_ms *= 2;
        for (slot, load) in std::mem::take(&mut self.loads) {
            self.push(slot.div_euclid(2), load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Option<JobId> = Some(JobId(1));
    const HOUR: i64 = 3_600_000;
    /// The times of a job that goes on.
    const NOW: Times = Times {
        submitted_at_ms: None,
        begun_at_ms: None,
        counted_at_ms: None,
        paused_at_ms: None,
        paused_ms: 0,
        ended_at_ms: None,
    };

    fn load(placements: u64) -> Load {
        Load { placements: placements as f64, workers: placements }
    }

    fn sum(past: &Past) -> f64 {
        past.loads.iter().map(|load| load.placements).sum()
    }

    #[test]
    fn what_was_done_is_remembered_with_its_workers() {
        let mut history = History::default();
        let jobs = BTreeSet::from([JobId(1), JobId(2)]);
        history.note(0, &[], 0, &jobs);
        assert_eq!(history.of(None, 10_000, NOW), None);
        let of = |job, placements| Progress { job: JobId(job), placements, workers: 3 };
        history.note(1, &[of(1, 7.0), of(2, 2.0)], 4, &jobs);
        let loads = |job| history.of(job, 10_000, NOW).expect("they are news").loads;
        assert_eq!(loads(JOB), [Load { placements: 7.0, workers: 3 }]);
        assert_eq!(loads(None), [Load { placements: 9.0, workers: 4 }]);
    }

    #[test]
    fn a_job_that_was_removed_takes_no_memory() {
        let mut history = History::default();
        for job in (1..=1_000).map(JobId) {
            let progress = Progress { job, placements: 1.0, workers: 1 };
            history.note(1, &[progress], 1, &BTreeSet::from([job]));
        }
        assert_eq!(history.rings.len(), 2, "the last job and the farm");
        assert_eq!(history.of(None, 10_000, NOW).map(|past| sum(&past)), Some(1_000.0));
    }

    #[test]
    fn a_job_that_was_paused_for_days_has_no_more_slots_than_others() {
        let mut history = History::default();
        history.add(JOB, 0, load(3));
        history.add(JOB, 60_000, load(4));
        let past = history.of(JOB, 6 * 24 * HOUR, NOW).expect("it is known");
        assert!(
            past.loads.len() <= SLOTS as usize && past.until_ms >= 6 * 24 * HOUR - past.slot_ms
        );
        assert_eq!(sum(&past), 7.0);
    }

    #[test]
    fn what_was_counted_in_a_slot_is_added_up() {
        let mut history = History::default();
        for (at, placements) in [(0, 1), (9_999, 2), (10_000, 4), (30_000, 8)] {
            history.add(JOB, at, load(placements));
        }
        let past = history.of(JOB, 40_000, NOW).expect("it is known");
        assert_eq!((past.slot_ms, past.until_ms), (10_000, 40_000));
        let placements: Vec<f64> = past.loads.iter().map(|load| load.placements).collect();
        assert_eq!(placements, [3.0, 4.0, 0.0, 8.0]);
        assert_eq!(history.of(JOB, 9_999, NOW), None, "its first slot is not over");
        assert_eq!(past.loads[0].workers, 2, "the most at a time");
        assert_eq!(history.of(Some(JobId(2)), 40_000, NOW), None);
        assert_eq!(history.of(None, 40_000, NOW), None);
    }

    #[test]
    fn the_history_of_an_ended_job_ends_with_it() {
        let mut history = History::default();
        [9_000, 15_000, 21_000, 31_000].into_iter().for_each(|at| history.add(JOB, at, load(1)));
        for (now, ended, slots, last) in [(32_000, 29_500, 3, 2.0), (HOUR, 23_000, 2, 3.0)] {
            let times = Times { ended_at_ms: Some(ended), begun_at_ms: Some(8_000), ..NOW };
            let past = history.of(JOB, now, times).expect("it is known");
            let begins = [0, 1, slots].map(|slot| past.begin(slot));
            assert_eq!(begins, [8_000, 10_000, ended], "it is not wider than the job");
            assert_eq!(
                past.loads[slots - 1].placements,
                last,
                "what was noted after the end is in it"
            );
            assert_eq!((past.loads.len(), sum(&past)), (slots, 4.0));
        }
    }

    #[test]
    fn a_long_job_is_shown_as_a_whole_in_longer_slots_and_memory_is_bounded() {
        let mut history = History::default();
        let year = 24 * 365;
        for hour in 0..year {
            history.add(JOB, hour * HOUR, load(1));
            history.add(None, hour * HOUR, load(1));
        }
        // The last slot is over then.
        let past = history.of(JOB, (year + 24) * HOUR, NOW).expect("it is known");
        assert_eq!(sum(&past), year as f64);
        let kept = history.rings[&JOB].loads.len();
        assert!(kept as i64 <= SLOTS, "{kept}");
        let farm = history.of(None, year * HOUR, NOW).expect("it is known");
        assert_eq!((farm.slot_ms, sum(&farm)), (10_000, 6.0), "six hours");
        history.note(year * HOUR + KEPT_MS, &[], 0, &BTreeSet::from([JobId(1)]));
        assert_eq!(history.of(JOB, year * HOUR, NOW), None, "nothing was counted for a week");
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut history = History::default();
        history.add(JOB, HOUR, load(1));
        history.add(JOB, 0, load(2));
        assert_eq!(history.of(JOB, 2 * HOUR, NOW).map(|past| sum(&past)), Some(3.0));
    }

    #[test]
    fn no_time_is_too_early_or_too_late() {
        const TIMES: [i64; 5] = [i64::MIN, -1, 253_402_300_800_000, i64::MAX - 1, i64::MAX];
        for at in 0..TIMES.len().pow(4) {
            let time = |step: usize| TIMES[at / step % TIMES.len()];
            let [noted, now, begun, ended] = [1, 5, 25, 125].map(time);
            let mut history = History::default();
            for at in [0, noted, now] {
                let progress = Progress { job: JobId(1), placements: 1.0, workers: 1 };
                history.note(at, &[progress], 1, &BTreeSet::from([JobId(1)]));
            }
            for ended_at_ms in [None, Some(ended)] {
                let times = Times { begun_at_ms: Some(begun), ended_at_ms, ..NOW };
                for job in [JOB, None] {
                    let past = history.of(job, now, times);
                    let slots = past.map_or(0, |past| past.loads.len());
                    assert!(slots as i64 <= SLOTS, "{slots}");
                }
            }
        }
    }
}
