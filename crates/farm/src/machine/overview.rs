//! What people see of the farm, and figures for operators.

use std::collections::BTreeMap;

use super::Farm;
use crate::job::Job;
use crate::{
    Cell, JobId, JobSpec, JobState, KernelName, Overview, PlanMap, Progress, Stats, WorkerView,
};

impl Farm {
    /// The most ended jobs that are shown at a time.
    pub const ENDED_SHOWN: usize = 100;

    /// What people see of the farm now. It costs about a microsecond for each job and worker,
    /// and for a job that waits for its turn some more for each job that is leased.
    pub fn overview(&self) -> Overview {
        let over = self.jobs.values().filter(|job| job.stage.state().is_over());
        Overview {
            at: self.now,
            ended: self.jobs(.., JobState::is_over).rev().take(Farm::ENDED_SHOWN).collect(),
            ended_in_all: over.count(),
            live: self.jobs(.., |state| !state.is_over()).collect(),
            workers: self.worker_views().collect(),
            distrusted: self.distrusted().cloned().collect(),
            owners: self.owners(),
        }
    }

    /// What was done for each job since the last call, and how many workers hold ranges of it now.
    /// Jobs without progress are left out, and cost nothing.
    pub fn take_progress(&mut self) -> Vec<Progress> {
        let of = |(job, placements)| {
            let workers = self.leases.holders(job).count();
            Progress { job, placements, workers }
        };
        std::mem::take(&mut self.progressed).into_iter().map(of).collect()
    }

    /// What has become of each cell of a job's plan. It costs some ten microseconds, and one for
    /// each run of neighbouring ordinals in the same state.
    pub fn map(&self, id: JobId) -> Option<PlanMap> {
        let job = self.jobs.get(&id)?;
        let JobSpec { plan, shard, .. } = &job.spec;
        let mut map = PlanMap::new(plan.tasks, &plan.ordinals(*shard));
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
            let session = self.leases.get(lease).map(|lease| &self.sessions[&lease.session]);
            let holder = session.map(|session| &session.seen.provenance.worker);
            map.paint(range, |cell, tasks| {
                cell.leased += tasks;
                if let Some(holder) = holder
                    && cell.holders.len() < Cell::HOLDERS
                    && !cell.holders.contains(holder)
                {
                    cell.holders.push(holder.clone());
                }
            });
        }
        Some(map)
    }

    /// What has happened since the farm began.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// How many workers are connected.
    pub fn workers(&self) -> usize {
        self.sessions.len()
    }

    /// How many counting threads the connected workers have, by the kernel that they use. The name
    /// is empty for those of workers that name none of [`KernelName::ALL`].
    pub fn threads_by_kernel(&self) -> BTreeMap<KernelName, u64> {
        let mut threads = BTreeMap::new();
        for WorkerView { backend, threads: of_it, .. } in self.sessions.values().map(|it| &it.seen)
        {
            let kernel = KernelName::new(backend).unwrap_or_default();
            *threads.entry(kernel).or_default() += u64::from(*of_it);
        }
        threads
    }

    /// How many jobs are in this state in the ledger.
    pub fn jobs_in(&self, state: JobState) -> usize {
        self.jobs.values().filter(|job| job.stage.state() == state).count()
    }

    /// How many threads the farm could keep busy for the length of a lease with the rest of the
    /// jobs of which something may be leased. An automatic scaling of workers should aim at this
    /// number. It is 0 if there is nothing to count.
    ///
    /// Until something of a job was counted, each of its tasks counts as one thread.
    pub fn leasable_threads(&self) -> u64 {
        let running = self.leasable().map(|id| self.threads_for(&self.jobs[&id]));
        running.fold(0, u64::saturating_add)
    }

    fn threads_for(&self, job: &Job) -> u64 {
        let tasks = job.tasks.saturating_sub(job.tasks_done).saturating_sub(job.failed.len());
        let lease_us = self.pace.lease_ms(&self.config).max(1) as f64 * 1e3;
        let by_time =
            job.costs.us_per_task().map(|us| (tasks as f64 * us / lease_us).ceil() as u64);
        let recounts = job.audits.wanted.saturating_add(job.disputes.len() as u64);
        by_time.unwrap_or(tasks).clamp(tasks.min(1), tasks).saturating_add(recounts)
    }
}
