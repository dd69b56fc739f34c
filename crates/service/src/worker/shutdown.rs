//! When a worker leaves by itself, and what it still takes on before.
//!
//! ```text
//!   begin ─────────── counts ───────────┬─ holds only what fits ─┬─ hands back ─► end of its time
//!                                       the last leases          MARGIN before
//! ```

use std::time::Duration;

use executor::Part;
use farm::JobId;
use tokio::time::Instant;

/// How long before its end a worker begins to hand back: it waits a few seconds for the tasks that are being
/// counted, and needs some time for its last words.
const MARGIN: Duration = Duration::from_secs(6);

/// When a worker leaves without being asked to; by default never.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveRules {
    /// After so long without anything to do, while there is a coordinator that could lease something.
    pub when_idle: Option<Duration>,
    /// After so long in all: by then it has left.
    pub time_limit: Option<Duration>,
    /// After so long without a coordinator.
    pub without_coordinator: Option<Duration>,
}

/// How far a worker is from leaving.
#[derive(Debug)]
pub(super) struct Shutdown {
    rules: LeaveRules,
    threads: u32,
    /// When it hands back what it has not counted.
    hand_back_at: Option<Instant>,
    /// When the coordinator can lease something; `None` without one.
    leases_at: Option<Instant>,
    /// Since when it has nothing to do, while there is a coordinator that could lease something.
    idle_since: Option<Instant>,
    /// Since when there is no coordinator.
    alone_since: Option<Instant>,
    pace: Option<Pace>,
}

/// Thread time that the tasks of a job have taken lately, with the time for which their threads had no processor.
#[derive(Clone, Copy, Debug)]
struct Pace {
    job: JobId,
    tasks: u64,
    elapsed: Duration,
}

impl Shutdown {
    pub(super) fn new(rules: LeaveRules, threads: u32, now: Instant) -> Shutdown {
        let until_back = |limit: Duration| limit.saturating_sub(MARGIN.min(limit / 2));
        Shutdown {
            rules,
            threads,
            hand_back_at: rules.time_limit.and_then(|limit| now.checked_add(until_back(limit))),
            leases_at: None,
            idle_since: None,
            alone_since: Some(now),
            pace: None,
        }
    }

    /// A session began, in which something can be leased after this time.
    pub(super) fn welcomed(&mut self, now: Instant, leases_in: Duration) {
        // One that says a time beyond all bounds leases nothing that this worker could wait for.
        let leases_at = now.checked_add(leases_in).unwrap_or(now);
        (self.leases_at, self.alone_since, self.idle_since) = (Some(leases_at), None, None);
    }

    /// A session ended.
    pub(super) fn alone(&mut self, now: Instant) {
        let since = self.alone_since.unwrap_or(now);
        (self.leases_at, self.alone_since, self.idle_since) = (None, Some(since), None);
    }

    /// Whether the worker has anything to do. It is not idle before the coordinator can lease.
    pub(super) fn occupied(&mut self, now: Instant, is_busy: bool) {
        let from = self.leases_at.filter(|_| !is_busy);
        self.idle_since = from.map(|leases_at| self.idle_since.unwrap_or(now.max(leases_at)));
    }

    /// A part of a lease is counted.
    pub(super) fn counted(&mut self, part: &Part) {
        /// Older measurements fade: sums are halved whenever they pass this.
        const MEMORY: Duration = Duration::from_secs(20);
        let job = part.report.job;
        let known = self.pace.filter(|pace| pace.job == job);
        let mut pace = known.unwrap_or(Pace { job, tasks: 0, elapsed: Duration::ZERO });
        pace.tasks += part.report.range.len();
        pace.elapsed += part.elapsed;
        if pace.elapsed > MEMORY {
            (pace.tasks, pace.elapsed) = ((pace.tasks / 2).max(1), pace.elapsed / 2);
        }
        self.pace = Some(pace);
    }

    /// The most tasks to hold, so that they are counted in half of the time that is left; some take longer than
    /// others. It is rounded down to a power of two for each thread, so that it changes seldom. `None` if
    /// there is no limit, or before anything is counted.
    pub(super) fn most_tasks(&self, now: Instant) -> Option<u64> {
        /// Until so much is measured, tasks may take so many times as long as it seems, because the first ones
        /// of a plan may be easy.
        const DOUBT: (Duration, u128) = (Duration::from_secs(1), 32);
        let (left, pace) = (self.hand_back_at?.saturating_duration_since(now), self.pace?);
        let doubt = if pace.elapsed < DOUBT.0 { DOUBT.1 } else { 1 };
        let left_us = left.as_micros() * u128::from(pace.tasks);
        let each = left_us / (2 * doubt * pace.elapsed.as_micros().max(1));
        let each = u64::try_from(each).unwrap_or(u64::MAX).checked_ilog2();
        Some(each.map_or(0, |log| (1u64 << log).saturating_mul(u64::from(self.threads))))
    }

    /// Why it is time to hand back, if it is.
    pub(super) fn reason(&self, now: Instant) -> Option<&'static str> {
        let is_past = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_past(self.hand_back_at) {
            Some("the time limit is near")
        } else if is_past(self.idle_until()) {
            Some("there was nothing to do for long enough")
        } else if self.idle_since.is_some() && self.most_tasks(now) == Some(0) {
            Some("no task can be finished in the time that is left")
        } else {
            None
        }
    }

    /// The next time to ask for the reason and for the most tasks, if nothing happens before.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        /// How often the limit of tasks is looked at.
        const INTERVAL: Duration = Duration::from_secs(1);
        let limit = self.hand_back_at.map(|at| at.min(now + INTERVAL));
        limit.into_iter().chain(self.idle_until()).min()
    }

    /// When the worker gives up, if it may and there is no coordinator.
    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        self.alone_since?.checked_add(self.rules.without_coordinator?)
    }

    fn idle_until(&self) -> Option<Instant> {
        self.idle_since?.checked_add(self.rules.when_idle?)
    }
}

#[cfg(test)]
mod tests {
    use farm::{Fingerprint, KernelName, Lease, LeaseId, LeaseKey, LeaseKind, LeaseTerms};
    use farm::{Method, Plan, Problem, Range, Report, Tally, TaskCounts};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// It had a processor for a quarter of the time.
    fn part(job: u64, tasks: u64, elapsed: Duration) -> Part {
        let plan = Plan { problem: Problem::Total { n: 12 }, method: Method::Halves, tasks };
        let range = Range::new(0, tasks).expect("it is not empty");
        let (job, fingerprint, lease): (_, Fingerprint, _) =
            (JobId(job), plan.fingerprint(), LeaseId(1));
        let terms = LeaseTerms { job, plan: fingerprint, lease, owner: "o" };
        let token = LeaseKey::new([0; 32]).sign(&terms, range, LeaseKind::Count);
        let lease = Lease { id: lease, job, plan, fingerprint, range, token, recount: None };
        let (tally, busy_us) = (Tally::EMPTY, elapsed.as_micros() as u64 / 4);
        let (task_counts, kernel) = (TaskCounts::default(), KernelName::default());
        let report = Report::new(&lease, range, tally, task_counts, kernel, busy_us);
        Part { report, elapsed }
    }

    fn limited(seconds: u32, threads: u32) -> (Shutdown, Instant) {
        let now = Instant::now();
        let rules = LeaveRules { time_limit: Some(seconds * SECOND), ..LeaveRules::default() };
        (Shutdown::new(rules, threads, now), now)
    }

    #[test]
    fn what_is_held_shrinks_with_the_time_that_is_left() {
        let (mut shutdown, now) = limited(106, 2);
        assert_eq!(shutdown.most_tasks(now), None, "nothing is known");
        shutdown.counted(&part(1, 10, 10 * SECOND));
        let held = |at: u32| shutdown.most_tasks(now + at * SECOND);
        // A task takes a second of a thread, and is handed back after 100 seconds.
        assert_eq!([held(0), held(60), held(90), held(98), held(99)], [64, 32, 8, 2, 0].map(Some));
    }

    #[test]
    fn a_first_impression_is_doubted_and_each_job_has_its_own_pace() {
        let (mut shutdown, now) = limited(134, 1);
        shutdown.counted(&part(1, 100, SECOND / 10));
        let of_first_tasks = shutdown.most_tasks(now).expect("it is limited");
        shutdown.counted(&part(1, 900, 9 * SECOND / 10));
        let of_many = shutdown.most_tasks(now).expect("it is limited");
        assert!(of_first_tasks * 20 < of_many, "{of_first_tasks} and {of_many}");
        shutdown.counted(&part(2, 1, 8 * SECOND));
        assert_eq!(shutdown.most_tasks(now), Some(8), "another job's tasks take longer");
    }

    #[test]
    fn a_worker_that_cannot_finish_a_task_leaves_when_it_has_none() {
        let (mut shutdown, now) = limited(36, 1);
        shutdown.welcomed(now, Duration::ZERO);
        shutdown.counted(&part(1, 1, 20 * SECOND));
        shutdown.occupied(now, true);
        assert_eq!(shutdown.reason(now), None, "it finishes what it has");
        shutdown.occupied(now, false);
        assert!(shutdown.reason(now).is_some_and(|reason| reason.starts_with("no task")));
        assert!(shutdown.reason(now + 30 * SECOND).is_some_and(|reason| reason.contains("limit")));
    }

    #[test]
    fn idleness_counts_only_while_there_is_a_coordinator() {
        let now = Instant::now();
        let (idle, alone) = (Some(5 * SECOND), Some(20 * SECOND));
        let rules =
            LeaveRules { when_idle: idle, without_coordinator: alone, ..LeaveRules::default() };
        let mut shutdown = Shutdown::new(rules, 1, now);
        assert_eq!((shutdown.reason(now + 9 * SECOND), shutdown.next_look(now)), (None, None));
        assert_eq!(shutdown.gives_up_at(), Some(now + 20 * SECOND), "from its start on");

        shutdown.welcomed(now + 10 * SECOND, Duration::ZERO);
        shutdown.occupied(now + 10 * SECOND, false);
        shutdown.occupied(now + 13 * SECOND, false);
        assert_eq!(shutdown.gives_up_at(), None);
        assert!(shutdown.reason(now + 15 * SECOND).is_some(), "since the first of these looks");

        shutdown.alone(now + 14 * SECOND);
        shutdown.alone(now + 16 * SECOND);
        assert_eq!(shutdown.reason(now + 20 * SECOND), None);
        assert_eq!(shutdown.gives_up_at(), Some(now + 34 * SECOND));
    }

    #[test]
    fn a_worker_is_idle_only_once_the_coordinator_can_lease() {
        let now = Instant::now();
        let rules = LeaveRules { when_idle: Some(2 * SECOND), ..LeaveRules::default() };
        let mut shutdown = Shutdown::new(rules, 1, now);
        shutdown.occupied(now, false);
        assert_eq!(shutdown.next_look(now), None, "nobody has welcomed it");

        shutdown.welcomed(now, 10 * SECOND);
        shutdown.occupied(now, false);
        shutdown.occupied(now + 9 * SECOND, false);
        assert_eq!(shutdown.next_look(now), Some(now + 12 * SECOND));
        assert_eq!(shutdown.reason(now + 11 * SECOND), None);
        assert!(shutdown.reason(now + 12 * SECOND).is_some());

        shutdown.occupied(now + 12 * SECOND, true);
        shutdown.occupied(now + 13 * SECOND, false);
        assert_eq!(shutdown.reason(now + 14 * SECOND), None, "it was busy meanwhile");
        shutdown.welcomed(now, Duration::MAX);
        shutdown.occupied(now, false);
        assert!(shutdown.reason(now + 2 * SECOND).is_some(), "no time at all is waited for");
    }
}
