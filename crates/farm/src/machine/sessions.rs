//! Workers that come, come back, and go.

use std::collections::BTreeSet;

use super::{Farm, existing};
use crate::lease::OpenLease;
use crate::session::Session;
use crate::{
    Answer, CoordinatorMessage, Dismissal, Effect, Hello, Holding, LeaseId, Provenance, RequestId,
    SessionId,
};

/// How many processes that were drained are known if they come back.
const MOST_DRAINED: usize = 65_536;

impl Farm {
    pub(super) fn joined(&mut self, id: SessionId, session: Session, hello: &Hello) {
        let owner = &session.principal().owner;
        if !hello.holding.iter().all(|holding| self.key.recognizes(holding, owner)) {
            self.effects.push(Effect::Dismiss(id, Dismissal::Unproven));
            return;
        }
        self.came_back(&session.process);
        if let Some(&earlier) = self.processes.get(&session.process) {
            self.dismiss(earlier, Dismissal::Replaced);
        }
        if self.distrusted.includes(session.principal()) {
            self.effects.push(Effect::Dismiss(id, Dismissal::Distrusted));
            return;
        }
        self.processes.insert(session.process.clone(), id);
        self.sessions.insert(id, session);
        self.pace = self.pace.with(self.sessions.len());
        for &holding in &hello.holding {
            self.adopt(id, holding);
        }
        let mut not_adopted: BTreeSet<LeaseId> =
            hello.holding.iter().map(|holding| holding.lease).collect();
        not_adopted.retain(|lease| !self.sessions[&id].leases.contains(lease));
        not_adopted.into_iter().for_each(|lease| self.tell(id, CoordinatorMessage::Revoke(lease)));
        if self.drained.contains(&self.sessions[&id].process) {
            self.draining(id);
        } else {
            self.serve(id);
        }
    }

    /// Lets a reconnected worker keep a range that it still works on, until the earlier deadline of
    /// its lease, as far as no other session has the range and the worker's credit allows it. After
    /// a ledger was restored from a copy, two leases may have the same number. A lease belongs to
    /// one job only, so that the other job's range is leased anew.
    fn adopt(&mut self, id: SessionId, holding: Holding) {
        let Holding { lease, job: job_id, fingerprint, range, .. } = holding;
        let job = self.jobs.get(&job_id).filter(|job| job.fingerprint == fingerprint);
        let room = self.sessions[&id].room();
        if job.is_none_or(|job| !job.stage.is_running()) || room == 0 {
            return;
        }
        let term = match self.leases.get(lease) {
            Some(held) => Some(held.term).filter(|_| held.session == id && held.job == job_id),
            None => self.adoption_term(id, lease, job_id),
        };
        let Some(term) = term else { return };
        let due = self.now.after(self.pace.lease_ms(&self.config));
        for part in existing(&mut self.jobs, job_id).adopt(range.first(room), lease, due) {
            self.assign(id, lease, job_id, part, false, term);
        }
    }

    pub(super) fn credit_changed(&mut self, id: SessionId, credit: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.credit = credit;
            self.serve(id);
        }
    }

    pub(super) fn draining(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.seen.draining = true;
            self.stop_waiting(id);
        }
    }

    /// Leases nothing more to the workers of this name, of one owner or of all. They report what
    /// they have. Only another process of the name is leased something again.
    pub(super) fn drain(&mut self, request: RequestId, worker: &str, owner: Option<&str>) {
        let is_meant = |of: &Provenance| {
            of.worker == worker && owner.is_none_or(|owner| owner == of.principal.owner)
        };
        let sessions = self.sessions.iter().filter(|(_, it)| is_meant(&it.seen.provenance));
        let meant: Vec<SessionId> = sessions.map(|(&id, _)| id).collect();
        for id in meant {
            if self.drained.len() >= MOST_DRAINED {
                self.drained.pop_first();
            }
            self.drained.insert(self.sessions[&id].process.clone());
            self.draining(id);
        }
        let drained = self.worker_views().filter(|view| is_meant(&view.provenance)).collect();
        self.effects.push(Effect::Reply(request, Ok(Answer::Drained(drained))));
    }

    pub(super) fn dismiss(&mut self, id: SessionId, reason: Dismissal) {
        self.effects.push(Effect::Dismiss(id, reason));
        self.left(id);
    }

    /// A worker says that it has finished a part of a lease that it will report as a whole. The
    /// farm cannot check this, so that the message renews this lease and has no other effect on
    /// leasing.
    pub(super) fn working(&mut self, id: SessionId, lease: LeaseId) {
        let whole = |leased: &&OpenLease| leased.session == id && leased.recount;
        if let Some(leased) = self.leases.get(lease).filter(whole) {
            let deadline = self.deadline(id, leased.job);
            self.leases.renew(lease, deadline);
            let session = self.sessions.get_mut(&id).expect("leases end with it");
            session.seen.heard_at = self.now;
        }
    }

    pub(super) fn left(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        self.processes.remove(&session.process);
        let leases: Vec<LeaseId> = session.leases.iter().copied().collect();
        for id in leases {
            let lease = self.leases.orphan(id, self.now);
            self.give_back(id, lease);
        }
        self.sessions.remove(&id);
        self.pace = self.pace.with(self.sessions.len());
        self.stop_waiting(id);
        for job in self.jobs.values_mut() {
            job.forget_session(id);
        }
    }

    /// Ends a lease and gives its open ordinals back.
    pub(super) fn end_lease(&mut self, id: LeaseId) {
        let lease = self.leases.end(id);
        self.give_back(id, lease);
    }

    fn give_back(&mut self, id: LeaseId, lease: Option<OpenLease>) {
        let Some(lease) = lease else { return };
        if let Some(session) = self.sessions.get_mut(&lease.session) {
            session.leases.remove(&id);
            self.idle.insert(lease.session);
        }
        self.release_time(lease.session, lease.job, lease.open.len(), lease.task_ns);
        self.begin_wait(lease.job);
        let job = existing(&mut self.jobs, lease.job);
        job.overtaken.remove(&id);
        for range in lease.open.iter() {
            if lease.recount {
                job.end_recount(range, id);
            } else {
                job.release(range, id);
            }
        }
    }

    pub(super) fn revoke(&mut self, id: LeaseId) {
        if let Some(session) = self.leases.get(id).map(|lease| lease.session) {
            self.end_lease(id);
            self.tell(session, CoordinatorMessage::Revoke(id));
        }
    }
}
