//! What an operator may configure.

/// The farm's few tunable times and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a worker should be busy with one lease, ms; longer in a large farm: see
    /// [`Pace`](crate::Pace).
    pub lease_ms: u64,
    /// How long a lease lives without a report, ms; longer in a large farm, and doubled for a job
    /// whose live workers miss it.
    pub lease_ttl_ms: u64,
    /// How long after a restart running jobs are held back, ms, so that workers which still hold
    /// ranges of them can reconnect and keep them. More than workers pause between attempts.
    pub grace_ms: u64,
    /// Tasks per thread in a worker's first lease of a job, before its speed is known.
    pub probe_tasks: u64,
    /// The most jobs that have not ended; further ones are refused.
    pub max_jobs: usize,
    /// The most jobs of one owner that have not ended; further ones of that owner are refused.
    pub max_jobs_per_owner: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            lease_ms: 10_000,
            lease_ttl_ms: 60_000,
            grace_ms: 5_000,
            probe_tasks: 4,
            max_jobs: 1_000,
            max_jobs_per_owner: 250,
        }
    }
}
