//! How fast sessions count a job, what its tasks have cost, and how much time is left by that.
//!
//! A plan is leased from all over it ([`scheduler`](crate::scheduler)), so what each worker has counted is a fair
//! sample of the plan, and what is left takes it about as long for each task. It counts at that pace side by side with
//! the others:
//!
//! ```text
//!   time left = tasks left / Σ threads(w) tasks(w) / time(w)     over the workers w
//! ```
//!
//! A worker's time passes by the farm's clock for each of its threads. Processor time would not do: a worker whose
//! processors are shared with other programs takes longer than that. What a ledger knows from before is processor time;
//! it stands for workers of which nothing is known yet.

use std::collections::BTreeMap;

use crate::lease::OpenLease;
use crate::session::Speed;
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
    /// and as many as take each thread so long. Machines that others use change from minute to minute.
    const LEAST_US: u64 = 60_000_000;

    /// So many tasks took `thread_us` together.
    pub fn add(&mut self, tasks: u64, thread_us: u64) {
        self.tasks = self.tasks.saturating_add(tasks);
        self.thread_us = self.thread_us.saturating_add(thread_us.max(1));
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

/// How fast sessions count a job, and what its tasks have cost so far.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    sessions: BTreeMap<SessionId, Measured>,
    /// By sessions that are gone.
    earlier: Spent,
    /// Tasks per 1,000 seconds of all sessions.
    pub(crate) rate: u64,
}

#[derive(Debug, Default)]
struct Measured {
    speed: Speed,
    /// All that it has counted, for the first time.
    all: Spent,
    /// Without what it reported first: while a worker counts that, it touches its memory for the first time.
    spent: Option<Spent>,
}

impl Costs {
    /// A worker is known once each of its threads has counted for so long; before, it is taken for one like all.
    const KNOWN_US: u64 = 4_000_000;
    /// There is no estimate before three quarters of the threads belong to workers that are known.
    const KNOWN_SHARE: f64 = 0.75;

    pub(crate) fn new(earlier: Spent) -> Costs {
        Costs { earlier, ..Costs::default() }
    }

    /// `reported` tasks have come back from a session of `threads` threads now, with so many placements in the `tasks` that
    /// its lease was open for.
    pub(crate) fn measured(
        &mut self,
        now: Millis,
        (lease, threads): (&OpenLease, u32),
        reported: u64,
        (tasks, placements): (u64, f64),
    ) {
        let speed = &mut self.sessions.entry(lease.session).or_default().speed;
        self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
        let ms = speed.measured(now, lease, tasks, placements);
        self.rate = self.rate.saturating_add(speed.tasks_per_kilosecond().unwrap_or(0));
        if !lease.recount {
            self.add(lease.session, threads, reported, ms.saturating_mul(1_000));
        }
    }

    /// A session of `threads` threads has counted so many tasks in `us` by the farm's clock.
    fn add(&mut self, session: SessionId, threads: u32, tasks: u64, us: u64) {
        let measured = self.sessions.entry(session).or_default();
        measured.all.add(tasks, us.saturating_mul(threads.into()));
        match &mut measured.spent {
            None => measured.spent = Some(Spent::default()),
            Some(spent) => {
                spent.add(tasks, us.saturating_mul(threads.into()));
                spent.fade(threads);
            }
        }
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        if let Some(Measured { speed, spent, .. }) = self.sessions.remove(&session) {
            self.rate = self.rate.saturating_sub(speed.tasks_per_kilosecond().unwrap_or(0));
            spent.iter().for_each(|spent| self.earlier.add(spent.tasks, spent.thread_us));
        }
    }

    /// Tasks per 1,000 seconds of one session, once it is known.
    pub(crate) fn rate_of(&self, session: SessionId) -> Option<u64> {
        self.sessions.get(&session)?.speed.tasks_per_kilosecond()
    }

    /// How fast a session counts it and how many tasks it was seen to count; nothing before that is known.
    pub(crate) fn speed_of(&self, session: SessionId) -> Speed {
        self.sessions.get(&session).map(|measured| measured.speed).unwrap_or_default()
    }

    /// Time of a thread of a session that a task has taken on average, ms; 0 before it has counted any.
    ///
    /// It is the time since the session got its first lease. Where some tasks of many threads have come back, it is rather
    /// too long: the others have taken a part of their time, too.
    pub(crate) fn task_ms(&self, session: SessionId) -> u64 {
        let pace = self.sessions.get(&session).and_then(|measured| measured.all.pace());
        pace.map_or(0, |pace| (1e-3 / pace) as u64)
    }

    pub(crate) fn all(&self) -> Spent {
        let mut all = self.earlier;
        for spent in self.sessions.values().filter_map(|measured| measured.spent) {
            all.add(spent.tasks, spent.thread_us);
        }
        all
    }

    /// Time of a thread that a task has taken on average, microseconds; `None` before any was counted.
    pub(crate) fn us_per_task(&self) -> Option<f64> {
        self.all().pace().map(f64::recip)
    }

    /// How long so many tasks take `workers`: sessions, and how many threads they count them with. Microseconds; `None`
    /// without a thread, and before it can be estimated.
    pub(crate) fn us_left(&self, tasks: u64, workers: &[(SessionId, u32)]) -> Option<u64> {
        let like_all = self.all().pace()?;
        let (mut threads, mut known, mut pace) = (0.0, 0.0, 0.0);
        for &(session, its_threads) in workers {
            let is_known = |spent: &Spent| {
                spent.thread_us >= Self::KNOWN_US.saturating_mul(its_threads.into())
            };
            let own = self.sessions.get(&session).and_then(|measured| measured.spent);
            let own = own.filter(is_known).and_then(Spent::pace);
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

    /// As many as a worker of this slowness counts in 16 seconds.
    fn counted(costs: &mut Costs, session: u64, slowness: u64) {
        costs.add(SessionId(session), 1, 1, 1_000_000);
        for tasks in [100 / slowness; 16] {
            costs.add(SessionId(session), 1, tasks, 10_000 * slowness * tasks);
        }
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
        for reported in [false, false, true] {
            assert_eq!(left(&costs, 9, &[(2, 1)]).is_some(), reported);
            costs.add(SessionId(2), 1, 10, 4_000_000);
        }
        assert_eq!(left(&costs, 9, &[(2, 1), (3, 1)]), None, "half of the threads are new");
        assert_eq!(left(&costs, 9, &[(2, 9)]), None, "it has more threads than were seen");
    }

    #[test]
    fn a_worker_that_becomes_slow_is_slow_soon() {
        let mut costs = Costs::default();
        let round = |costs: &mut Costs, us: u64| {
            (0..16).for_each(|_| costs.add(SessionId(1), 1, 100, 100 * us));
        };
        (0..1_000).for_each(|_| round(&mut costs, 1_000));
        (0..50).for_each(|_| round(&mut costs, 4_000));
        let us = left(&costs, 1_000, &[(1, 1)]).expect("known");
        assert!((3e6..4.2e6).contains(&us), "{us}");
    }
}
