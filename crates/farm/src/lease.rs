//! What is leased, and until when.
//!
//! ```text
//!   leased                                                              end
//!    ├── time without news ──┤ deadline: the lease is over             │
//!    │         ├── news: a report takes something off it, or, if it is to come back as a whole, its
//!    │         │         worker says that it is getting on ──┤ deadline │
//!    └── its life: over, whatever is said ─────────────────────────────┘
//! ```
//!
//! A report that repeats what was reported is no news. A worker that reports a task now and then
//! holds all the others; therefore a lease has an end: four times as long as it was to take by the
//! speed that was seen of its session, and the time without news. Nobody can check a worker that
//! says that it is getting on with a recount, and nobody knows how long that is to take: it has 64
//! times the time without news.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Fingerprint, IntervalSet, JobId, KernelName, LeaseId, LeaseToken, Millis, Plan, Range,
    SessionId,
};

/// A range leased to a worker, as the worker is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its number.
    pub id: LeaseId,
    /// The job it belongs to.
    pub job: JobId,
    /// Its plan.
    pub plan: Plan,
    /// The plan's fingerprint.
    pub fingerprint: Fingerprint,
    /// What to count.
    pub range: Range,
    /// The token that every report about the lease carries. It has the same range, and its kind
    /// says whether this is a recount.
    pub token: LeaseToken,
    /// The range was counted before, and must come back as one report. Such a lease may exceed the
    /// credit of a worker that holds nothing else.
    pub recount: Option<Recount>,
}

/// How a range that was counted before is to be counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recount {
    /// By another kernel than this one.
    pub unlike: KernelName,
    /// By the reference, if the method is `colours`. Other methods have no slower check.
    pub by_reference: bool,
}

/// A range leased to a worker until a deadline, as the farm keeps it.
#[derive(Clone, Debug)]
pub(crate) struct OpenLease {
    pub(crate) session: SessionId,
    pub(crate) job: JobId,
    /// What is still expected. Never empty.
    pub(crate) open: IntervalSet,
    /// A recount of accepted ordinals, to settle a dispute.
    pub(crate) recount: bool,
    /// Whether anything of it has come back.
    pub(crate) reported: bool,
    pub(crate) leased_at: Millis,
    /// Thread time that was expected of a task.
    pub(crate) task_ns: u64,
    pub(crate) term: LeaseTime,
}

/// How long a lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseTime {
    /// Without news it is over then.
    pub(crate) deadline: Millis,
    /// With whatever news, it is over then.
    pub(crate) end: Millis,
}

impl LeaseTime {
    /// A first count may take so many times as long as it was to take.
    const LIFE: u64 = 4;
    /// A recount may take so many times the time that it has without news. By searching it may take
    /// a hundred times as long as the first count.
    const RECOUNT: u64 = 64;

    /// Of a first count that is leased now, has `ttl_ms` without news and is to take `expected_ms`:
    /// as long as it may be without news, if nobody knows.
    pub(crate) fn of_count(now: Millis, ttl_ms: u64, expected_ms: Option<u64>) -> LeaseTime {
        let expected_ms = expected_ms.unwrap_or(ttl_ms);
        let life_ms = ttl_ms.saturating_add(expected_ms.saturating_mul(Self::LIFE));
        LeaseTime { deadline: now.after(ttl_ms), end: now.after(life_ms) }
    }

    /// Of a recount that is leased now; with news it may take `factor` times as long as usual.
    pub(crate) fn of_recount(now: Millis, ttl_ms: u64, factor: u64) -> LeaseTime {
        let most_ms = ttl_ms.saturating_mul(Self::RECOUNT).saturating_mul(factor);
        LeaseTime { deadline: now.after(ttl_ms), end: now.after(most_ms) }
    }
}

/// All leases, with their deadlines in order.
///
/// A lease whose session ended is *orphaned*: what was open of it is free, and its worker may come
/// back for it until the same deadline. So nobody keeps ordinals for longer by coming and going.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    leases: BTreeMap<LeaseId, OpenLease>,
    deadlines: BTreeSet<(Millis, LeaseId)>,
    /// The orphaned leases. Their deadlines may have come.
    pub(crate) orphans: BTreeMap<LeaseId, LeaseTime>,
    /// How many leases of each job each session holds; never 0. Clients ask often.
    holders: BTreeMap<JobId, BTreeMap<SessionId, usize>>,
}

impl Leases {
    pub(crate) fn get(&self, id: LeaseId) -> Option<&OpenLease> {
        self.leases.get(&id)
    }

    /// Adds `range` to a lease, or makes it as `new` says.
    pub(crate) fn assign(&mut self, id: LeaseId, range: Range, new: OpenLease) -> &OpenLease {
        let lease = self.leases.entry(id).or_insert_with(|| {
            *self.holders.entry(new.job).or_default().entry(new.session).or_default() += 1;
            new
        });
        lease.open.insert(range);
        self.deadlines.insert((lease.term.deadline, id));
        lease
    }

    /// There is news of a lease: it has until `deadline` without any, but not beyond its end.
    pub(crate) fn renew(&mut self, id: LeaseId, deadline: Millis) {
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.reported = true;
            self.deadlines.remove(&(lease.term.deadline, id));
            lease.term.deadline = deadline.min(lease.term.end);
            self.deadlines.insert((lease.term.deadline, id));
        }
    }

    /// Takes ordinals out of a lease, and ends it if they were the last of it. Returns how many
    /// were open.
    pub(crate) fn shrink(&mut self, id: LeaseId, range: Range) -> u64 {
        let Some(lease) = self.leases.get_mut(&id) else { return 0 };
        let taken = lease.open.remove(range).into_iter().map(Range::len).sum();
        if lease.open.is_empty() {
            self.end(id);
        }
        taken
    }

    pub(crate) fn end(&mut self, id: LeaseId) -> Option<OpenLease> {
        let lease = self.leases.remove(&id)?;
        self.deadlines.remove(&(lease.term.deadline, id));
        let of_job = self.holders.get_mut(&lease.job).expect("every lease is counted");
        let held = of_job.get_mut(&lease.session).expect("every lease is counted");
        *held -= 1;
        if *held == 0 {
            of_job.remove(&lease.session);
        }
        if of_job.is_empty() {
            self.holders.remove(&lease.job);
        }
        Some(lease)
    }

    /// Ends a lease whose session ended, and remembers its deadline. Forgets those whose deadline
    /// has come.
    pub(crate) fn orphan(&mut self, id: LeaseId, now: Millis) -> Option<OpenLease> {
        let lease = self.end(id)?;
        self.orphans.retain(|_, term| term.deadline > now);
        self.orphans.insert(id, lease.term);
        Some(lease)
    }

    pub(crate) fn of_job(&self, job: JobId) -> Vec<LeaseId> {
        let of_job = self.leases.iter().filter(|(_, lease)| lease.job == job);
        of_job.map(|(&id, _)| id).collect()
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.holders.keys().copied()
    }

    pub(crate) fn holders(&self, job: JobId) -> impl Iterator<Item = SessionId> + '_ {
        self.holders.get(&job).into_iter().flat_map(|held| held.keys().copied())
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// A lease whose deadline has come, the most overdue first.
    pub(crate) fn overdue(&self, now: Millis) -> Option<LeaseId> {
        let &(deadline, id) = self.deadlines.first()?;
        (deadline <= now).then_some(id)
    }
}
