//! How fast sessions count a job, what its tasks have cost, and how much time is left according to
//! that.
//!
//! Ranges are leased from all parts of a plan ([`scheduler`](crate::scheduler)). What each worker
//! has counted is therefore a fair sample of the plan, and each remaining task takes the worker
//! about as long as a task of its sample. All workers count side by side, each at its own pace:
//!
//! ```text
//!   time left = tasks left / Σ threads(w) tasks(w) / time(w)     over the workers w
//! ```
//!
//! The time of a worker is the time that passed on the farm's clock, times its threads. Processor
//! time would be too short for a worker that shares its processors with other programs. What the
//! ledger knows from earlier sessions is processor time. It is used only for workers of which
//! nothing is known yet.

use std::collections::BTreeMap;

use crate::lease::OpenLease;
use crate::session::Rate;
use crate::{Millis, SessionId};

/// A number of a plan's tasks, and the thread time that was spent on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    tasks: u64,
    thread_us: u64,
}

impl Spent {
    /// At least this many of the latest tasks are remembered,
    const LEAST_TASKS: u64 = 1_000;
    /// and at least as many as take each thread this long. Older tasks weigh less, because the
    /// speed of a machine that others use changes from minute to minute.
    const LEAST_US: u64 = 60_000_000;

    /// Adds `tasks` tasks, which took `thread_us` together.
    pub fn add(&mut self, tasks: u64, thread_us: u64) {
        self.tasks = self.tasks.saturating_add(tasks);
        self.thread_us = self.thread_us.saturating_add(thread_us.max(1));
    }

    fn add_all(&mut self, other: Spent) {
        self.tasks = self.tasks.saturating_add(other.tasks);
        self.thread_us = self.thread_us.saturating_add(other.thread_us);
    }

    fn take_away(&mut self, other: Spent) {
        self.tasks = self.tasks.saturating_sub(other.tasks);
        self.thread_us = self.thread_us.saturating_sub(other.thread_us);
    }

    /// Halves the sums once they are large, so that what a worker of `threads` threads counted long
    /// ago weighs less.
    fn fade(&mut self, threads: u32) {
        let long = Self::LEAST_US.saturating_mul(threads.into());
        if self.tasks > 2 * Self::LEAST_TASKS && self.thread_us / 2 > long {
            (self.tasks, self.thread_us) = (self.tasks / 2, self.thread_us / 2);
        }
    }

    /// Tasks in a microsecond of one thread; `None` before any.
    fn pace(self) -> Option<f64> {
        (self.tasks > 0).then(|| self.tasks as f64 / self.thread_us as f64)
    }
}

/// How fast a session counts one job's tasks, as the farm sees it. What its worker says of its
/// threads and of the time that it took plays no part.
///
/// There are two measures of a session, and each report adds to both. The size of leases depends on
/// how fast the session counts *now*. A session may become slow, so that these sums forget what is
/// older than about [`Speed::MEMORY_MS`]. Predictions and deadlines depend on how long a task of
/// the plan takes the session *on average*. Tasks differ in size along the ordinals, so that the
/// average needs a larger sample, which forgets as [`Spent`] does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Speed {
    tasks: f64,
    /// The placements that these tasks counted.
    placements: f64,
    ms: f64,
    /// First counts alone, because a recount may be done with a slow kernel.
    sample: Spent,
    /// How many tasks were measured in all.
    pub(crate) counted: u64,
}

impl Speed {
    const MEMORY_MS: f64 = 20_000.0;
    /// A worker's own pace is used once each of its threads has counted for this long. Before that,
    /// the average pace of all workers stands for it.
    const KNOWN_US: u64 = 4_000_000;

    /// Notes that `tasks` tasks of `lease` have come back now, with this many placements. A first
    /// count has taken the time since the time `before`, at which the session reported something of
    /// whatever job, but not longer than its lease. A recount has taken the time since its lease
    /// began, because it comes back as a whole while first counts are reported beside it.
    ///
    /// No thread can have taken longer for a task than since it was leased, however many threads
    /// the worker says it has.
    fn measured(
        &mut self,
        now: Millis,
        before: Millis,
        lease: &OpenLease,
        threads: u32,
        tasks: u64,
        placements: f64,
    ) {
        let before = if lease.recount { Millis(0) } else { before };
        let ms = now.0.saturating_sub(before.max(lease.leased_at).0);
        self.counted = self.counted.saturating_add(tasks);
        self.tasks += tasks as f64;
        self.placements += placements;
        self.ms += ms as f64;
        let faded = (Self::MEMORY_MS / self.ms).min(1.0);
        self.tasks *= faded;
        self.placements *= faded;
        self.ms *= faded;
        if !lease.recount {
            let thread_us = ms.saturating_mul(1_000).saturating_mul(threads.into());
            let leased_us = now.0.saturating_sub(lease.leased_at.0).saturating_mul(1_000);
            let thread_us = thread_us.min(leased_us.saturating_mul(tasks));
            self.sample.add(tasks, thread_us);
            self.sample.fade(threads);
        }
    }

    /// How fast the session counts now.
    pub(crate) fn rate(self) -> Rate {
        let seconds = self.ms.max(1.0) / 1e3;
        Rate {
            tasks_per_second: self.tasks / seconds,
            placements_per_second: self.placements / seconds,
        }
    }

    /// How many tasks the session counts now in 1,000 seconds; at least 1. `None` before anything
    /// was measured.
    pub(crate) fn tasks_per_kilosecond(self) -> Option<u64> {
        (self.counted > 0).then(|| ((self.tasks * 1e6 / self.ms.max(1.0)) as u64).max(1))
    }

    /// Thread time that a task has taken this session on average, ms; 0 before it has counted any.
    ///
    /// All threads are taken to have worked on the tasks that have come back. As long as only a few
    /// tasks of many threads have come back, the result is too long, because other threads have
    /// spent their time on tasks that are not finished.
    pub(crate) fn task_ms(self) -> u64 {
        self.sample.pace().map_or(0, |pace| (1e-3 / pace) as u64)
    }

    /// Tasks in a microsecond of one of the session's `threads`, on average. `None` before each
    /// thread has counted for [`Speed::KNOWN_US`].
    fn pace(self, threads: u32) -> Option<f64> {
        let is_known = self.sample.thread_us >= Self::KNOWN_US.saturating_mul(threads.into());
        self.sample.pace().filter(|_| is_known)
    }
}

/// How fast sessions count a job, and what its tasks have cost so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    sessions: BTreeMap<SessionId, Speed>,
    /// The sum of the sessions' samples.
    present: Spent,
    /// What sessions that are gone have spent, and what the ledger knew before.
    earlier: Spent,
    /// Tasks per 1,000 seconds of all sessions.
    pub(crate) rate: u64,
}

impl Costs {
    /// There is no estimate before this part of the threads belongs to workers whose own pace is
    /// known.
    const KNOWN_SHARE: f64 = 0.75;

    pub(crate) fn new(earlier: Spent) -> Costs {
        Costs { earlier, ..Costs::default() }
    }

    /// Notes that `tasks` tasks of `lease`, which a session of `threads` threads holds, have come
    /// back now, with this many placements. The session last reported something `before`.
    pub(crate) fn measured(
        &mut self,
        now: Millis,
        before: Millis,
        lease: &OpenLease,
        threads: u32,
        tasks: u64,
        placements: f64,
    ) {
        let speed = self.sessions.entry(lease.session).or_default();
        self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
        self.present.take_away(speed.sample);
        speed.measured(now, before, lease, threads, tasks, placements);
        self.rate = self.rate.saturating_add(speed.tasks_per_kilosecond().unwrap_or(0));
        self.present.add_all(speed.sample);
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        if let Some(speed) = self.sessions.remove(&session) {
            self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
            self.present.take_away(speed.sample);
            self.earlier.add_all(speed.sample);
        }
    }

    /// How fast a session counts the job. The speed is empty if the session has counted nothing of
    /// it.
    pub(crate) fn speed_of(&self, session: SessionId) -> Speed {
        self.sessions.get(&session).copied().unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Spent {
        let mut all = self.earlier;
        all.add_all(self.present);
        all
    }

    /// Thread time that a task has taken on average, microseconds. `None` before any task was
    /// counted.
    pub(crate) fn us_per_task(&self) -> Option<f64> {
        self.all().pace().map(f64::recip)
    }

    /// How long `workers` take to count this many tasks, microseconds. A worker is a session and
    /// the number of threads with which it counts the job. `None` if there is no thread, and before
    /// the time can be estimated.
    pub(crate) fn us_left(&self, tasks: u64, workers: &[(SessionId, u32)]) -> Option<u64> {
        let like_all = self.all().pace()?;
        let (mut threads, mut known, mut pace) = (0.0, 0.0, 0.0);
        for &(session, its_threads) in workers {
            let own = self.speed_of(session).pace(its_threads);
            let its_threads = f64::from(its_threads);
            threads += its_threads;
            known += own.map_or(0.0, |_| its_threads);
            pace += its_threads * own.unwrap_or(like_all);
        }
        let is_reported = threads > 0.0 && known >= Self::KNOWN_SHARE * threads;
        is_reported.then(|| (tasks as f64 / pace) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of one thread reports tasks, `ms` after its last report.
    fn report(costs: &mut Costs, session: u64, tasks: u64, ms: u64) {
        let session = SessionId(session);
        let lease = OpenLease::for_test(session);
        let before = Millis(1 << 40);
        costs.measured(before.after(ms), before, &lease, 1, tasks, 0.0);
    }

    /// A worker that is `slowness` times as slow as the fastest one counts for 16 seconds.
    fn counted(costs: &mut Costs, session: u64, slowness: u64) {
        (0..16).for_each(|_| report(costs, session, 100 / slowness, 1_000));
    }

    fn left(costs: &Costs, tasks: u64, workers: &[(u64, u32)]) -> Option<f64> {
        let workers: Vec<_> =
            workers.iter().map(|&(id, threads)| (SessionId(id), threads)).collect();
        costs.us_left(tasks, &workers).map(|us| us as f64)
    }

    #[test]
    fn each_worker_goes_on_at_its_own_pace() {
        let mut costs = Costs::default();
        counted(&mut costs, 1, 1);
        counted(&mut costs, 2, 10);
        let near = |workers: &[(u64, u32)], expected: f64| {
            let ratio = left(&costs, 1_000, workers).expect("known") / 10_000_000.0;
            assert!((ratio / expected - 1.0).abs() < 0.01, "{ratio} for {expected}");
        };
        near(&[(1, 2)], 0.5);
        near(&[(2, 1)], 10.0);
        near(&[(1, 1), (2, 1)], 1.0 / 1.1);
        assert_eq!(left(&costs, 1_000, &[]), None);
    }

    #[test]
    fn nothing_is_told_before_workers_are_known() {
        let mut costs = Costs::default();
        counted(&mut costs, 1, 1);
        costs.forget_session(SessionId(1));
        assert_eq!(left(&costs, 9, &[(2, 1)]), None, "nobody knows how fast the new one is");
        for is_told in [false, false, true] {
            assert_eq!(left(&costs, 9, &[(2, 1)]).is_some(), is_told);
            report(&mut costs, 2, 10, 2_000);
        }
        assert_eq!(left(&costs, 9, &[(2, 1), (3, 1)]), None, "half of the threads are new");
        assert_eq!(left(&costs, 9, &[(2, 9)]), None, "it has more threads than were seen");
    }

    #[test]
    fn a_worker_that_becomes_slow_is_slow_soon() {
        let mut costs = Costs::default();
        (0..16_000).for_each(|_| report(&mut costs, 1, 100, 100));
        (0..800).for_each(|_| report(&mut costs, 1, 100, 400));
        let us = left(&costs, 1_000, &[(1, 1)]).expect("known");
        assert!((3e6..4.2e6).contains(&us), "{us}");
    }
}
