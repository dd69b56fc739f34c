//! One look at the farm.

use std::collections::BTreeMap;

use farm::{Farm, JobState, JobView, KernelName, OwnerView, Pace, Stats};

/// What the farm is like at one moment.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Figures {
    pub(super) stats: Stats,
    /// How many jobs are in each state.
    pub(super) states: [(JobState, usize); JobState::ALL.len()],
    /// Jobs that have not ended.
    pub(super) jobs: Vec<JobView>,
    /// Owners of jobs.
    pub(super) owners: Vec<OwnerView>,
    pub(super) workers: usize,
    pub(super) threads: BTreeMap<KernelName, u64>,
    pub(super) leasable_threads: u64,
    /// How often workers are to report.
    pub(super) pace: Pace,
    /// Number of parties that are distrusted.
    pub(super) distrusted: usize,
    /// Leases that workers hold.
    pub(super) leases: usize,
    /// Events that wait for the event loop.
    pub(super) event_queue: usize,
    /// Requests that wait for the ledger's thread.
    pub(super) ledger_queue: usize,
}

impl Figures {
    /// The most jobs, and owners, of which each is told. It is as many as may run unless the
    /// coordinator was told otherwise.
    const MOST_JOBS: usize = 1_000;

    /// Looks at `farm`, for which so much waits.
    pub(in crate::coordinator) fn of(
        farm: &Farm,
        event_queue: usize,
        ledger_queue: usize,
    ) -> Figures {
        let jobs = farm.jobs(.., |state| !state.is_over()).take(Figures::MOST_JOBS).collect();
        Figures {
            stats: farm.stats().clone(),
            states: JobState::ALL.map(|state| (state, farm.jobs_in(state))),
            leasable_threads: farm.leasable_threads(),
            jobs,
            owners: farm.owners().into_iter().take(Figures::MOST_JOBS).collect(),
            workers: farm.workers(),
            threads: farm.threads_by_kernel(),
            pace: farm.pace(),
            distrusted: farm.distrusted().count(),
            leases: farm.leases(),
            event_queue,
            ledger_queue,
        }
    }
}
