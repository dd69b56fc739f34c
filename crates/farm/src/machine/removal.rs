//! Jobs that are over and leave the farm and its ledger.

use super::Farm;
use crate::{Answer, Asker, Effect, JobId, LedgerCommand, Refusal, RequestId};

impl Farm {
    /// From now on the job is the ledger's alone, which removes it.
    pub(super) fn remove(&mut self, request: RequestId, id: JobId) -> Result<(), Refusal> {
        let was = self.job(id).ok_or(Refusal::NoSuchJob(id))?;
        if self.proofs.contains(&id) {
            return Err(Refusal::Proof(id));
        }
        self.let_go(id)?;
        self.removing.insert(id, Box::new(was));
        self.command(Asker::Client(request), LedgerCommand::Remove(id));
        Ok(())
    }

    /// The ledger takes other commands between one part of the job and the next.
    pub(super) fn removed(&mut self, request: RequestId, job: JobId, is_whole: bool) {
        if !is_whole {
            return self.command(Asker::Client(request), LedgerCommand::Remove(job));
        }
        let was = self.removing.remove(&job).expect("the farm has asked for it");
        self.effects.push(Effect::Reply(request, Ok(Answer::Job(was))));
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
        // A job that is done is served while it is audited.
        self.queue.remove(job.spec.priority, &job.spec.origin.owner, id);
        self.progressed.remove(&id);
        Ok(())
    }
}
