//! What a client may see of a job.

use std::cmp::Reverse;

use crate::{Across, AuditPolicy, JobId, JobSpec, JobState, Times};

/// What a client may see of an audit: all but its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditView {
    /// How many ranges of a million are chosen.
    pub share_ppm: u32,
    /// Whether they are counted by searching where the method does not search.
    pub by_search: bool,
    /// Between whom the second opinion lies.
    pub across: Across,
}

impl From<AuditPolicy> for AuditView {
    fn from(AuditPolicy { share_ppm, by_search, across, .. }: AuditPolicy) -> AuditView {
        AuditView { share_ppm, by_search, across }
    }
}

/// What a client may see of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// Its number.
    pub id: JobId,
    /// As it was submitted, but for its priority, which may have changed since.
    pub spec: JobSpec,
    /// Where it stands.
    pub state: JobState,
    /// Tasks whose counts are durable.
    pub tasks_done: u64,
    /// The sum of these counts, before symmetry.
    pub counted: u128,
    /// The answer to what was asked, once the job is done: for a problem that counts up to symmetry, so many. `None` for a
    /// part of a plan.
    pub total: Option<u128>,
    /// Bytes without which no thread can count its tasks.
    pub thread_memory: u64,
    /// Sessions that work on it.
    pub workers: usize,
    /// Sessions that may be lent ranges of it while it runs: they have the memory.
    pub able_workers: usize,
    /// Thread time that the rest will take these workers, once it can be told; without audits.
    pub busy_us_left: Option<u64>,
    /// With as many threads these workers may count it.
    pub threads: u32,
    /// Ranges whose count is in dispute.
    pub disputes: usize,
    /// The first of these, who counted it and who is asked to settle it: a sentence for people.
    pub disputed: Option<String>,
    /// What is counted twice, if anything is.
    pub audit: Option<AuditView>,
    /// What its total contradicts, for people, if it is held.
    pub held: Option<String>,
    /// Accepted ranges that wait for their second count.
    pub audits_wanted: u64,
    /// Accepted ranges of which a second count, by another machine or owner and another kernel,
    /// agreed.
    pub audits_agreed: u64,
    /// Of the ranges that wait, so many that no connected worker may give a second count of, as far as the farm keeps them:
    /// some hundreds. `None` before it is known.
    pub audits_stranded: Option<u64>,
    /// Tasks that are not lent any more, because worker process after worker process was lost with them.
    pub poisoned: u64,
    /// The first of these, [`JobView::POISONED_NAMED`] at most.
    pub poisoned_first: Vec<u64>,
    /// When it was submitted and when it ended.
    pub times: Times,
}

/// The place of a job among running ones: jobs of higher priority are served first, equal ones in the order of
/// their submission.
pub(crate) fn turn(priority: i32, id: JobId) -> (Reverse<i32>, JobId) {
    (Reverse(priority), id)
}

impl JobView {
    /// How many poisoned tasks are named.
    pub const POISONED_NAMED: usize = 8;

    /// Seconds until the job ends if the workers that hold ranges of it go on; `None` without them, and
    /// before it can be told.
    pub fn seconds_left(&self) -> Option<f64> {
        let busy_us = self.busy_us_left.filter(|_| self.threads > 0 && !self.state.is_over())?;
        Some(busy_us as f64 / 1e6 / f64::from(self.threads))
    }

    /// Its place among running jobs: the lowest is served first.
    pub fn turn(&self) -> (Reverse<i32>, JobId) {
        turn(self.spec.priority, self.id)
    }

    /// Number of tasks of its part of the plan.
    pub fn tasks(&self) -> u64 {
        self.spec.slice.ordinals(self.spec.plan.tasks).len()
    }

    /// The share of its tasks whose counts are durable, 0 to 100.
    pub fn percent(&self) -> f64 {
        let tasks = self.tasks();
        if tasks == 0 { 100.0 } else { 100.0 * self.tasks_done as f64 / tasks as f64 }
    }
}
