//! What is lent, and until when.
//!
//! ```text
//!   lent                                                              end
//!    ├── time without news ──┤ deadline: the lease is over             │
//!    │         ├── news: a report takes something off it, or, if it is to come back as a whole, its
//!    │         │         worker says that it is getting on ──┤ deadline │
//!    └── 64 times that time: over, whatever is said ──────────────────┘
//! ```
//!
//! A report that repeats what was reported is no news. Nobody can check a worker that says that it is getting on,
//! and one that reports a task an hour holds all the others; therefore a lease has an end.

use std::collections::{BTreeMap, BTreeSet};

use crate::{IntervalSet, JobId, LeaseId, Millis, Range, SessionId};

/// A range lent to a worker until a deadline.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) session: SessionId,
    pub(crate) job: JobId,
    /// What is still expected. Never empty.
    pub(crate) open: IntervalSet,
    /// A recount of accepted ordinals, to settle a dispute.
    pub(crate) recount: bool,
    /// Whether anything of it has come back.
    pub(crate) reported: bool,
    pub(crate) lent_at: Millis,
    pub(crate) term: LeaseTerm,
}

/// How long a lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseTerm {
    /// Without news it is over then.
    pub(crate) deadline: Millis,
    /// With whatever news, it is over then.
    pub(crate) end: Millis,
}

impl LeaseTerm {
    /// With news all the time, a lease runs so many times as long as without any. It is made to last a sixth of the time that it
    /// has without news, or more in a large farm; a recount by searching may take a hundred times as long.
    pub(crate) const MOST: u64 = 64;

    /// Of what is lent now and has `ttl_ms` without news; `factor` times as long as usual with news.
    pub(crate) fn new(now: Millis, ttl_ms: u64, factor: u64) -> LeaseTerm {
        let most_ms = ttl_ms.saturating_mul(Self::MOST).saturating_mul(factor);
        LeaseTerm { deadline: now.after(ttl_ms), end: now.after(most_ms) }
    }

    /// After news, with as much time without any as `fresh`, the term of something that is lent now.
    fn renewed(self, fresh: LeaseTerm) -> LeaseTerm {
        LeaseTerm { deadline: fresh.deadline.min(self.end), ..self }
    }
}

/// All leases, with their deadlines in order.
///
/// A lease whose session ended is *orphaned*: what was open of it is free, and its worker may come back for
/// it until the same deadline. So nobody keeps ordinals for longer by coming and going.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    leases: BTreeMap<LeaseId, Lease>,
    deadlines: BTreeSet<(Millis, LeaseId)>,
    orphans: BTreeMap<LeaseId, LeaseTerm>,
    orphan_deadlines: BTreeSet<(Millis, LeaseId)>,
    /// How many leases of each job each session holds; never 0. Clients ask often.
    holders: BTreeMap<JobId, BTreeMap<SessionId, usize>>,
}

impl Leases {
    pub(crate) fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// Adds `range` to a lease, or makes it as `new` says.
    pub(crate) fn lend(&mut self, id: LeaseId, range: Range, new: Lease) {
        let lease = self.leases.entry(id).or_insert_with(|| {
            *self.holders.entry(new.job).or_default().entry(new.session).or_default() += 1;
            new
        });
        lease.open.insert(range);
        self.deadlines.insert((lease.term.deadline, id));
    }

    /// There is news of a lease: it runs as long as if it were lent now for the term `fresh`, but not beyond its
    /// own end.
    pub(crate) fn renew(&mut self, id: LeaseId, fresh: LeaseTerm) {
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.reported = true;
            self.deadlines.remove(&(lease.term.deadline, id));
            lease.term = lease.term.renewed(fresh);
            self.deadlines.insert((lease.term.deadline, id));
        }
    }

    /// Takes ordinals out of a lease. Returns the lease if that was the last of it.
    pub(crate) fn shrink(&mut self, id: LeaseId, range: Range) -> Option<Lease> {
        let lease = self.leases.get_mut(&id)?;
        lease.open.remove(range);
        if lease.open.is_empty() { self.end(id) } else { None }
    }

    /// Ends a lease, whatever is open.
    pub(crate) fn end(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        self.deadlines.remove(&(lease.term.deadline, id));
        self.forget_holder(&lease);
        Some(lease)
    }

    /// Ends a lease whose session ended, and remembers its deadline.
    pub(crate) fn orphan(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.end(id)?;
        self.orphans.insert(id, lease.term);
        self.orphan_deadlines.insert((lease.term.deadline, id));
        Some(lease)
    }

    /// The term of an orphaned lease, if its deadline has not come.
    pub(crate) fn orphan_term(&self, id: LeaseId) -> Option<LeaseTerm> {
        self.orphans.get(&id).copied()
    }

    /// Forgets orphaned leases whose deadline has come.
    pub(crate) fn forget_orphans(&mut self, now: Millis) {
        while let Some(&(deadline, id)) = self.orphan_deadlines.first()
            && deadline <= now
        {
            self.orphan_deadlines.pop_first();
            // Unless it was taken up, renewed and orphaned again since.
            if self.orphans.get(&id).is_some_and(|term| term.deadline == deadline) {
                self.orphans.remove(&id);
            }
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.leases.len()
    }

    /// All leases of a job.
    pub(crate) fn of_job(&self, job: JobId) -> Vec<LeaseId> {
        let of_job = self.leases.iter().filter(|(_, lease)| lease.job == job);
        of_job.map(|(&id, _)| id).collect()
    }

    fn forget_holder(&mut self, lease: &Lease) {
        let of_job = self.holders.get_mut(&lease.job).expect("every lease is counted");
        let held = of_job.get_mut(&lease.session).expect("every lease is counted");
        *held -= 1;
        if *held == 0 {
            of_job.remove(&lease.session);
        }
        if of_job.is_empty() {
            self.holders.remove(&lease.job);
        }
    }

    /// The sessions that hold leases of a job.
    pub(crate) fn holders(&self, job: JobId) -> impl Iterator<Item = SessionId> + '_ {
        self.holders.get(&job).into_iter().flat_map(|held| held.keys().copied())
    }

    /// The first deadline of all.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// A lease whose deadline has come, the most overdue first.
    pub(crate) fn overdue(&self, now: Millis) -> Option<LeaseId> {
        let &(deadline, id) = self.deadlines.first()?;
        (deadline <= now).then_some(id)
    }
}
