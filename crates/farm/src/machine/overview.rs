//! What people see of the farm: see [`Overview`].

use super::Farm;
use crate::lease::OpenLease;
use crate::{Cell, JobId, JobState, Overview, PlanMap, Progress};

impl Farm {
    /// The most jobs that have ended of which people see at a time.
    pub const ENDED_SHOWN: usize = 100;

    /// What people see of the farm now. It costs about a microsecond for each job and worker,
    /// and for a job that waits for its turn some more for each job that is leased.
    pub fn overview(&self) -> Overview {
        let ended_in_all = [JobState::Done, JobState::Cancelled].map(|state| self.jobs_in(state));
        Overview {
            at: self.now,
            ended: self.jobs(.., JobState::is_over).rev().take(Farm::ENDED_SHOWN).collect(),
            ended_in_all: ended_in_all.iter().sum(),
            live: self.jobs(.., |state| !state.is_over()).collect(),
            workers: self.worker_views().collect(),
            distrusted: self.distrusted().cloned().collect(),
            owners: self.owners(),
        }
    }

    /// What was done for each job since the last call, and how many workers hold ranges of it now. Jobs without progress
    /// are left out, and cost nothing.
    pub fn take_progress(&mut self) -> Vec<Progress> {
        let of = |(job, placements)| {
            let workers = self.leases.holders(job).count();
            Progress { job, placements, workers }
        };
        std::mem::take(&mut self.progressed).into_iter().map(of).collect()
    }

    /// What has become of each part of a job's plan. It costs some ten microseconds, and one for each stretch of
    /// ordinals that have the same fate.
    pub fn map(&self, id: JobId) -> Option<PlanMap> {
        let job = self.jobs.get(&id)?;
        let mut map =
            PlanMap::new(job.spec.plan.tasks, &job.spec.slice.ordinals(job.spec.plan.tasks));
        for range in job.accepted().iter() {
            map.paint(range, |cell, tasks| cell.accepted += tasks);
        }
        for range in job.failed.iter() {
            map.paint(range, |cell, tasks| cell.failed += tasks);
        }
        for &range in job.disputes.keys() {
            map.paint(range, |cell, tasks| cell.disputed += tasks);
        }
        for (range, lease) in job.leased() {
            let holder = self.leases.get(lease).map(|lease| self.holder(lease));
            map.paint(range, |cell, tasks| {
                cell.leased += tasks;
                name_holder(cell, holder);
            });
        }
        Some(map)
    }

    /// The name of the worker that has a lease.
    fn holder(&self, lease: &OpenLease) -> &str {
        &self.sessions[&lease.session].seen.provenance.worker
    }
}

fn name_holder(cell: &mut Cell, holder: Option<&str>) {
    let Some(holder) = holder else { return };
    if cell.holders.len() < Cell::HOLDERS && !cell.holders.iter().any(|named| named == holder) {
        cell.holders.push(holder.into());
    }
}
