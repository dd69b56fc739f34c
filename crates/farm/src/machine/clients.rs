//! Requests of clients: jobs, their beginning, pauses and end.
//!
//! ```text
//!   all is counted, nothing is disputed, nothing waits for an audit: Finish
//!     the total contradicts nothing ──durable──► done
//!     it contradicts a fact         ──durable──► suspended ──an audit──► runs again
//! ```

use super::{Farm, existing};
use crate::job::Job;
use crate::stage::Stage;
use crate::{
    Answer, Asker, Change, Config, Effect, JobId, JobState, LedgerCommand, Milestone, Origin,
    Refusal, Request, RequestId, Submission,
};

impl Farm {
    /// A client asks for something. What is refused is answered at once, and everything else when
    /// it is durable.
    pub(super) fn asked(&mut self, request: RequestId, by: String, ask: Request) {
        let granted = match ask {
            Request::Submit(jobs) => self.submitted(request, jobs),
            Request::Change(job, change) => self.change(request, by, job, change),
            Request::Remove(job) => self.remove(request, job),
            Request::Trust { party, trusted, reason } => {
                self.change_trust(request, party, trusted, reason);
                Ok(())
            }
            Request::Drain { worker, owner } => {
                self.drain(request, &worker, owner.as_deref());
                Ok(())
            }
        };
        if let Err(refusal) = granted {
            self.effects.push(Effect::Reply(request, Err(refusal)));
        }
    }

    /// Answers a request with a job, as it is now.
    pub(super) fn answer(&mut self, request: RequestId, id: JobId) {
        let job = self.job(id).expect("a job with something pending is not removed");
        self.effects.push(Effect::Reply(request, Ok(Answer::Job(Box::new(job)))));
    }

    /// Adds jobs. They exist once the ledger has them; until then nothing of them is leased. If the
    /// owner has a job with the same key already, that job is meant and none is added.
    fn submitted(&mut self, request: RequestId, jobs: Vec<Submission>) -> Result<(), Refusal> {
        let jobs = jobs.into_iter();
        let jobs: Vec<Job> =
            jobs.map(|Submission { spec, audit, known }| Job::new(spec, audit, *known)).collect();
        let mut new = Vec::new();
        for job in &jobs {
            match self.keys.get(&job.spec.origin) {
                None => new.push(job),
                Some(&id) => {
                    let there = self.coming.get(&id).unwrap_or_else(|| &self.jobs[&id]);
                    if !there.answers(job) {
                        return Err(Refusal::KeyTaken(id));
                    }
                }
            }
        }
        // Jobs on their way into the ledger count, too.
        let live = self.jobs.values().filter(|job| !job.stage.state().is_over());
        let live: Vec<&Job> = live.chain(self.coming.values()).chain(new.iter().copied()).collect();
        let Config { max_jobs, max_jobs_per_owner, .. } = self.config;
        for job in &new {
            let is_own = |other: &&&Job| other.spec.origin.owner == job.spec.origin.owner;
            if live.iter().filter(is_own).count() > max_jobs_per_owner {
                return Err(Refusal::TooManyOfOwner(max_jobs_per_owner));
            }
        }
        if !new.is_empty() && live.len() > max_jobs {
            return Err(Refusal::TooManyJobs(max_jobs));
        }
        let numbers = jobs.into_iter().map(|job| self.add(job)).collect();
        self.submissions.push((request, numbers));
        self.answer_submissions();
        Ok(())
    }

    /// Adds a job, unless there is one of its key.
    fn add(&mut self, job: Job) -> JobId {
        let spec = job.spec.clone();
        if let Some(&id) = self.keys.get(&spec.origin) {
            return id;
        }
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.note_key(&spec.origin, id);
        let command = LedgerCommand::CreateJob { job: id, spec, audit: job.policy };
        self.coming.insert(id, job);
        self.command(Asker::Farm, command);
        id
    }

    /// Answers the submissions whose jobs are all durable. A repeated submission is answered no
    /// sooner than the first one.
    fn answer_submissions(&mut self) {
        let is_durable = |(_, jobs): &mut (RequestId, Vec<JobId>)| {
            !jobs.iter().any(|job| self.coming.contains_key(job))
        };
        let durable: Vec<_> = self.submissions.extract_if(.., is_durable).collect();
        for (request, jobs) in durable {
            let jobs = jobs.into_iter().filter_map(|id| self.job(id)).collect();
            self.effects.push(Effect::Reply(request, Ok(Answer::Jobs(jobs))));
        }
    }

    /// Keeps in mind that this is the job of its key, if it has one.
    pub(super) fn note_key(&mut self, origin: &Origin, id: JobId) {
        if origin.key.is_some() {
            self.keys.insert(origin.clone(), id);
        }
    }

    pub(super) fn job_written(&mut self, id: JobId) {
        let mut job = self.coming.remove(&id).expect("the farm has asked for it");
        job.times.submitted_at_ms = Some(self.unix_ms);
        self.open_account(&job.spec.origin.owner);
        self.jobs.insert(id, job);
        self.requeue(id);
        self.answer_submissions();
        self.finish_if_covered(id);
    }

    pub(super) fn begin(&mut self, id: JobId) {
        if existing(&mut self.jobs, id).stage.begin() {
            self.command(Asker::Farm, LedgerCommand::NoteBegun(id));
        }
    }

    /// A job waits from now on whenever others are served, if nobody has a lease of it.
    pub(super) fn begin_wait(&mut self, id: JobId) {
        if self.leases.holders(id).next().is_none() {
            existing(&mut self.jobs, id).served_until = self.served_ms;
        }
    }

    /// Adds up how long a job has waited while others were served, before it gets a lease or rests.
    /// The ledger is told once it is `least_ms`.
    pub(super) fn end_wait(&mut self, id: JobId, least_ms: u64) {
        let waits = self.leases.holders(id).next().is_none();
        let job = existing(&mut self.jobs, id);
        if waits {
            let ms = self.served_ms - std::mem::replace(&mut job.served_until, self.served_ms);
            let counts = job.times.begun_at_ms.is_some() && job.times.counted_at_ms.is_none();
            job.waited_ms += if counts { ms } else { 0 };
        }
        if job.waited_ms >= least_ms {
            let ms = std::mem::take(&mut job.waited_ms);
            self.command(Asker::Farm, LedgerCommand::NoteWaited(id, ms));
        }
    }

    /// Notes that the ledger has a milestone of a job.
    pub(super) fn reached(&mut self, id: JobId, milestone: Milestone) {
        existing(&mut self.jobs, id).times.note(milestone, self.unix_ms);
    }

    fn change(
        &mut self,
        request: RequestId,
        by: String,
        id: JobId,
        change: Change,
    ) -> Result<(), Refusal> {
        let waits = self.jobs.get(&id).is_some_and(|job| job.stage.is_begun());
        if waits && matches!(change, Change::Pause | Change::Cancel) {
            self.end_wait(id, 1);
        }
        match change {
            Change::Cancel => {
                self.jobs.get_mut(&id).ok_or(Refusal::NoSuchJob(id))?.stage.cancel(id)?
            }
            Change::Pause | Change::Resume => {
                let job = self.jobs.get_mut(&id).ok_or(Refusal::NoSuchJob(id))?;
                job.stage.set_paused(id, change == Change::Pause)?;
            }
            Change::Priority(priority) => self.prioritise(id, priority)?,
            Change::Audit { policy, narrows } => {
                return self.audit(request, by, id, policy, narrows);
            }
        }
        match change.state() {
            // Leasing stops at once.
            Some(JobState::Paused | JobState::Cancelled) => {
                self.requeue(id);
                for lease in self.leases.of_job(id) {
                    self.revoke(lease);
                }
            }
            Some(_) => {
                self.begin_wait(id);
                self.requeue(id);
                self.forget_attempts(id);
            }
            None => {}
        }
        self.command(Asker::Client(request), LedgerCommand::Change { job: id, change, by });
        Ok(())
    }

    /// Changes the priority of a job. The next leases follow it at once; what is leased already
    /// stays leased.
    fn prioritise(&mut self, id: JobId, priority: i32) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::NoSuchJob(id))?;
        // A job that is done is served while it is audited.
        if let Some(end) = job.stage.end().filter(|_| !job.is_served()) {
            return Err(Refusal::Over(id, end));
        }
        self.queue.remove(job.spec.priority, &job.spec.origin.owner, id);
        job.spec.priority = priority;
        self.requeue(id);
        Ok(())
    }

    pub(super) fn change_written(&mut self, request: RequestId, id: JobId, change: Change) {
        let job = existing(&mut self.jobs, id);
        if let Some(state) = change.state() {
            job.times.note(Milestone::State(state), self.unix_ms);
            match state {
                JobState::Cancelled => self.rest(id, Stage::Cancelled),
                _ => job.stage.note_paused(state == JobState::Paused),
            }
        }
        self.answer(request, id);
    }

    /// Ends a job if every ordinal of it is durable, nothing is disputed and nothing waits for an
    /// audit. If its total contradicts what is known, the job is suspended instead.
    pub(super) fn finish_if_covered(&mut self, id: JobId) {
        let job = existing(&mut self.jobs, id);
        if matches!(job.stage, Stage::Done) && job.audits.are_over() {
            // Its audit, for which it was served, may have ended.
            if self.queue.remove(job.spec.priority, &job.spec.origin.owner, id) {
                job.rest();
                self.requeue(id);
            }
            return;
        }
        let Stage::Live(live) = job.stage else { return };
        if !job.is_covered() || self.settling > 0 {
            return;
        }
        if job.times.counted_at_ms.is_none() {
            self.end_wait(id, 1);
            self.command(Asker::Farm, LedgerCommand::NoteCounted(id));
        }
        let job = existing(&mut self.jobs, id);
        if !job.is_complete() {
            return;
        }
        let (tasks, total) = (job.tasks, job.total);
        let reason = job.known.contradiction(total);
        job.stage = Stage::Finishing { live, contradiction: reason.clone() };
        self.command(Asker::Farm, LedgerCommand::Finish { job: id, tasks, total, reason });
    }

    /// The ledger has the record that a job is done, or suspended. It may have been cancelled
    /// meanwhile.
    pub(super) fn finish_written(&mut self, id: JobId) {
        let job = existing(&mut self.jobs, id);
        let Stage::Finishing { live, contradiction } = &mut job.stage else { return };
        let (live, contradiction) = (*live, contradiction.take());
        job.stage = Stage::Finished(live);
        match contradiction {
            None if job.disputes.is_empty() && job.is_covered() => self.end_if_certain(id),
            Some(reason) if job.is_complete() => self.rest(id, Stage::Suspended(reason)),
            // Something of it is to be counted again.
            _ => self.reopen(id),
        }
    }

    /// Marks a finished job as done, unless a settlement is under way that may take rows of it
    /// back.
    pub(super) fn end_if_certain(&mut self, id: JobId) {
        if matches!(self.jobs[&id].stage, Stage::Finished(_)) && self.settling == 0 {
            self.rest(id, Stage::Done);
        }
    }

    /// Puts a job into its last stage, done, cancelled or suspended, now that the ledger has it.
    /// Only a client, a dispute or a decision about trust changes it after this.
    fn rest(&mut self, id: JobId, stage: Stage) {
        let job = existing(&mut self.jobs, id);
        job.stage = stage;
        let state = job.stage.state();
        job.times.note(Milestone::State(state), self.unix_ms);
        if state.is_over() {
            job.rest();
        }
        self.requeue(id);
        self.effects.push(Effect::AtRest(id));
    }

    /// Removes a job that is over: the farm forgets it at once, and then the ledger removes it.
    fn remove(&mut self, request: RequestId, id: JobId) -> Result<(), Refusal> {
        let was = self.job(id).ok_or(Refusal::NoSuchJob(id))?;
        if self.proofs.contains(&id) {
            return Err(Refusal::Proof(id));
        }
        if !was.state.is_over() {
            return Err(Refusal::NotOver(id, was.state));
        }
        // The end of a dispute may take rows of any job back.
        if self.settling > 0 || self.jobs[&id].unanswered > 0 {
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
        self.removing.insert(id, Box::new(was));
        self.command(Asker::Client(request), LedgerCommand::Remove(id));
        Ok(())
    }

    pub(super) fn removed(&mut self, request: RequestId, job: JobId) {
        let was = self.removing.remove(&job).expect("the farm has asked for it");
        self.effects.push(Effect::Reply(request, Ok(Answer::Job(was))));
    }
}
