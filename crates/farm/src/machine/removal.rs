//! Jobs that are over and leave the farm and its ledger.

use super::{Farm, Pending};
use crate::{Effect, JobId, LedgerCommand, Refusal, Removal, RequestId};

/// Rows that the ledger removes at a time, which is some milliseconds' work.
const ROWS_AT_A_TIME: usize = 2_000;

impl Farm {
    /// A job whose removal was broken off, or is under way, is the ledger's alone.
    pub(super) fn removal_asked(&mut self, request: RequestId, id: JobId) {
        let refusal = match self.jobs.contains_key(&id) {
            _ if self.proofs.contains(&id) => Some(Refusal::Proof(id)),
            true => self.let_go(id).err(),
            false => None,
        };
        match refusal {
            Some(refusal) => self.effects.push(Effect::Reply { request, answer: Err(refusal) }),
            None => self.remove_some(request, id),
        }
    }

    fn remove_some(&mut self, request: RequestId, id: JobId) {
        let command = LedgerCommand::Remove { job: id, most: ROWS_AT_A_TIME };
        self.command(command, Pending::Remove { request, job: id });
    }

    pub(super) fn removed(&mut self, request: RequestId, id: JobId, removal: Removal) {
        let answer = match removal {
            Removal::Begun => return self.remove_some(request, id),
            Removal::Gone => Ok(id),
            Removal::Missing => Err(Refusal::NoSuchJob(id)),
        };
        self.effects.push(Effect::Reply { request, answer });
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
        self.keys.remove(&job.origin);
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
            | Pending::State { job, .. }
            | Pending::Done { job }
            | Pending::Hold { job, .. }
            | Pending::Priority { job, .. }
            | Pending::Audit { job, .. }
            | Pending::FindAudits { job }
            | Pending::Remove { job, .. } => *job == id,
            Pending::Range { report, .. }
            | Pending::Compare { report, .. }
            | Pending::Doubt { report, .. }
            | Pending::Confirm { report, .. }
            | Pending::Dispute { report, .. }
            | Pending::Settle { report, .. } => report.job == id,
            Pending::Trust { .. } | Pending::Distrust { .. } => false,
        }
    }
}
