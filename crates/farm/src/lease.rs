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
//! A report that repeats an earlier report is no news. A worker that reports one task now and then
//! could keep all other tasks of its lease for ever. Therefore the life of a lease has an end. A
//! first count may take the time without news, and in addition four times as long as was expected
//! by the speed that was seen of its session. Nobody knows how long a recount takes, and nobody can
//! check a worker that says that it is getting on with one. A recount may therefore take 64 times
//! the time without news.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Fingerprint, IntervalSet, JobId, KernelName, LeaseId, LeaseToken, Millis, Plan, Range,
    SessionId,
};

/// A range that is leased to a worker, as it is sent to the worker.
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

impl Lease {
    /// No lease has more tasks, so that losing one never costs more than this, whatever a worker
    /// says about its speed. A recount has no more either: only rows of one lease are joined.
    pub const MOST_TASKS: u64 = 1 << 22;
}

/// How a range that was counted before is to be counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recount {
    /// The kernel of the earlier count. The recount must use another one.
    pub unlike: KernelName,
    /// Whether the reference is to count the range, if the method is `colours`. Other methods have
    /// no reference.
    pub by_reference: bool,
}

/// A range leased to a worker until a deadline, as the farm keeps it.
#[derive(Clone, Debug)]
pub(crate) struct OpenLease {
    pub(crate) session: SessionId,
    pub(crate) job: JobId,
    /// The ordinals that are still expected. They are never empty.
    pub(crate) open: IntervalSet,
    /// Whether it is a recount of accepted ordinals, for an audit or to settle a dispute.
    pub(crate) recount: bool,
    /// Whether anything of it has come back.
    pub(crate) reported: bool,
    pub(crate) leased_at: Millis,
    /// Thread time that was expected of a task.
    pub(crate) task_ns: u64,
    pub(crate) term: LeaseTime,
}

#[cfg(test)]
impl OpenLease {
    /// A first count that a session has begun at the beginning of time.
    pub(crate) fn for_test(session: SessionId) -> OpenLease {
        OpenLease {
            session,
            job: JobId(1),
            open: IntervalSet::new(),
            recount: false,
            reported: false,
            leased_at: Millis(0),
            task_ns: 0,
            term: LeaseTime::of_count(Millis(0), 1, None),
        }
    }
}

/// How long a lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseTime {
    /// When the lease is over if there is no news of it.
    pub(crate) deadline: Millis,
    /// When the lease is over, whatever news there is of it.
    pub(crate) end: Millis,
}

impl LeaseTime {
    /// A first count may take this many times the expected time, and the time without news.
    const LIFE: u64 = 4;
    /// A recount may take this many times the time without news. A recount by searching may take a
    /// hundred times as long as the first count.
    const RECOUNT: u64 = 64;

    /// The time of a first count that is leased now, may be without news for `ttl_ms`, and is
    /// expected to take `expected_ms`. If nobody knows how long it takes, `ttl_ms` is used for that
    /// as well.
    pub(crate) fn of_count(now: Millis, ttl_ms: u64, expected_ms: Option<u64>) -> LeaseTime {
        let expected_ms = expected_ms.unwrap_or(ttl_ms);
        let life_ms = ttl_ms.saturating_add(expected_ms.saturating_mul(Self::LIFE));
        LeaseTime { deadline: now.after(ttl_ms), end: now.after(life_ms) }
    }

    /// The time of a recount that is leased now and may be without news for `ttl_ms`. As long as
    /// there is news, it may take `factor` times as long as usual.
    pub(crate) fn of_recount(now: Millis, ttl_ms: u64, factor: u64) -> LeaseTime {
        let most_ms = ttl_ms.saturating_mul(Self::RECOUNT).saturating_mul(factor);
        LeaseTime { deadline: now.after(ttl_ms), end: now.after(most_ms) }
    }
}

/// All leases, with their deadlines in order.
///
/// A lease whose session ended is *orphaned*: its open ordinals are free, and its worker may come
/// back and take the lease up again until its deadline. The deadline stays the same, so that no
/// worker keeps ordinals for longer by leaving and coming back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    leases: BTreeMap<LeaseId, OpenLease>,
    deadlines: BTreeSet<(Millis, LeaseId)>,
    /// The orphaned leases. Some of their deadlines may have passed.
    pub(crate) orphans: BTreeMap<LeaseId, LeaseTime>,
    /// How many leases of each job each session holds; never 0. The numbers are kept because
    /// clients ask for them often.
    holders: BTreeMap<JobId, BTreeMap<SessionId, usize>>,
}

impl Leases {
    pub(crate) fn get(&self, id: LeaseId) -> Option<&OpenLease> {
        self.leases.get(&id)
    }

    /// Adds `range` to the lease `id`. If there is no such lease, `new` becomes it first.
    pub(crate) fn assign(&mut self, id: LeaseId, range: Range, new: OpenLease) -> &OpenLease {
        let lease = self.leases.entry(id).or_insert_with(|| {
            *self.holders.entry(new.job).or_default().entry(new.session).or_default() += 1;
            new
        });
        lease.open.insert(range);
        self.deadlines.insert((lease.term.deadline, id));
        lease
    }

    /// Notes that there is news of a lease. Its deadline is now `deadline`, but at most its end.
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

    /// Ends a lease whose session ended, and remembers its deadline. Forgets the orphaned leases
    /// whose deadline has come.
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
