//! What a client may see of a job.

use std::cmp::Reverse;

use crate::{
    Across, AuditPolicy, Commitment, JobId, JobSpec, JobState, LostWorkers, Suspect, Times,
};

/// Why a job is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What its total contradicts, for people.
    pub reason: String,
    /// The ranges that look worst, the worst first; [`Suspect::NAMED`] at most.
    pub worst: Vec<Suspect>,
}

/// What a client may see of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditView {
    /// How many ranges of a million are chosen.
    pub share_ppm: u32,
    /// Whether they are counted by searching where the method does not search.
    pub by_search: bool,
    /// Between whom the second opinion lies.
    pub across: Across,
    /// What was committed to when the audit was ordered.
    pub commitment: Commitment,
    /// The policy itself, once the job is over: before, it would tell where it is safe to lie.
    pub revealed: Option<AuditPolicy>,
}

impl AuditView {
    /// What may be seen of a policy of a job in this state.
    pub fn of(policy: AuditPolicy, state: JobState) -> AuditView {
        AuditView {
            share_ppm: policy.share_ppm,
            by_search: policy.by_search,
            across: policy.across,
            commitment: policy.commitment(),
            revealed: state.is_over().then_some(policy),
        }
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
    /// Why it is held, if it is.
    pub held: Option<Held>,
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
    /// Machines that lost worker processes while these counted it, those that tell the most first;
    /// [`JobView::LOST_NAMED`] at most. Nothing of a job that is over.
    pub lost: Vec<LostWorkers>,
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
    /// How many machines that lost workers are named.
    pub const LOST_NAMED: usize = 8;

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
