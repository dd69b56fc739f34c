//! What becomes of a reported count.
//!
//! ```text
//!   reported ─┬─ no token that it was leased ──► the session ends
//!             ├─ wholly uncovered ──► Accept ──durable──► total += count, Ack(Accepted)
//!             ├─ partly covered ────────────────────────────────────────────► Ack(Superseded)
//!             └─ wholly covered ──► Compare ─┬─ rows do not align ──────────► Ack(Superseded)
//!                                            ├─ same count: a free check ───► Ack(Agreed)
//!                                            │    an audit's recount, by another kernel: Confirm first
//!                                            ├─ another count, not asked for ──► Doubt: an audit of
//!                                            │    the range, unless its job is over; Ack(Superseded)
//!                                            └─ another count of a recount ──► Dispute, freeze, recount
//!                                                 until it is decided ([`crate::dispute`])
//!                                                 ──► Settle ──durable──► total corrected;
//!                                                 what the wrong party counted is taken back
//! ```
//!
//! A range is compared with the rows as they are now, not as they were reported: neighbouring rows
//! may have been joined (`rules/join.rs` in crate `ledger`). A range that ends inside a row does
//! not align with the rows. A first count that contradicts a part of a joined row therefore raises
//! no doubt. A recount does align, because rows that wait for a second count are not joined.
//!
//! Only a worker that was asked to count a range again can confirm or dispute it. If a worker could
//! choose which ranges it contradicts, it would need only one accomplice to replace a true count.
//!
//! While a settlement or a confirmation is on its way into the ledger, reports about rows that it
//! may change are not answered. The worker sends such a report again later, and the answer then
//! depends on the rows as they are then.

use super::{Farm, existing};
use crate::dispute::Dispute;
use crate::job::Job;
use crate::{
    Ack, Asker, AuditPolicy, CoordinatorMessage, CountResult, Dismissal, Holding, LeaseId,
    LedgerCommand, Party, Provenance, Range, Report, Row, SessionId, TaskCounts, Verdict, Vote,
    Withdrawn,
};

impl Farm {
    pub(super) fn reported(&mut self, session: SessionId, mut report: Report) {
        let Some(known) = self.sessions.get(&session) else { return };
        let provenance = known.seen.provenance.clone();
        let range = report.range;
        if !self.key.recognizes(&Holding::of_report(&report), &provenance.principal.owner) {
            return self.dismiss(session, Dismissal::Unproven);
        }
        let Some(job) = self.jobs.get_mut(&report.job) else {
            return self.ack(session, &report, Verdict::Obsolete);
        };
        if job.fingerprint != report.fingerprint {
            return self.ack(session, &report, Verdict::Foreign);
        }
        if !job.spec.plan.reports_tasks() {
            report.task_counts = TaskCounts::default();
        }
        let is_whole = !report.token.is_recount() || range == report.token.range;
        let tasks = report.task_counts.as_slice();
        let one = range.first(1);
        let is_possible = job.known.allows(range, report.checked_count.count)
            && tasks.iter().all(|&count| job.known.allows(one, count));
        let is_right = is_whole && is_possible && report.checked_count.is_sound();
        if !job.holds(range) || !is_right {
            return self.ack(session, &report, Verdict::Invalid);
        }
        self.note_progress(session, &mut report);
        let id = report.job;
        self.judge(session, provenance, report);
        let job = &self.jobs[&id];
        let (priority, owner) = (job.spec.priority, &job.spec.origin.owner);
        self.queue.note_work(priority, owner, id, job.work_left());
        self.serve(session);
    }

    /// Notes what a report shows besides its count. A report with ordinals that are still expected
    /// of a lease of its session renews the lease and shows the worker's speed. That report, and
    /// any report of which no ordinal is accepted yet, shows that the worker does not hang and that
    /// the job's tasks do not outlast its deadlines. Any other report only ends the session's rest,
    /// so that a worker cannot keep a lease by repeating reports. The thread time that the worker
    /// says it took is cut down to what the farm believes.
    fn note_progress(&mut self, session_id: SessionId, report: &mut Report) {
        let takes_off = self.takes_off(session_id, report);
        let job = existing(&mut self.jobs, report.job);
        let session = self.sessions.get_mut(&session_id).expect("callers looked");
        // What the plan says of tasks that nobody has counted is no measure of what was done.
        let average_us = job.costs.us_per_task().filter(|_| session.came_back).unwrap_or(0.0);
        let average_us = (report.range.len() as f64 * average_us) as u64;
        session.rests_until = None;
        let is_backlog = self.now < session.backlog_until;
        if !takes_off && job.accepted().intersects(report.range) {
            report.busy_us = report.busy_us.min(average_us);
            return;
        }
        let lease = self.leases.get(report.lease).filter(|_| takes_off);
        let oldest = session.leases.first().and_then(|&id| self.leases.get(id));
        let leased_at = [oldest, lease].map(|it| it.map_or(self.now, |lease| lease.leased_at));
        report.busy_us = session.believed_us(self.now, leased_at, report.busy_us, average_us);
        session.seen.missed = 0;
        (session.seen.heard_at, job.heard_at) = (self.now, self.now);
        if let Some(lease) = lease {
            let tasks: u64 = lease.open.within(report.range).map(|range| range.len()).sum();
            let share = tasks as f64 / report.range.len() as f64;
            session.seen.counted = session.seen.counted.saturating_add(tasks);
            let threads = session.threads();
            let placements = share * report.checked_count.count as f64;
            let before = std::mem::replace(&mut session.reported_at, self.now);
            if !is_backlog {
                job.costs.measured(self.now, before, lease, threads, tasks, placements);
            }
            if lease.recount {
                return self.end_lease(report.lease);
            }
            let deadline = self.deadline(session_id, report.job);
            self.leases.renew(report.lease, deadline);
        }
    }

    /// Whether a report has ordinals that are still expected of a lease of its session. The lease's
    /// number alone does not show this: a coordinator whose ledger was restored from a copy may
    /// give a number a second time.
    fn takes_off(&self, session: SessionId, report: &Report) -> bool {
        self.leases.get(report.lease).is_some_and(|lease| {
            let is_its = lease.session == session && lease.job == report.job;
            is_its && lease.open.intersects(report.range)
        })
    }

    fn judge(&mut self, session: SessionId, provenance: Provenance, report: Report) {
        let job = existing(&mut self.jobs, report.job);
        if job.stage.is_cancelled() {
            self.ack(session, &report, Verdict::Obsolete);
        } else if job.disputes.contains_key(&report.range) {
            self.vote(session, provenance, report);
        } else if !job.accepted().intersects(report.range) {
            let taken = job.accept(report.range);
            // An owner sees from its machines' reports which ranges the policy chooses. Once one of
            // them was caught, another could report only the other ranges wrongly.
            let is_suspect = self.distrusted.includes_any_of(&provenance.principal.owner);
            let chooses = |policy: AuditPolicy| {
                policy.chooses(job.fingerprint, report.range) || is_suspect && !policy.is_none()
            };
            let audit = job.policy.is_some_and(chooses);
            for (lease, part) in taken {
                self.shrink(lease, part, report.lease);
            }
            let command = LedgerCommand::Accept { report, provenance, audit };
            self.command(Asker::Session(session), command);
        } else if job.accepted().contains(report.range) && !is_frozen(job, report.range) {
            job.audits.compare(report.range);
            self.command(Asker::Session(session), LedgerCommand::Compare(report, provenance));
        } else {
            // The session will not report these ordinals of its lease again, so that another
            // session must count them.
            if self.takes_off(session, &report) {
                existing(&mut self.jobs, report.job).release(report.range, report.lease);
                self.shrink(report.lease, report.range, report.lease);
            }
            self.ack(session, &report, Verdict::Superseded);
        }
    }

    /// Takes the ordinals `part`, which were reported under the lease `by`, out of the lease `id`.
    /// If this ends a lease other than `by`, that lease is revoked.
    fn shrink(&mut self, id: LeaseId, part: Range, by: LeaseId) {
        let Some(lease) = self.leases.get(id) else { return };
        let (session_id, job, task_ns) = (lease.session, lease.job, lease.task_ns);
        let taken = self.leases.shrink(id, part);
        self.release_time(session_id, job, taken, task_ns);
        self.idle.insert(session_id);
        if self.leases.get(id).is_none() {
            self.begin_wait(job);
            let session = self.sessions.get_mut(&session_id).expect("leases end with it");
            session.leases.remove(&id);
            existing(&mut self.jobs, job).overtaken.remove(&id);
            if id != by {
                self.tell(session_id, CoordinatorMessage::Revoke(id));
            }
        }
    }

    pub(super) fn range_written(
        &mut self,
        session: SessionId,
        report: Report,
        provenance: Provenance,
        audit: bool,
    ) {
        let Report { range, checked_count, .. } = report;
        self.stats.accepted(&report);
        self.spend(&report);
        let job = existing(&mut self.jobs, report.job);
        job.tasks_done += range.len();
        job.total =
            job.total.checked_add(checked_count.count.into()).expect("a total fits 128 bits");
        *self.progressed.entry(report.job).or_default() += checked_count.count as f64;
        if audit {
            job.audits.want(Row::new(&report, &provenance));
            self.find_audits(report.job);
        }
        self.ack(session, &report, Verdict::Accepted);
        self.finish_if_covered(report.job);
    }

    pub(super) fn compared(
        &mut self,
        session: SessionId,
        provenance: Provenance,
        report: Report,
        found: Option<CountResult>,
    ) {
        let job = existing(&mut self.jobs, report.job);
        job.audits.compared(report.range);
        if job.stage.is_cancelled() {
            return self.ack(session, &report, Verdict::Obsolete);
        }
        let is_trusted = !self.distrusted.includes(&provenance.principal);
        let is_certain = self.settling == 0
            && job.accepted().contains(report.range)
            && !job.audits.is_confirming(report.range);
        if !is_trusted || !is_certain {
            return; // These rows are changing. The worker sends its report again.
        }
        if job.disputes.contains_key(&report.range) {
            return self.vote(session, provenance, report);
        }
        let Report { range, lease, kernel, .. } = report;
        match found {
            Some(result) if result == report.checked_count.result() => {
                let (by, across) = ((&provenance.principal, kernel), job.across());
                if !report.token.is_recount() || !job.audits.confirms(range, by, lease, across) {
                    return self.ack(session, &report, Verdict::Agreed);
                }
                if let Some(needless) = job.audits.confirm(range) {
                    self.revoke(needless);
                }
                self.command(Asker::Session(session), LedgerCommand::Confirm(report, provenance));
            }
            Some(result) if !is_frozen(job, range) => {
                match job.audits.awaited(range).filter(|_| report.token.is_recount()) {
                    Some((principal, kernel)) => {
                        let stored = Vote { principal: principal.clone(), result };
                        // The range is now to be decided instead of confirmed. A recount of it that
                        // is under way becomes a vote.
                        let recount =
                            job.audits.drop(|other| other.intersect(range).is_some()).pop();
                        let dispute = Dispute { recount, ..Dispute::new(kernel, vec![stored]) };
                        job.open_dispute(range, dispute);
                        self.reopen(report.job);
                        self.add_vote(session, provenance, report);
                    }
                    None => self.contradicted(session, provenance, report),
                }
            }
            _ => self.ack(session, &report, Verdict::Superseded),
        }
    }

    /// One more count of a frozen range.
    fn vote(&mut self, session: SessionId, provenance: Provenance, report: Report) {
        let dispute = &self.jobs[&report.job].disputes[&report.range];
        let is_heard = self.is_trusted(session) || dispute.hears(&provenance.principal);
        if self.settling > 0 || !is_heard && dispute.unwritten > 0 {
            return; // It may be this very vote. Otherwise the worker sends it again.
        }
        if !is_heard || !report.token.is_recount() {
            return self.ack(session, &report, Verdict::Superseded);
        }
        self.add_vote(session, provenance, report);
    }

    fn is_trusted(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.is_trusted)
    }

    fn add_vote(&mut self, session: SessionId, provenance: Provenance, report: Report) {
        let is_trusted = self.is_trusted(session);
        let job = existing(&mut self.jobs, report.job);
        let (result, across) = (report.checked_count.result(), job.across());
        let dispute = job.disputes.get_mut(&report.range).expect("callers looked");
        dispute.unwritten += 1;
        dispute.votes.push(Vote { principal: provenance.principal.clone(), result });
        if let Some(ground) = dispute.ground(result, across, is_trusted, &self.distrusted) {
            dispute.settling = true;
            self.settling += 1;
            let wrong: Vec<Party> =
                dispute.wrong(result, across, &self.distrusted).into_iter().collect();
            self.stats.proven_wrong += wrong.len() as u64;
            self.distrust(wrong.iter().cloned());
            self.proofs.extend((!wrong.is_empty()).then_some(report.job));
            let command = LedgerCommand::Settle { report, provenance, wrong, ground };
            self.command(Asker::Session(session), command);
        } else {
            self.command(Asker::Session(session), LedgerCommand::Dispute(report, provenance));
        }
    }

    pub(super) fn dispute_written(&mut self, session: SessionId, report: Report) {
        let job = existing(&mut self.jobs, report.job);
        if let Some(dispute) = job.disputes.get_mut(&report.range) {
            dispute.unwritten -= 1;
        }
        self.spend(&report);
        self.ack(session, &report, Verdict::Disputed);
    }

    pub(super) fn settled(&mut self, session: SessionId, report: Report, withdrawn: &[Withdrawn]) {
        if let Some(lease) = self.jobs[&report.job].disputes[&report.range].recount {
            self.revoke(lease);
        }
        let job = existing(&mut self.jobs, report.job);
        let dispute = job.disputes.remove(&report.range).expect("it was being settled");
        job.timeouts.counted(report.range);
        let rest =
            job.total.checked_sub(dispute.votes[0].result.count).expect("it includes its rows");
        job.total =
            rest.checked_add(report.checked_count.count.into()).expect("a total fits 128 bits");
        self.settling -= 1;
        self.spend(&report);
        self.taken_back(withdrawn);
        self.ack(session, &report, Verdict::Disputed);
    }

    pub(super) fn ack(&mut self, session: SessionId, report: &Report, verdict: Verdict) {
        self.stats.answered(verdict);
        if self.sessions.contains_key(&session) {
            self.tell(session, CoordinatorMessage::Ack(Ack::of(report, verdict)));
        }
    }
}

/// Whether a dispute about another range concerns part of this one.
fn is_frozen(job: &Job, range: Range) -> bool {
    job.disputes.keys().any(|disputed| disputed.intersect(range).is_some())
}
