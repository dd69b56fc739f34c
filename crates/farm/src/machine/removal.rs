//! Jobs that are over and leave the farm and its ledger.

use super::{Farm, Pending};
use crate::{Answer, Effect, JobId, JobView, LedgerCommand, Refusal, Removal, RequestId};

/// Rows that the ledger removes at a time, which is some milliseconds' work.
const ROWS_AT_A_TIME: usize = 2_000;

impl Farm {
    /// From now on the job is the ledger's alone, which removes it some rows at a time.
    pub(super) fn remove(&mut self, request: RequestId, id: JobId) -> Result<(), Refusal> {
        let was = self.job(id).ok_or(Refusal::NoSuchJob(id))?;
        if self.proofs.contains(&id) {
            return Err(Refusal::Proof(id));
        }
        self.let_go(id)?;
        self.remove_some(request, Box::new(was));
        Ok(())
    }

    fn remove_some(&mut self, request: RequestId, was: Box<JobView>) {
        let job = was.id;
        let command = LedgerCommand::Remove { job, most: ROWS_AT_A_TIME };
        self.command(command, Pending::Remove { request, job, was });
    }

    pub(super) fn removed(&mut self, request: RequestId, was: Box<JobView>, removal: Removal) {
        match removal {
            Removal::Begun => self.remove_some(request, was),
            Removal::Gone => {
                self.effects.push(Effect::Reply { request, answer: Ok(Answer::Job(was)) });
            }
        }
    }

    /// Forgets a job that is over and of which nothing is on its way into the ledger.
    fn let_go(&mut self, id: JobId) -> Result<(), Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        if !job.state.is_over() || !job.durable_state.is_over() {
            return Err(Refusal::NotOver(id, job.durable_state));
        }
        if self.is_unsettled(id) {
            return Err(Refusal::Unsettled(id));
        }
        for lease in self.leases.of_job(id) {
            self.revoke(lease);
        }
        let job = self.jobs.remove(&id).expect("it was found");
        self.keys.remove(&job.spec.origin);
        self.progressed.remove(&id);
        Ok(())
    }

    /// Whether something of a job is on its way into the ledger, or may be: the end of a dispute
    /// may take rows of any job back.
    pub(super) fn is_unsettled(&self, id: JobId) -> bool {
        self.settling > 0 || self.pending.values().any(|pending| pending.is_of(id))
    }
}

impl Pending {
    /// Whether the answer is about this job, which the farm must have then.
    fn is_of(&self, id: JobId) -> bool {
        match self {
            Pending::Job { id: job, .. }
            | Pending::Done { job }
            | Pending::Hold { job, .. }
            | Pending::Change { job, .. }
            | Pending::Audit { job, .. }
            | Pending::FindAudits { job }
            | Pending::Remove { job, .. } => *job == id,
            Pending::Range { report, .. }
            | Pending::Compare { report, .. }
            | Pending::Doubt { report, .. }
            | Pending::Confirm { report, .. }
            | Pending::Dispute { report, .. }
            | Pending::Settle { report, .. } => report.job == id,
            Pending::Trust { .. } => false,
        }
    }
}
