//! What a client may see of a job.

use std::fmt;

use crate::{AuditPolicy, JobId, Plan, Slice};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its ranges are lent whenever workers have room.
    Running,
    /// Nothing of it is lent; results that still arrive are accepted.
    Paused,
    /// Ended by a client, without a total. Final.
    Cancelled,
    /// Every ordinal is accepted, nothing is disputed and nothing waits for an audit.
    Done,
}

impl JobState {
    /// The state's name in messages and ledgers.
    pub fn name(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Paused => "paused",
            JobState::Cancelled => "cancelled",
            JobState::Done => "done",
        }
    }

    /// Whether it is done or cancelled.
    pub fn is_over(self) -> bool {
        matches!(self, JobState::Cancelled | JobState::Done)
    }

    /// The state of that name.
    pub fn named(name: &str) -> Option<JobState> {
        let all = [JobState::Running, JobState::Paused, JobState::Cancelled, JobState::Done];
        all.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a client may see of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// Its number.
    pub id: JobId,
    /// What it counts.
    pub plan: Plan,
    /// The part that is wanted of it.
    pub slice: Slice,
    /// Jobs of higher priority are served first.
    pub priority: i32,
    /// Where it stands.
    pub state: JobState,
    /// Tasks whose counts are durable.
    pub tasks_done: u64,
    /// Sum over these; the answer once the job is done.
    pub total: u128,
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
    /// What is counted twice, if anything is.
    pub audit: Option<AuditPolicy>,
    /// Accepted ranges that wait for their second count.
    pub audits_wanted: u64,
    /// Accepted ranges of which a second count, by another worker and another kernel, agreed.
    pub audits_agreed: u64,
    /// Tasks that are not lent any more, because worker process after worker process was lost with them.
    pub poisoned: u64,
    /// The first of these, [`JobView::POISONED_NAMED`] at most.
    pub poisoned_first: Vec<u64>,
}

impl JobView {
    /// How many poisoned tasks are named.
    pub const POISONED_NAMED: usize = 8;

    /// The share of the plan's tasks whose counts are durable, 0 to 100.
    pub fn percent(&self) -> f64 {
        let tasks = self.plan.tasks;
        if tasks == 0 { 100.0 } else { 100.0 * self.tasks_done as f64 / tasks as f64 }
    }
}
