//! How fast sessions count a job, what its tasks have cost, and how much time is left by that.
//!
//! A plan is leased from all over it ([`scheduler`](crate::scheduler)), so what each worker has
//! counted is a fair sample of the plan, and what is left takes it about as long for each task. It
//! counts at that pace side by side with the others:
//!
//! ```text
//!   time left = tasks left / Σ threads(w) tasks(w) / time(w)     over the workers w
//! ```
//!
//! A worker's time passes by the farm's clock for each of its threads. Processor time would not do:
//! a worker whose processors are shared with other programs takes longer than that. What a ledger
//! knows from before is processor time; it stands for workers of which nothing is known yet.

use std::collections::BTreeMap;

use crate::lease::OpenLease;
use crate::session::Rate;
use crate::{Millis, SessionId};

/// Time of threads that was spent on some of a plan's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    tasks: u64,
    thread_us: u64,
}

impl Spent {
    /// So many tasks are remembered at least,
    const LEAST_TASKS: u64 = 1_000;
    /// and as many as take each thread so long. Machines that others use change from minute to
    /// minute.
    const LEAST_US: u64 = 60_000_000;

    /// So many tasks took `thread_us` together.
    pub fn add(&mut self, tasks: u64, thread_us: u64) {
        self.tasks = self.tasks.saturating_add(tasks);
        self.thread_us = self.thread_us.saturating_add(thread_us.max(1));
    }

    fn add_all(&mut self, other: Spent) {
        self.tasks = self.tasks.saturating_add(other.tasks);
        self.thread_us = self.thread_us.saturating_add(other.thread_us);
    }

    /// What was counted long ago by a worker of `threads` threads weighs less.
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
/// A session is asked two things, and each report answers both. Leases go by what it counts *now*:
/// it may have become slow, so that these sums forget all but [`Speed::MEMORY_MS`]. Predictions and
/// deadlines go by what a task of the plan takes it *on average*: tasks differ in size along the
/// ordinals, so that they need a fair sample of them, which forgets as [`Spent`] does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Speed {
    tasks: f64,
    /// What they counted.
    placements: f64,
    ms: f64,
    /// First counts alone: a recount may be by a slow kernel.
    sample: Spent,
    /// All tasks that were measured.
    pub(crate) counted: u64,
    measured_at: Millis,
}

impl Speed {
    const MEMORY_MS: f64 = 20_000.0;
    /// A worker is known once each of its threads has counted for so long; before, it is taken for
    /// one like all.
    const KNOWN_US: u64 = 4_000_000;

    /// `tasks` of `lease` have come back now, with so many placements. They were counted since
    /// others came back, or, if they had to come back as a whole, beside these.
    fn measured(
        &mut self,
        now: Millis,
        lease: &OpenLease,
        threads: u32,
        tasks: u64,
        placements: f64,
    ) {
        let before = if lease.recount { Millis(0) } else { self.measured_at };
        let ms = now.0.saturating_sub(before.max(lease.leased_at).0);
        self.measured_at = now;
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
            self.sample.add(tasks, thread_us);
            self.sample.fade(threads);
        }
    }

    /// How fast it counts now.
    pub(crate) fn rate(self) -> Rate {
        let seconds = self.ms.max(1.0) / 1e3;
        Rate {
            tasks_per_second: self.tasks / seconds,
            placements_per_second: self.placements / seconds,
        }
    }

    /// Tasks that it counts now in 1,000 seconds, at least 1; `None` before anything was measured.
    pub(crate) fn tasks_per_kilosecond(self) -> Option<u64> {
        (self.counted > 0).then(|| ((self.tasks * 1e6 / self.ms.max(1.0)) as u64).max(1))
    }

    /// Time of a thread that a task has taken on average, ms; 0 before it has counted any.
    ///
    /// It is the time since the session got its first lease. Where some tasks of many threads have
    /// come back, it is rather too long: the others have taken a part of their time, too.
    pub(crate) fn task_ms(self) -> u64 {
        self.sample.pace().map_or(0, |pace| (1e-3 / pace) as u64)
    }

    /// Tasks in a microsecond of one of its `threads` on average; `None` before it is known.
    fn pace(self, threads: u32) -> Option<f64> {
        let is_known = self.sample.thread_us >= Self::KNOWN_US.saturating_mul(threads.into());
        self.sample.pace().filter(|_| is_known)
    }
}

/// How fast sessions count a job, and what its tasks have cost so far.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    sessions: BTreeMap<SessionId, Speed>,
    /// By sessions that are gone.
    earlier: Spent,
    /// Tasks per 1,000 seconds of all sessions.
    pub(crate) rate: u64,
}

impl Costs {
    /// There is no estimate before three quarters of the threads belong to workers that are known.
    const KNOWN_SHARE: f64 = 0.75;

    pub(crate) fn new(earlier: Spent) -> Costs {
        Costs { earlier, ..Costs::default() }
    }

    /// `tasks` of `lease`, which a session of `threads` threads has, have come back now, with so
    /// many placements.
    pub(crate) fn measured(
        &mut self,
        now: Millis,
        lease: &OpenLease,
        threads: u32,
        tasks: u64,
        placements: f64,
    ) {
        let speed = self.sessions.entry(lease.session).or_default();
        self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
        speed.measured(now, lease, threads, tasks, placements);
        self.rate = self.rate.saturating_add(speed.tasks_per_kilosecond().unwrap_or(0));
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        if let Some(speed) = self.sessions.remove(&session) {
            self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
            self.earlier.add_all(speed.sample);
        }
    }

    /// How fast a session counts it; that of one that has counted nothing is not known.
    pub(crate) fn speed_of(&self, session: SessionId) -> Speed {
        self.sessions.get(&session).copied().unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Spent {
        let mut all = self.earlier;
        self.sessions.values().for_each(|speed| all.add_all(speed.sample));
        all
    }

    /// Time of a thread that a task has taken on average, microseconds; `None` before any was
    /// counted.
    pub(crate) fn us_per_task(&self) -> Option<f64> {
        self.all().pace().map(f64::recip)
    }

    /// How long so many tasks take `workers`: sessions, and how many threads they count them with.
    /// Microseconds; `None` without a thread, and before it can be estimated.
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
    use crate::lease::LeaseTime;
    use crate::{IntervalSet, JobId};

    /// A session of one thread reports tasks, so long after it last did.
    fn report(costs: &mut Costs, session: u64, tasks: u64, ms: u64) {
        let session = SessionId(session);
        let lease = OpenLease {
            session,
            job: JobId(1),
            open: IntervalSet::new(),
            recount: false,
            reported: false,
            leased_at: Millis(0),
            task_ns: 0,
            term: LeaseTime::of_count(Millis(0), 1, None),
        };
        let now = costs.speed_of(session).measured_at.after(ms);
        costs.measured(now, &lease, 1, tasks, 0.0);
    }

    /// What a worker of this slowness counts in 16 seconds.
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
