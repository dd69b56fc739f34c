//! What a client may see of a job.

use std::cmp::Reverse;

use bytesize::ByteSize;

use crate::{AuditPolicy, AuditScope, JobId, JobSpec, JobState, Rate, Times};

/// What a client may see of an audit: all but its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditView {
    /// How many ranges of a million are chosen.
    pub share_ppm: u32,
    /// Whether they are counted by searching where the method does not search.
    pub by_search: bool,
    /// Between whom the second opinion lies.
    pub across: AuditScope,
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
    /// Sessions that may be leased ranges of it while it runs: they have the memory.
    pub able_workers: usize,
    /// Thread time that the rest will take these workers, once it can be told; without audits.
    pub busy_us_left: Option<u64>,
    /// How fast these workers count it; of a job that is over, how fast it was counted from its first lease to its end.
    pub rate: Rate,
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
    /// Tasks that are not leased any more, because worker process after worker process was lost with them.
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

    /// What it waits for while nobody counts it, if that can be told: the end of a sentence that begins with "waits for".
    /// `others` are jobs of the same farm. A job of which workers hold ranges waits for nothing but second counts that none
    /// of the workers may give.
    pub fn waits_for(&self, others: &[JobView]) -> Option<String> {
        if self.state == JobState::Paused {
            return Some(format!("`queens resume {}`: it is paused", self.id));
        }
        let is_running = self.state == JobState::Running;
        if !is_running && (self.state != JobState::Done || self.audits_wanted == 0) {
            return None;
        }
        let is_before = |other: &&JobView| {
            other.state == JobState::Running && other.workers > 0 && other.turn() < self.turn()
        };
        match (self.able_workers, self.thread_memory) {
            (0, 0) if self.workers == 0 => Some("a worker: none is connected".into()),
            (0, needed) if self.workers == 0 => {
                let needed = ByteSize(needed).display().iec();
                Some(format!("a worker with {needed} of memory: none is connected"))
            }
            _ if self.audits_stranded > Some(0) => Some(self.waits_for_second_counts()),
            _ if !is_running || self.workers > 0 => None,
            _ if self.tasks_done == self.tasks() && self.disputes > 0 => {
                let s = if self.disputes == 1 { "" } else { "s" };
                Some(format!("another machine or owner to count {} range{s} again", self.disputes))
            }
            _ if self.poisoned > 0 && self.tasks_done + self.poisoned == self.tasks() => Some(
                format!("`queens resume {}`: workers were lost with what is left of it", self.id),
            ),
            _ => {
                let first = others.iter().filter(is_before).min_by_key(|other| other.turn())?;
                Some(format!("job {}, which is served first", first.id))
            }
        }
    }

    /// Who is missing for its second counts, and what else can be done.
    fn waits_for_second_counts(&self) -> String {
        let ranges = self.audits_stranded.unwrap_or(0);
        let s = if ranges == 1 { "" } else { "s" };
        let withdraw = format!("`queens audit {} --withdraw` does without", self.id);
        match self.audit.map(|audit| audit.across).unwrap_or_default() {
            AuditScope::Machines => format!(
                "a worker on another machine to count {ranges} range{s} again: none is connected, and no machine checks \
                 itself; {withdraw}"
            ),
            AuditScope::Owners => format!(
                "a worker of another owner to count {ranges} range{s} again: none is connected, and no owner checks \
                 itself; `queens token create --role worker --owner NAME` lets one in, and {withdraw}"
            ),
        }
    }
}
