//! What becomes of a reported count.
//!
//! ```text
//!   reported ─┬─ wholly uncovered ──► Accept ──durable──► total += count, Ack(Accepted)
//!             ├─ partly covered ────────────────────────────────────────────► Ack(Superseded)
//!             └─ wholly covered ──► Compare ─┬─ rows do not align ──────────► Ack(Superseded)
//!                                            ├─ same claim: a free check ───► Ack(Agreed)
//!                                            │    where an audit is wanted,
//!                                            │    by another kernel: Confirm first
//!                                            └─ another claim ──► Dispute, freeze, recount
//!                                                 by workers that have not voted, until two agree
//!                                                 ──► Settle ──durable──► total corrected;
//!                                                 what the wrong worker counted is taken back
//! ```
//!
//! While a settlement or a confirmation is on its way into the ledger, reports about the rows that it
//! may change are not answered: the worker asks again, and is answered by what the rows are then.

use super::lending::MAX_LEASE_TASKS;
use super::{Farm, Pending};
use crate::dispute::Dispute;
use crate::job::Job;
use crate::{
    Ack, Author, Effect, Found, JobState, KernelName, LeaseId, LedgerCommand, Range, Report,
    SessionId, Unaudited, Verdict, Vote, Withdrawn,
};

impl Farm {
    pub(super) fn reported(&mut self, session: SessionId, report: Report) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        (known.missed, known.rests_until) = (0, None);
        let author = known.author();
        let Some(job) = self.jobs.get_mut(&report.job) else {
            return self.ack(session, &report, Verdict::Obsolete);
        };
        if job.fingerprint != report.fingerprint {
            return self.ack(session, &report, Verdict::Foreign);
        }
        let is_whole = job.holds(report.range) && report.tally.is_sound();
        let is_possible = job.known.allows(report.range, report.tally.count);
        if !is_whole || !is_possible || report.range.len() > MAX_LEASE_TASKS {
            return self.ack(session, &report, Verdict::Invalid);
        }
        job.heard_at = self.now;
        let threads = known.threads_for(job.thread_memory).max(1);
        let mut recount = false;
        if self.holds(session, report.lease) {
            // Only of what it was lent: or it could claim any speed, and others' leases would shrink.
            let job = self.jobs.get_mut(&report.job).expect("it was found");
            job.measured(session, threads, report.range.len(), report.busy_us);
            let deadline = self.deadline(report.job);
            self.leases.renew(report.lease, deadline);
            recount = self.end_recount(&report);
        }
        self.judge(session, author, report, recount);
        self.feed(session);
    }

    fn judge(&mut self, session: SessionId, author: Author, report: Report, recount: bool) {
        let job = self.jobs.get_mut(&report.job).expect("it was found");
        if job.state == JobState::Cancelled {
            self.ack(session, &report, Verdict::Obsolete);
        } else if job.disputes.contains_key(&report.range) {
            self.vote(session, author, report);
        } else if !job.claimed().intersects(report.range) {
            let taken = job.claim(report.range);
            job.costs.add(session, report.range, report.busy_us);
            let audit = job.is_to_be_audited(report.range);
            for (lease, part) in taken {
                self.shrink(lease, part, report.lease);
            }
            let worker = author.worker.clone();
            let command = LedgerCommand::Accept { report, author, audit };
            self.command(command, Pending::Range { session, report, worker, audit });
        } else if job.claimed().contains(report.range) && !is_frozen(job, report.range) {
            job.audits.compare(report.range);
            let command = LedgerCommand::Compare { job: report.job, range: report.range };
            self.command(command, Pending::Compare { session, author, report, recount });
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

    pub(super) fn range_written(
        &mut self,
        session: SessionId,
        report: Report,
        worker: String,
        audit: bool,
    ) {
        let Report { range, kernel, tally, .. } = report;
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        job.tasks_done += range.len();
        job.total = job.total.checked_add(tally.count.into()).expect("a total fits 128 bits");
        if audit {
            job.audits.want(Unaudited { range, worker, kernel });
            self.find_audits(report.job);
        }
        self.ack(session, &report, Verdict::Accepted);
        self.finish_if_covered(report.job);
    }

    pub(super) fn compared(
        &mut self,
        session: SessionId,
        author: Author,
        report: Report,
        recount: bool,
        found: Found,
    ) {
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        job.audits.compared(report.range);
        if job.state == JobState::Cancelled {
            return self.ack(session, &report, Verdict::Obsolete);
        }
        let is_believed = !self.distrusted.contains(&author.worker);
        let is_certain = self.settling == 0
            && job.claimed().contains(report.range)
            && !job.audits.is_confirming(report.range);
        if !is_believed || !is_certain {
            return; // These rows are changing. The worker asks again.
        }
        if job.disputes.contains_key(&report.range) {
            return self.vote(session, author, report);
        }
        let Report { range, kernel: its_kernel, .. } = report;
        match found {
            Found::Exactly { claim, .. } if claim == report.tally.claim() => {
                if !job.audits.confirms(range, &author.worker, its_kernel, recount) {
                    return self.ack(session, &report, Verdict::Agreed);
                }
                let needless = job.audits.confirm(range);
                needless.into_iter().for_each(|lease| self.revoke(lease));
                let command = LedgerCommand::Confirm { report, author };
                self.command(command, Pending::Confirm { session, report });
            }
            Found::Exactly { claim, worker, kernel } if !is_frozen(job, range) => {
                self.dispute(session, author, report, Vote { worker, claim }, kernel);
            }
            _ => self.ack(session, &report, Verdict::Superseded),
        }
    }

    /// Two counts of one range differ: freeze it. A job that was done is no longer.
    fn dispute(
        &mut self,
        session: SessionId,
        author: Author,
        report: Report,
        stored: Vote,
        kernel: KernelName,
    ) {
        let vote = Vote { worker: author.worker.clone(), claim: report.tally.claim() };
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        // What was to be confirmed there is now to be decided; who counts it again has a vote.
        let audits = job.audits.drop(|range| range.intersect(report.range).is_some());
        let (same, other): (Vec<_>, Vec<_>) =
            audits.into_iter().partition(|&(range, _)| range == report.range);
        let dispute = Dispute {
            stored: stored.claim,
            kernel,
            votes: vec![stored, vote],
            recount: same.first().map(|&(_, lease)| lease),
            settling: false,
            unwritten: 1,
        };
        job.disputes.insert(report.range, dispute);
        other.into_iter().for_each(|(_, lease)| self.revoke(lease));
        self.reopen(report.job);
        let command = LedgerCommand::Dispute { report, author };
        self.command(command, Pending::Dispute { session, report });
    }

    /// One more count of a frozen range.
    fn vote(&mut self, session: SessionId, author: Author, report: Report) {
        let worker = &author.worker;
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        let dispute = job.disputes.get_mut(&report.range).expect("callers looked");
        if self.settling > 0 || dispute.has_voted(worker) && dispute.unwritten > 0 {
            return; // It may be this very vote; the worker asks again if that is not its answer.
        }
        if dispute.has_voted(worker) {
            return self.ack(session, &report, Verdict::Superseded);
        }
        let claim = report.tally.claim();
        dispute.unwritten += 1;
        dispute.votes.push(Vote { worker: worker.clone(), claim });
        if dispute.is_settled_by(claim) {
            dispute.settling = true;
            self.settling += 1;
            let wrong = dispute.wrong(claim);
            self.distrust(&wrong);
            let command = LedgerCommand::Settle { report, author, wrong };
            self.command(command, Pending::Settle { session, report });
        } else {
            let command = LedgerCommand::Dispute { report, author };
            self.command(command, Pending::Dispute { session, report });
        }
    }

    pub(super) fn dispute_written(&mut self, session: SessionId, report: Report) {
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        if let Some(dispute) = job.disputes.get_mut(&report.range) {
            dispute.unwritten -= 1;
        }
        self.ack(session, &report, Verdict::Disputed);
    }

    pub(super) fn settled(&mut self, session: SessionId, report: Report, withdrawn: &[Withdrawn]) {
        if let Some(lease) = self.jobs[&report.job].disputes[&report.range].recount {
            self.revoke(lease);
        }
        let job = self.jobs.get_mut(&report.job).expect("jobs are never removed");
        let dispute = job.disputes.remove(&report.range).expect("it was being settled");
        let rest = job.total.checked_sub(dispute.stored.count).expect("it includes its rows");
        job.total = rest.checked_add(report.tally.count.into()).expect("a total fits 128 bits");
        self.settling -= 1;
        for withdrawn in withdrawn {
            self.withdraw(withdrawn);
        }
        self.ack(session, &report, Verdict::Disputed);
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.end_if_certain(id);
            self.finish_if_covered(id);
        }
    }

    /// A recount that came back is no longer lent. Returns whether it was one.
    fn end_recount(&mut self, report: &Report) -> bool {
        let recount = self.leases.get(report.lease).is_some_and(|lease| lease.recount);
        if recount {
            self.end_lease(report.lease);
        }
        recount
    }

    pub(super) fn ack(&mut self, session: SessionId, report: &Report, verdict: Verdict) {
        if self.sessions.contains_key(&session) {
            self.effects.push(Effect::Ack { session, ack: Ack::of(report, verdict) });
        }
    }
}

/// Whether a dispute about another range concerns part of this one.
fn is_frozen(job: &Job, range: Range) -> bool {
    job.disputes.keys().any(|disputed| disputed.intersect(range).is_some())
}
