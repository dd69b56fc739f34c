//! What a client may see of a job.

use std::cmp::Reverse;

use bytesize::ByteSize;

use crate::{AuditPolicy, AuditScope, Hours, JobId, JobSpec, JobState, Rate, Times};

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
    /// Microseconds that the rest will take these workers, without audits; `None` before it can be estimated.
    pub us_left: Option<u64>,
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
    /// What its total contradicts, for people, if it is suspended.
    pub suspended: Option<String>,
    /// Accepted ranges that wait for their second count.
    pub audits_wanted: u64,
    /// Accepted ranges of which a second count, by another machine or owner and another kernel,
    /// agreed.
    pub audits_agreed: u64,
    /// Of the ranges that wait, so many that no connected worker may give a second count of, as far as the farm keeps them:
    /// some hundreds. `None` before it is known.
    pub audits_stranded: Option<u64>,
    /// Tasks that are not leased any more, because worker process after worker process was lost with them.
    pub failed: u64,
    /// The first of these, [`JobView::FAILED_NAMED`] at most.
    pub failed_first: Vec<u64>,
    /// When it was submitted and when it ended.
    pub times: Times,
    /// The thread time that its counts took.
    pub hours: Hours,
    /// Nothing of it is leased, because the jobs of its owner have taken all hours that they may.
    pub is_over_limit: bool,
}

impl JobView {
    /// How many failed tasks are named.
    pub const FAILED_NAMED: usize = 8;

    /// Seconds until the job ends if the workers that hold ranges of it go on; `None` without them, and
    /// before it can be estimated.
    pub fn seconds_left(&self) -> Option<f64> {
        self.us_left.filter(|_| !self.state.is_over()).map(|us| us as f64 / 1e6)
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

    /// What it waits for while no worker counts it, if that is known: the end of a sentence that begins with "waits for".
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
        if self.is_over_limit && self.workers == 0 {
            let owner = &self.spec.origin.owner;
            return Some(format!(
                "more hours: jobs of {owner} have taken all that they may; an admin grants more by `queens owners {owner} \
                 --hours H`"
            ));
        }
        let is_of_owner = |other: &JobView| other.spec.origin.owner == self.spec.origin.owner;
        let is_before = |other: &&JobView| {
            let (others, its) = (other.spec.priority, self.spec.priority);
            let is_equal = others == its && (other.id < self.id || !is_of_owner(other));
            other.state == JobState::Running && other.workers > 0 && (others > its || is_equal)
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
            _ if self.failed > 0 && self.tasks_done + self.failed == self.tasks() => Some(format!(
                "`queens resume {}`: workers were lost with what is left of it",
                self.id
            )),
            _ => {
                let first = others
                    .iter()
                    .filter(is_before)
                    .min_by_key(|other| (Reverse(other.spec.priority), other.id))?;
                let is_equal = first.spec.priority == self.spec.priority;
                Some(match is_equal && !is_of_owner(first) {
                    true => format!("its owner's turn: workers count job {} of another", first.id),
                    false => format!("job {}, which is served first", first.id),
                })
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
