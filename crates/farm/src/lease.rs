//! What is lent, and until when.

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
    pub(crate) deadline: Millis,
}

/// All leases, with their deadlines in order.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    leases: BTreeMap<LeaseId, Lease>,
    deadlines: BTreeSet<(Millis, LeaseId)>,
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
        self.deadlines.insert((lease.deadline, id));
    }

    /// A sign of life: the lease runs until `deadline` now.
    pub(crate) fn renew(&mut self, id: LeaseId, deadline: Millis) {
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.reported = true;
            self.deadlines.remove(&(lease.deadline, id));
            lease.deadline = deadline;
            self.deadlines.insert((deadline, id));
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
        self.deadlines.remove(&(lease.deadline, id));
        self.forget_holder(&lease);
        Some(lease)
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
