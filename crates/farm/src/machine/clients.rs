//! Jobs: their beginning, their rests and their end. What holds a total up is in `holds`.

use super::{Farm, Pending};
use crate::job::Job;
use crate::{Effect, JobId, JobState, LedgerCommand, Refusal, RequestId};

impl Farm {
    /// The job exists once the ledger has it: until then nothing of it is lent.
    pub(super) fn submitted(&mut self, request: RequestId, job: Job) {
        let most = self.config.max_jobs;
        if self.live_jobs() >= most {
            let answer = Err(Refusal::TooManyJobs { most });
            self.effects.push(Effect::Reply { request, answer });
            return;
        }
        let id = JobId(self.next_job);
        self.next_job += 1;
        let Job { plan, slice, priority, policy: audit, .. } = job;
        let command = LedgerCommand::CreateJob { job: id, plan, slice, priority, audit };
        self.command(command, Pending::Job { request, id, job: Box::new(job) });
    }

    /// Jobs that have not ended, those on their way into the ledger included.
    fn live_jobs(&self) -> usize {
        let coming = self.pending.values().filter(|pending| matches!(pending, Pending::Job { .. }));
        let live = self.jobs.values().filter(|job| !job.durable_state.is_over());
        coming.count() + live.count()
    }

    pub(super) fn job_written(&mut self, request: RequestId, id: JobId, job: Job) {
        self.jobs.insert(id, job);
        self.requeue(id);
        self.effects.push(Effect::Reply { request, answer: Ok(id) });
        self.finish_if_covered(id);
    }

    /// A client wants `job` in another state. Lending stops at once, the answer waits for the
    /// ledger. Returns whether it is granted.
    pub(super) fn change(&mut self, request: RequestId, id: JobId, wanted: JobState) -> bool {
        let refusal = match self.jobs.get_mut(&id) {
            None => Some(Refusal::NoSuchJob(id)),
            Some(job) if job.is_over() && job.state != JobState::Cancelled => {
                Some(Refusal::Over(id, JobState::Done))
            }
            Some(job) if job.is_being_held() && wanted != JobState::Cancelled => {
                Some(Refusal::Held(id))
            }
            Some(job) if job.state == JobState::Cancelled && wanted != JobState::Cancelled => {
                Some(Refusal::Over(id, JobState::Cancelled))
            }
            Some(job) => {
                job.state = wanted;
                None
            }
        };
        if let Some(refusal) = refusal {
            self.effects.push(Effect::Reply { request, answer: Err(refusal) });
            return false;
        }
        self.requeue(id);
        if wanted != JobState::Running {
            for lease in self.leases.of_job(id) {
                self.revoke(lease);
            }
        }
        let command = LedgerCommand::SetState { job: id, state: wanted };
        self.command(command, Pending::State { request, job: id, state: wanted });
        true
    }

    pub(super) fn state_written(&mut self, request: RequestId, id: JobId, state: JobState) {
        let job = self.jobs.get_mut(&id).expect("jobs are never removed");
        (job.durable_state, job.held) = (state, None);
        self.effects.push(Effect::Reply { request, answer: Ok(id) });
        if state == JobState::Cancelled {
            self.effects.push(Effect::Finished { job: id });
        }
    }

    /// Ends a job of which every ordinal is durable, nothing is disputed and nothing waits for an audit; or
    /// holds it, if its total contradicts what is known.
    pub(super) fn finish_if_covered(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("callers name jobs that exist");
        let live = matches!(job.state, JobState::Running | JobState::Paused);
        let is_checked = job.disputes.is_empty() && job.audits.are_over() && self.settling == 0;
        if !live || job.finishing || job.holding || !job.is_covered() || !is_checked {
            return;
        }
        if let Some(reason) = job.known.contradiction(job.total) {
            return self.hold(id, reason);
        }
        job.finishing = true;
        let (tasks, total) = (job.tasks, job.total);
        let command = LedgerCommand::Finish { job: id, tasks, total };
        self.command(command, Pending::Done { job: id });
    }

    pub(super) fn done_written(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("jobs are never removed");
        job.finishing = false;
        if !job.disputes.is_empty() || !job.audits.are_over() || !job.is_covered() {
            return; // reopened while the record was on its way
        }
        job.ended = true;
        self.end_if_certain(id);
    }

    /// Says that a job is done, unless the end of a dispute may take rows of it back.
    pub(super) fn end_if_certain(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("callers name jobs that exist");
        if !job.ended || self.settling > 0 {
            return;
        }
        job.ended = false;
        (job.state, job.durable_state) = (JobState::Done, JobState::Done);
        job.seed_told = true;
        self.requeue(id);
        self.effects.push(Effect::Finished { job: id });
    }
}
