//! Figures of the farm, for operators.

use std::collections::BTreeMap;

use super::Farm;
use crate::job::Job;
use crate::{JobState, KernelName, Stats, WorkerView};

impl Farm {
    /// What has happened since the farm began.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// How many workers are connected.
    pub fn workers(&self) -> usize {
        self.sessions.len()
    }

    /// How many counting threads the connected workers have, by the kernel that they use. The name is empty for
    /// those of workers that name none of [`KernelName::ALL`].
    pub fn threads_by_kernel(&self) -> BTreeMap<KernelName, u64> {
        let mut threads = BTreeMap::new();
        for WorkerView { backend, threads: of_it, .. } in self.sessions.values().map(|it| &it.seen) {
            let kernel = KernelName::new(backend).unwrap_or_default();
            *threads.entry(kernel).or_default() += u64::from(*of_it);
        }
        threads
    }

    /// How many jobs are in this state in the ledger.
    pub fn jobs_in(&self, state: JobState) -> usize {
        self.jobs.values().filter(|job| job.durable_state == state).count()
    }

    /// How many threads the farm could keep busy for the length of a lease with what is left of its running jobs: the
    /// size that an automatic scaling of workers should aim at. 0 if there is nothing to count.
    ///
    /// Until something of a job was counted, each of its tasks counts as one thread. A job counts even if no connected
    /// worker has the memory for it, and not if its owner has had all hours that it may.
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
