//! Jobs: their beginning, their rests and their end. What holds a total up is in `holds`.

use super::{Config, Farm, Pending};
use crate::job::Job;
use crate::job_view::turn;
use crate::{Effect, JobId, JobState, LedgerCommand, Origin, Refusal, RequestId};

impl Farm {
    /// The job exists once the ledger has it: until then nothing of it is lent. A submission that repeats the key of
    /// a job of its owner is answered with that job.
    pub(super) fn submitted(&mut self, request: RequestId, job: Job) {
        if let Some(&id) = self.keys.get(&job.origin) {
            return self.submitted_again(request, id, &job);
        }
        if let Some(refusal) = self.too_many(&job.origin.owner) {
            return self.effects.push(Effect::Reply { request, answer: Err(refusal) });
        }
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.note_key(&job.origin, id);
        let Job { plan, slice, priority, policy: audit, .. } = job;
        let origin = job.origin.clone();
        let command = LedgerCommand::CreateJob { job: id, origin, plan, slice, priority, audit };
        self.command(command, Pending::Job { requests: vec![request], id, job: Box::new(job) });
    }

    fn submitted_again(&mut self, request: RequestId, id: JobId, wanted: &Job) {
        let coming = self.pending.values_mut().find_map(|pending| match pending {
            Pending::Job { requests, id: of, job } if *of == id => Some((requests, job)),
            _ => None,
        });
        let is_it = match (self.jobs.get(&id), &coming) {
            (Some(job), _) => job.answers(wanted),
            (None, Some((_, job))) => job.answers(wanted),
            (None, None) => unreachable!("a job with a key exists, or is on its way"),
        };
        match coming {
            // Whoever repeats a submission is answered no sooner than the first.
            Some((requests, _)) if is_it => requests.push(request),
            _ => {
                let answer = if is_it { Ok(id) } else { Err(Refusal::KeyTaken(id)) };
                self.effects.push(Effect::Reply { request, answer });
            }
        }
    }

    /// Keeps in mind that this is the job of its key, if it has one.
    pub(super) fn note_key(&mut self, origin: &Origin, id: JobId) {
        if origin.key.is_some() {
            self.keys.insert(origin.clone(), id);
        }
    }

    /// Why an owner may have no further job. Jobs on their way into the ledger count.
    fn too_many(&self, owner: &str) -> Option<Refusal> {
        let coming = self.pending.values().filter_map(|pending| match pending {
            Pending::Job { job, .. } => Some(&**job),
            _ => None,
        });
        let live = self.jobs.values().filter(|job| !job.durable_state.is_over());
        let (mut all, mut own) = (0, 0);
        for job in coming.chain(live) {
            all += 1;
            own += usize::from(job.origin.owner == owner);
        }
        let Config { max_jobs, max_jobs_per_owner, .. } = self.config;
        if own >= max_jobs_per_owner {
            return Some(Refusal::TooManyOfOwner { most: max_jobs_per_owner });
        }
        (all >= max_jobs).then_some(Refusal::TooManyJobs { most: max_jobs })
    }

    pub(super) fn job_written(&mut self, requests: Vec<RequestId>, id: JobId, job: Job) {
        self.jobs.insert(id, job);
        self.requeue(id);
        let replies = requests.into_iter().map(|request| Effect::Reply { request, answer: Ok(id) });
        self.effects.extend(replies);
        self.finish_if_covered(id);
    }

    /// A client wants `job` in another state. Lending stops at once, the answer waits for the
    /// ledger. Returns whether it is granted.
    pub(super) fn change(
        &mut self,
        request: RequestId,
        by: String,
        id: JobId,
        wanted: JobState,
    ) -> bool {
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
        let command = LedgerCommand::SetState { job: id, state: wanted, by };
        self.command(command, Pending::State { request, job: id, state: wanted });
        true
    }

    /// A client wants a job to be served earlier or later. What is lent next follows it at once, and what is lent
    /// already stays so; the answer waits for the ledger.
    pub(super) fn prioritised(&mut self, request: RequestId, by: String, id: JobId, priority: i32) {
        let refusal = match self.jobs.get(&id) {
            None => Refusal::NoSuchJob(id),
            Some(job) if job.state == JobState::Cancelled => Refusal::Over(id, JobState::Cancelled),
            Some(job) if job.is_over() => Refusal::Over(id, JobState::Done),
            Some(job) => {
                self.queue.remove(&turn(job.priority, id));
                self.jobs.get_mut(&id).expect("it was found").priority = priority;
                self.requeue(id);
                let command = LedgerCommand::SetPriority { job: id, priority, by };
                return self.command(command, Pending::Priority { request, job: id });
            }
        };
        self.effects.push(Effect::Reply { request, answer: Err(refusal) });
    }

    pub(super) fn state_written(&mut self, request: RequestId, id: JobId, state: JobState) {
        let job = self.jobs.get_mut(&id).expect("a job with something pending is not removed");
        (job.durable_state, job.held) = (state, None);
        if state == JobState::Cancelled {
            job.rest();
        }
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
        let job = self.jobs.get_mut(&id).expect("a job with something pending is not removed");
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
        job.rest();
        self.requeue(id);
        self.effects.push(Effect::Finished { job: id });
    }
}
