//! Audits: what clients ask for, and what the ledger finds.

use super::{Farm, existing};
use crate::audit::Audits;
use crate::stage::{Live, Stage};
use crate::{
    Asker, AuditPolicy, Change, Effect, JobId, JobState, LedgerCommand, Milestone, Provenance,
    Refusal, Report, RequestId, Row, SessionId, Verdict,
};

impl Farm {
    /// Orders an audit. The policy holds once the ledger has it, also for ranges that are accepted
    /// meanwhile. If it chooses nothing, ranges that wait under earlier policies are leased no
    /// more.
    pub(super) fn audit(
        &mut self,
        request: RequestId,
        by: String,
        id: JobId,
        mut policy: AuditPolicy,
        narrows: bool,
    ) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoSuchJob(id))?;
        if job.stage.is_cancelled() {
            return Err(Refusal::Over(id, JobState::Cancelled));
        }
        // Nothing of a job that is suspended waits for a second count.
        if matches!(job.stage, Stage::Suspended(_)) && policy.is_none() {
            return Err(Refusal::Suspended(id));
        }
        policy.across = match narrows {
            // Open disputes keep the scope with which they began.
            _ if policy.is_none() => job.across(),
            true => policy.across,
            false => policy.across.max(job.across()),
        };
        job.policy = Some(policy);
        job.audits.asked += 1;
        // Sessions that wait may be leased recounts that the earlier scope forbade.
        self.idle.append(&mut self.refused);
        if policy.is_none() {
            self.lease_no_recounts(id);
        }
        let change = Change::Audit { policy, narrows: true };
        let command = LedgerCommand::Change { job: id, change, by };
        self.command(Asker::Client(request), command);
        Ok(())
    }

    pub(super) fn audit_noted(&mut self, request: RequestId, id: JobId) {
        if matches!(self.jobs[&id].stage, Stage::Suspended(_)) {
            self.reopen(id);
        }
        if self.jobs[&id].audits.wanted == 0 {
            self.lease_no_recounts(id);
        }
        self.requeue(id);
        self.answer(request, id);
        self.find_audits(id);
        self.finish_if_covered(id);
    }

    /// Revokes the recounts of a job's audits, and forgets which ranges wait for one.
    fn lease_no_recounts(&mut self, id: JobId) {
        let leases = existing(&mut self.jobs, id).audits.drop(|_| true);
        leases.into_iter().for_each(|lease| self.revoke(lease));
    }

    /// Lets a job run again that is done or suspended in the ledger, because its total is in doubt.
    /// The job runs even if it was paused before its end; the ledger does the same.
    pub(super) fn reopen(&mut self, id: JobId) {
        let job = existing(&mut self.jobs, id);
        if matches!(job.stage, Stage::Finished(_) | Stage::Done | Stage::Suspended(_)) {
            let begun = job.times.begun_at_ms.is_some();
            job.stage = Stage::Live(Live::running(begun));
            job.times.note(Milestone::State(JobState::Running), self.unix_ms);
            self.requeue(id);
        }
    }

    /// Asks the ledger for ranges that wait for an audit, if few are known.
    pub(super) fn find_audits(&mut self, id: JobId) {
        let job = existing(&mut self.jobs, id);
        if job.stage.is_cancelled() || !job.audits.is_short() {
            return;
        }
        job.audits.finding = true;
        let command = LedgerCommand::FindAudits { job: id, most: Audits::WINDOW };
        self.command(Asker::Farm, command);
    }

    pub(super) fn audits_found(&mut self, id: JobId, rows: Vec<Row>) {
        let job = existing(&mut self.jobs, id);
        if job.audits.asked > 0 {
            // Other ranges may wait once the ledger has these audit requests. It is asked again
            // then.
            job.audits.finding = false;
            return;
        }
        job.audits.found(rows);
        // A dispute may have begun since they were looked for.
        let disputes = &job.disputes;
        let is_disputed = |range| disputes.keys().any(|other| other.intersect(range).is_some());
        job.audits.drop(is_disputed);
    }

    pub(super) fn confirm_written(&mut self, session: SessionId, report: Report) {
        let job = existing(&mut self.jobs, report.job);
        job.audits.confirmed(report.range);
        job.timeouts.counted(report.range);
        self.spend(&report);
        self.ack(session, &report, Verdict::Agreed);
        self.find_audits(report.job);
        self.finish_if_covered(report.job);
    }

    /// A late count contradicts an accepted one. It was not asked for, so that it decides nothing.
    /// If the job is not over, however, the range is counted again, and not by the owner of the
    /// late count.
    pub(super) fn contradicted(
        &mut self,
        session: SessionId,
        provenance: Provenance,
        report: Report,
    ) {
        let job = existing(&mut self.jobs, report.job);
        let is_over = job.stage.end().is_some() || job.stage.is_being_suspended();
        let is_new = !is_over && job.audits.doubt(report.range, &provenance.principal.owner);
        let is_awaited = job.audits.awaited(report.range).is_some();
        self.effects.push(Effect::Contradicted(report.clone(), provenance.clone()));
        if !is_new || is_awaited {
            return self.ack(session, &report, Verdict::Superseded);
        }
        job.audits.asked += 1;
        self.command(Asker::Session(session), LedgerCommand::Doubt(report, provenance));
    }
}
