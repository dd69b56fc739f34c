//! Workers that are lost with what they hold. What they held may have killed them: see
//! [`Job`](crate::job::Job).

use std::collections::{BTreeMap, BTreeSet};

use super::{Farm, existing};
use crate::session::Process;
use crate::{Effect, IntervalSet, JobId, LeaseId, Principal, Range, SessionId};

/// So many processes that one machine loses say something of their tasks: enough for four deadly
/// ones. If it loses more, that says something of the machine, and only each doubling still counts
/// against the tasks: a sound machine that is alone with one more deadly task gets rid of it, and a
/// broken one spoils few tasks.
const MOST_OF_A_MACHINE: usize = 12;
/// So many lost processes are remembered.
const MOST_REMEMBERED: usize = 1_024;

/// A process that was lost while it counted and has not come back.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) process: Process,
    principal: Principal,
    /// The jobs of which it held something.
    jobs: BTreeSet<JobId>,
}

impl Farm {
    /// A session ended by itself. Unless it was leaving, one of the tasks that it held may have
    /// killed its worker. Recounts are no case of it: their tasks were counted once.
    pub(super) fn lost(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        self.stats.workers_lost += u64::from(!session.seen.draining);
        let leases = session.leases.iter().filter(|_| !session.seen.draining);
        // A session may have a task by two leases, if others have it, too: one process is lost with
        // it.
        let mut by_job: BTreeMap<JobId, IntervalSet> = BTreeMap::new();
        for (job, range) in leases.flat_map(|&lease| self.first_count(lease)) {
            by_job.entry(job).or_default().insert(range);
        }
        let (process, principal) = (session.process.clone(), session.principal().clone());
        self.left(id);
        if by_job.is_empty() {
            return;
        }
        if self.losses.len() == MOST_REMEMBERED {
            self.losses.pop_front();
        }
        let jobs = by_job.keys().copied().collect();
        self.losses.push_back(Loss { process, principal: principal.clone(), jobs });
        let processes = self.losses.iter().filter(|other| other.principal == principal).count();
        self.effects.push(Effect::Lost { principal, processes });
        if processes > MOST_OF_A_MACHINE && !processes.is_power_of_two() {
            return;
        }
        for (job, ranges) in by_job {
            for range in ranges.iter() {
                let failed = existing(&mut self.jobs, job).record_loss(range);
                self.effects.extend(failed.iter().map(|range| Effect::RangeFailed { job, range }));
            }
        }
    }

    /// A job that is resumed tries its failed tasks again, also on machines that lost many
    /// processes with it.
    pub(super) fn forget_attempts(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.forget_attempts();
            self.losses.retain_mut(|loss| {
                loss.jobs.remove(&id);
                !loss.jobs.is_empty()
            });
        }
    }

    /// What is open of a lease, unless it is a recount.
    fn first_count(&self, lease: LeaseId) -> impl Iterator<Item = (JobId, Range)> + '_ {
        let lease = self.leases.get(lease).filter(|lease| !lease.recount);
        lease.into_iter().flat_map(|lease| lease.open.iter().map(|range| (lease.job, range)))
    }
}
