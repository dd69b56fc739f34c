//! What becomes of a reported count.
//!
//! ```text
//!   reported ─┬─ wholly uncovered ──► Write(Range) ──durable──► total += count, Ack(Accepted)
//!             ├─ partly covered ────────────────────────────────────────────► Ack(Superseded)
//!             └─ wholly covered ──► Compare ─┬─ rows do not align ──────────► Ack(Superseded)
//!                                            ├─ same count: a free check ───► Ack(Agreed)
//!                                            └─ another count ──► Write(Dispute), freeze, recount
//!                                                 by workers that have not voted, until two agree
//!                                                 ──► Write(Settle) ──durable──► total corrected
//! ```

use super::lending::MAX_LEASE_TASKS;
use super::{Farm, Pending};
use crate::job::{Dispute, Job};
use crate::{
    Effect, Found, JobState, LeaseId, Range, Record, Report, SessionId, Ticket, Verdict, Vote,
};

impl Farm {
    pub(super) fn reported(&mut self, session: SessionId, report: Report) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        (known.missed, known.rests_until) = (0, None);
        let worker = known.worker.clone();
        let Some(job) = self.jobs.get_mut(&report.job) else {
            return self.ack(session, &report, Verdict::Obsolete);
        };
        if job.fingerprint != report.fingerprint {
            return self.ack(session, &report, Verdict::Foreign);
        }
        if report.range.end() > job.plan.tasks || report.range.len() > MAX_LEASE_TASKS {
            return self.ack(session, &report, Verdict::Invalid);
        }
        job.heard_at = self.now;
        let threads = known.threads_for(job.thread_memory).max(1);
        job.measured(session, threads, report.range.len(), report.busy_us);
        if self.holds(session, report.lease) {
            let deadline = self.deadline(report.job);
            self.leases.renew(report.lease, deadline);
            self.end_recount(&report);
        }
        self.judge(session, worker, report);
        self.feed(session);
    }

    fn judge(&mut self, session: SessionId, worker: String, report: Report) {
        let job = self.jobs.get_mut(&report.job).expect("it was found");
        if job.state == JobState::Cancelled {
            self.ack(session, &report, Verdict::Obsolete);
        } else if job.disputes.contains_key(&report.range) {
            self.vote(session, worker, report);
        } else if !job.claimed().intersects(report.range) {
            for (lease, part) in job.claim(report.range) {
                self.shrink(lease, part, report.lease);
            }
            self.write(Record::Range { report, worker }, Pending::Range { session, report });
        } else if job.claimed().contains(report.range) && !is_frozen(job, report.range) {
            let ticket = self.ticket(Pending::Compare { session, worker, report });
            self.effects.push(Effect::Compare { ticket, job: report.job, range: report.range });
        } else {
            self.release_unusable(session, &report);
            self.ack(session, &report, Verdict::Superseded);
        }
    }

    /// The session's own lease will not report these ordinals again: others must count them.
    fn release_unusable(&mut self, session: SessionId, report: &Report) {
        if self.holds(session, report.lease) {
            let job = self.jobs.get_mut(&report.job).expect("it was found");
            let freed = job.release(report.range, report.lease);
            freed.iter().for_each(|&part| self.shrink(report.lease, part, report.lease));
        }
    }

    fn holds(&self, session: SessionId, lease: LeaseId) -> bool {
        self.leases.get(lease).is_some_and(|lease| lease.session == session)
    }

    /// Takes ordinals that a report on the lease `by` accounts for out of the lease `id`. A worker
    /// whose lease ends by a report on another one is told to stop.
    fn shrink(&mut self, id: LeaseId, part: Range, by: LeaseId) {
        let Some(session_id) = self.leases.get(id).map(|lease| lease.session) else { return };
        let ended = self.leases.shrink(id, part).is_some();
        let session = self.sessions.get_mut(&session_id).expect("leases end with their session");
        session.outstanding -= part.len();
        self.hungry.insert(session_id);
        if ended {
            session.leases.remove(&id);
            if id != by {
                self.effects.push(Effect::Revoke { session: session_id, lease: id });
            }
        }
    }

    pub(super) fn range_written(&mut self, session: SessionId, report: Report) {
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        job.tasks_done += report.range.len();
        job.total = job.total.checked_add(report.count.into()).expect("a total fits 128 bits");
        self.ack(session, &report, Verdict::Accepted);
        self.finish_if_covered(report.job);
    }

    pub(super) fn compared(&mut self, ticket: Ticket, found: Found) {
        let Some(Pending::Compare { session, worker, report }) = self.pending.remove(&ticket)
        else {
            panic!("the ledger answered {ticket}, which is not a look-up in progress")
        };
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        if job.state == JobState::Cancelled {
            return self.ack(session, &report, Verdict::Obsolete);
        }
        if job.disputes.contains_key(&report.range) {
            return self.vote(session, worker, report);
        }
        match found {
            Found::Exactly { count, .. } if count == report.count.into() => {
                self.ack(session, &report, Verdict::Agreed);
            }
            Found::Exactly { count, worker: first } if !is_frozen(job, report.range) => {
                self.dispute(session, worker, report, Vote { worker: first, count });
            }
            _ => self.ack(session, &report, Verdict::Superseded),
        }
    }

    /// Two counts of one range differ: freeze it. A job that was done is no longer.
    fn dispute(&mut self, session: SessionId, worker: String, report: Report, stored: Vote) {
        let vote = Vote { worker: worker.clone(), count: report.count.into() };
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        let dispute = Dispute {
            stored: stored.count,
            votes: vec![stored, vote],
            recount: None,
            settling: false,
            unwritten: 1,
        };
        job.disputes.insert(report.range, dispute);
        if job.state == JobState::Done {
            (job.state, job.durable_state) = (JobState::Running, JobState::Running);
        }
        self.requeue(report.job);
        self.write(Record::Dispute { report, worker }, Pending::Dispute { session, report });
    }

    /// One more count of a frozen range.
    fn vote(&mut self, session: SessionId, worker: String, report: Report) {
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        let dispute = job.disputes.get_mut(&report.range).expect("callers looked");
        if dispute.has_voted(&worker) && dispute.unwritten > 0 {
            return; // It may be this very vote; the worker asks again if that is not its answer.
        }
        if dispute.settling || dispute.has_voted(&worker) {
            return self.ack(session, &report, Verdict::Superseded);
        }
        dispute.unwritten += 1;
        dispute.votes.push(Vote { worker: worker.clone(), count: report.count.into() });
        if dispute.is_settled_by(report.count.into()) {
            dispute.settling = true;
            self.write(Record::Settle { report, worker }, Pending::Settle { session, report });
        } else {
            self.write(Record::Dispute { report, worker }, Pending::Dispute { session, report });
        }
    }

    pub(super) fn dispute_written(&mut self, session: SessionId, report: Report) {
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        if let Some(dispute) = job.disputes.get_mut(&report.range) {
            dispute.unwritten -= 1;
        }
        self.ack(session, &report, Verdict::Disputed);
    }

    pub(super) fn settle_written(&mut self, session: SessionId, report: Report) {
        if let Some(lease) = self.jobs[&report.job].disputes[&report.range].recount {
            self.revoke(lease);
        }
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        let dispute = job.disputes.remove(&report.range).expect("it was being settled");
        let rest = job.total.checked_sub(dispute.stored).expect("the total includes its rows");
        job.total = rest.checked_add(report.count.into()).expect("a total fits 128 bits");
        self.ack(session, &report, Verdict::Disputed);
        self.finish_if_covered(report.job);
    }

    /// A recount that came back is no longer lent.
    fn end_recount(&mut self, report: &Report) {
        let recount = self.leases.get(report.lease).is_some_and(|lease| lease.recount);
        if recount {
            self.end_lease(report.lease);
        }
    }

    fn ack(&mut self, session: SessionId, report: &Report, verdict: Verdict) {
        if self.sessions.contains_key(&session) {
            let Report { job, fingerprint, range, .. } = *report;
            self.effects.push(Effect::Ack { session, job, fingerprint, range, verdict });
        }
    }
}

/// Whether a dispute about another range concerns part of this one.
fn is_frozen(job: &Job, range: Range) -> bool {
    job.disputes.keys().any(|disputed| disputed.intersect(range).is_some())
}
