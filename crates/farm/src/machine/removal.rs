//! Jobs that are over and leave the farm and its ledger.

use super::Farm;
use crate::{Answer, Asker, Effect, JobId, LedgerCommand, Refusal, Removal, RequestId};

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
        self.leaving.insert(id, Box::new(was));
        self.remove_some(request, id);
        Ok(())
    }

    fn remove_some(&mut self, request: RequestId, job: JobId) {
        let command = LedgerCommand::Remove { job, most: ROWS_AT_A_TIME };
        self.command(Asker::Client(request), command);
    }

    pub(super) fn removed(&mut self, request: RequestId, job: JobId, removal: Removal) {
        match removal {
            Removal::Begun => self.remove_some(request, job),
            Removal::Gone => {
                let was = self.leaving.remove(&job).expect("the farm has asked for it");
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
        // The end of a dispute may take rows of any job back.
        if self.settling > 0 || job.unanswered > 0 {
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
}
