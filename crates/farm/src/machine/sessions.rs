//! Workers that come, come back, and go.

use std::collections::BTreeSet;

use super::Farm;
use crate::job::Job;
use crate::lease::Lease;
use crate::session::Session;
use crate::{Dismissal, Effect, Hello, Holding, JobState, LeaseId, SessionId};

impl Farm {
    pub(super) fn joined(&mut self, id: SessionId, hello: &Hello) {
        self.clear_process(hello.instance);
        let same = |session: &Session| session.instance == hello.instance;
        let earlier = self.sessions.iter().find(|(_, session)| same(session)).map(|(&id, _)| id);
        if let Some(earlier) = earlier {
            self.dismiss(earlier, Dismissal::Replaced);
        }
        if self.distrusted.contains(&hello.worker) {
            self.effects.push(Effect::Dismiss { session: id, reason: Dismissal::Distrusted });
            return;
        }
        self.sessions.insert(id, Session::new(hello));
        self.staffing_changed = true;
        for &holding in &hello.holding {
            self.adopt(id, holding);
        }
        // It was given none of what it holds under these leases; the others were adopted.
        let held: BTreeSet<LeaseId> = hello.holding.iter().map(|holding| holding.lease).collect();
        let adopted = &self.sessions[&id].leases;
        let unwanted = held.difference(adopted).map(|&lease| Effect::Revoke { session: id, lease });
        self.effects.extend(unwanted);
        self.feed(id);
    }

    /// A reconnected worker keeps what it still works on, as far as nobody else has it.
    fn adopt(&mut self, session: SessionId, holding: Holding) {
        let Holding { lease, job: job_id, fingerprint, range } = holding;
        // A lease of another ledger, or another worker's: its number means something else here.
        let ours = self.has_been_lent(lease)
            && self.leases.get(lease).is_none_or(|l| l.session == session && l.job == job_id);
        let wanted = |job: &&mut Job| {
            job.fingerprint == fingerprint && job.state == JobState::Running && ours
        };
        let Some(job) = self.jobs.get_mut(&job_id).filter(wanted) else { return };
        for part in job.adopt(range, lease) {
            self.lend(session, lease, job_id, part, false);
        }
    }

    pub(super) fn credit_changed(&mut self, id: SessionId, credit: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.credit = credit;
            self.feed(id);
        }
    }

    /// A worker gives a loan back that it has no memory for: it was told to need less, or said to
    /// have more. Nothing more of that job is lent to it, or it would come back at once.
    pub(super) fn declined(&mut self, id: SessionId, lease: LeaseId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(lent) = self.leases.get(lease).filter(|lent| lent.session == id) {
            session.declined.insert(lent.job);
            self.staffing_changed = true;
            // Not by itself: what is on its way of the loan is to be stopped.
            self.revoke(lease);
            self.feed(id);
        }
    }

    pub(super) fn leaving(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.leaving = true;
            self.hungry.remove(&id);
        }
    }

    pub(super) fn dismiss(&mut self, id: SessionId, reason: Dismissal) {
        self.effects.push(Effect::Dismiss { session: id, reason });
        self.left(id);
    }

    /// A worker has finished a part of a loan that it will report as a whole.
    pub(super) fn working(&mut self, id: SessionId, lease: LeaseId) {
        let whole = |lent: &&Lease| lent.session == id && lent.recount;
        let Some(lent) = self.leases.get(lease).filter(whole) else { return };
        let (job, deadline) = (lent.job, self.deadline(lent.job));
        self.jobs.get_mut(&job).expect("jobs are never removed").heard_at = self.now;
        self.leases.renew(lease, deadline);
        let session = self.sessions.get_mut(&id).expect("it holds a lease");
        (session.missed, session.rests_until) = (0, None);
        self.feed(id);
    }

    /// The one path for a session that is over, whatever ended it.
    pub(super) fn left(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let leases: Vec<LeaseId> = session.leases.iter().copied().collect();
        for lease in leases {
            self.end_lease(lease);
        }
        self.sessions.remove(&id);
        self.staffing_changed = true;
        self.hungry.remove(&id);
        for job in self.jobs.values_mut() {
            job.forget_session(id);
        }
    }

    /// Gives a lease's open ordinals back.
    pub(super) fn end_lease(&mut self, id: LeaseId) {
        let Some(lease) = self.leases.end(id) else { return };
        if let Some(session) = self.sessions.get_mut(&lease.session) {
            session.leases.remove(&id);
            session.outstanding -= lease.open.len();
            self.hungry.insert(lease.session);
        }
        let job = self.jobs.get_mut(&lease.job).expect("jobs are never removed");
        for range in lease.open.iter() {
            if lease.recount {
                job.end_recount(range, id);
            } else {
                job.release(range, id);
            }
        }
    }

    /// Ends a lease and tells its worker to drop it.
    pub(super) fn revoke(&mut self, id: LeaseId) {
        if let Some(session) = self.leases.get(id).map(|lease| lease.session) {
            self.end_lease(id);
            self.effects.push(Effect::Revoke { session, lease: id });
        }
    }
}
