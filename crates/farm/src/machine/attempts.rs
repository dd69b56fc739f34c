//! Workers that are lost with what they hold. What they held may have killed them: see
//! [`Job`](crate::job::Job).

use std::collections::{BTreeMap, BTreeSet};

use super::{Farm, existing};
use crate::session::{Process, Session};
use crate::{Effect, IntervalSet, JobId, LeaseId, Principal, Range, SessionId};

/// Up to this many lost processes of one machine count against the tasks that they held, which is
/// enough for four deadly tasks. If a machine loses more, the machine itself is probably broken.
/// From then on, only each doubling of the number counts against the tasks. Thus a sound machine
/// without company still gets rid of another deadly task, and a broken machine makes few tasks
/// fail.
const MOST_OF_A_MACHINE: usize = 12;
/// The most lost processes that are remembered.
const MOST_REMEMBERED: usize = 1_024;

/// A process that was lost while it counted and has not come back.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) process: Process,
    principal: Principal,
    /// The jobs of which the process held something.
    jobs: BTreeSet<JobId>,
}

impl Farm {
    /// A session ended by itself. Unless it was draining, one of the tasks that it held may have
    /// killed its worker. Recounts are left out, because their tasks have been counted once
    /// already.
    pub(super) fn lost(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        self.stats.workers_lost += u64::from(!session.seen.draining);
        let leases = session.leases.iter().filter(|_| !session.seen.draining);
        // Two leases of a session may have the same task, if it was overtaken. The task is lost
        // with one process all the same.
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
        let loss = Loss { process: process.clone(), principal: principal.clone(), jobs };
        self.losses.push_back(loss);
        let processes = self.losses.iter().filter(|other| other.principal == principal).count();
        self.effects.push(Effect::Lost { principal, processes });
        if processes > MOST_OF_A_MACHINE && !processes.is_power_of_two() {
            return;
        }
        for (id, ordinals) in by_job {
            let job = existing(&mut self.jobs, id);
            let method = job.spec.plan.method;
            // A session without credit is leased nothing, and one that lets its leases expire
            // counts nothing. Neither keeps the tasks from failing, or they would go on killing
            // workers.
            let counts = |other: &Session| other.credit > 0 && other.seen.missed == 0;
            let is_other = |other: &Session| {
                other.principal().owner != process.0 && other.may_count(method) && counts(other)
            };
            let is_alone = || !self.sessions.values().any(is_other);
            let failed = job.record_loss(&process, ordinals, is_alone);
            let failed = failed.iter().map(|range| Effect::RangeFailed { job: id, range });
            self.effects.extend(failed);
        }
    }

    /// A process that comes back was not lost.
    pub(super) fn came_back(&mut self, process: &Process) {
        self.losses.retain(|loss| loss.process != *process);
        self.jobs.values_mut().for_each(|job| job.came_back(process));
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
