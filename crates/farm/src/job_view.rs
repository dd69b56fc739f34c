//! What a client may see of a job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::{seconds_or_null, text, text_or_null};
use crate::{AuditPolicy, Hours, JobId, JobSpec, JobState, Rate, Times};

/// What a client may see of a job. The API answers with it, `--json` prints it, and the page shows
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Job)]
pub struct JobView {
    /// Its number.
    #[serde(rename = "job")]
    pub id: JobId,
    /// As it was submitted, but for its priority, which may have changed since.
    #[serde(flatten)]
    pub spec: JobSpec,
    /// Where it stands.
    pub state: JobState,
    /// Tasks whose counts are durable.
    pub tasks_done: u64,
    /// The sum of these counts, before symmetry.
    #[serde(with = "text")]
    #[schema(value_type = String, pattern = "^[0-9]+$")]
    pub counted: u128,
    /// The answer to the problem, once the job is done. For a problem that counts up to symmetry,
    /// it is the number of orbits. `None` for a shard of a plan.
    #[serde(with = "text_or_null")]
    #[schema(value_type = Option<String>, pattern = "^[0-9]+$")]
    pub total: Option<u128>,
    /// Sessions that work on it.
    pub workers: usize,
    /// Sessions that may be leased ranges of the job while it runs: all but those that are
    /// draining, or whose workers do not know its method.
    pub able_workers: usize,
    /// Microseconds that the sessions that work on the job will take for the rest of it, without
    /// audits. JSON has seconds. `None` if there are no such sessions, and before this can be
    /// estimated.
    #[serde(rename = "seconds_left", with = "seconds_or_null")]
    #[schema(value_type = Option<f64>)]
    pub us_left: Option<u64>,
    /// How fast these sessions count the job. For a job that is over, how fast it was counted.
    #[serde(flatten)]
    pub rate: Rate,
    /// How many threads these sessions have: each at most as many as it held tasks at once.
    pub threads: u32,
    /// Ranges whose count is in dispute.
    pub disputes: usize,
    /// A sentence for people about the first disputed range: who counted it, and who is asked to
    /// settle the dispute.
    pub disputed: Option<String>,
    /// What is counted twice, if anything is. Its seed is 0, because clients must not know the true
    /// seed.
    pub audit: Option<AuditPolicy>,
    /// What its total contradicts, for people, if it is suspended.
    pub suspended: Option<String>,
    /// Accepted ranges that wait for their second count.
    pub audits_wanted: u64,
    /// Accepted ranges whose second count, by another machine or owner and another kernel, agreed.
    pub audits_agreed: u64,
    /// How many of the waiting ranges no connected worker may count a second time. Only the ranges
    /// that the farm keeps are considered, which are some hundreds. `None` before the number is
    /// known.
    pub audits_stranded: Option<u64>,
    /// Tasks that are not leased any more, because three worker processes or more were lost with
    /// them.
    pub failed: u64,
    /// The ordinals of the first failed tasks, [`JobView::FAILED_NAMED`] at most.
    pub failed_first: Vec<u64>,
    /// When it was submitted and when it ended.
    #[serde(flatten)]
    pub times: Times,
    /// The thread time that its counts took.
    #[serde(flatten)]
    pub hours: Hours,
    /// What the job waits for while no worker counts it, or while no connected worker may give the
    /// second counts that the job wants. The text is the end of a sentence that begins with "waits
    /// for".
    pub waits_for: Option<String>,
    /// Whether the job waits only for its turn, because the workers count jobs that are served
    /// before it.
    pub awaits_turn: bool,
}

impl JobView {
    /// How many failed tasks are named.
    pub const FAILED_NAMED: usize = 8;

    /// [`JobView::us_left`] in seconds.
    pub fn seconds_left(&self) -> Option<f64> {
        self.us_left.map(|us| us as f64 / 1e6)
    }

    /// Whether it runs and nobody counts it: [`JobView::waits_for`] says why.
    pub fn is_waiting(&self) -> bool {
        self.state == JobState::Running && self.workers == 0 && self.waits_for.is_some()
    }

    /// Whether a person has to look at it: its total or two of its counts contradict each other, or
    /// workers were lost with its tasks.
    pub fn needs_person(&self) -> bool {
        self.state == JobState::Suspended || self.disputes > 0 || self.failed > 0
    }

    /// Its place among the jobs that have not ended. Those that a person has to look at come first,
    /// then those that somebody counts, each in the order of their numbers.
    pub fn rank(&self) -> impl Ord + use<> {
        (!self.needs_person(), self.workers == 0, self.id)
    }

    /// The job's state in a word, which is `waits` if the job runs and nobody counts it.
    pub fn state_name(&self) -> &'static str {
        if self.is_waiting() { "waits" } else { self.state.name() }
    }

    /// Number of tasks of its shard of the plan.
    pub fn tasks(&self) -> u64 {
        self.spec.plan.ordinals(self.spec.shard).len()
    }

    /// The share of its tasks whose counts are durable, 0 to 100.
    pub fn percent(&self) -> f64 {
        let tasks = self.tasks();
        if tasks == 0 { 100.0 } else { 100.0 * self.tasks_done as f64 / tasks as f64 }
    }

    /// How many ranges of the job are still counted again after its end, as the end of a sentence.
    /// `None` if there are none.
    pub fn audited(&self) -> Option<String> {
        let are = if self.audits_wanted == 1 { "range is" } else { "ranges are" };
        let be = if self.workers > 0 { "being" } else { "to be" };
        let is_audited = self.state == JobState::Done && self.audits_wanted > 0;
        is_audited.then(|| format!("done, {} {are} {be} counted again", self.audits_wanted))
    }

    /// What people should know about the job besides its numbers. Each remark is the end of a
    /// sentence that begins with the job.
    pub fn remarks(&self) -> Vec<String> {
        let remarks = [
            self.suspended.as_ref().map(|reason| {
                let id = self.id;
                format!("is suspended: {reason}; `queens audit {id} --all` has it counted again")
            }),
            self.dispute().map(|what| format!("is disputed: {what}")),
            self.failed_tasks(),
            self.audited().map(|what| format!("is {what}")),
            self.waits_for.as_ref().map(|what| format!("waits for {what}")),
        ];
        remarks.into_iter().flatten().collect()
    }

    /// Its first dispute, with the number of disputed ranges if there are more: the end of a
    /// sentence.
    pub fn dispute(&self) -> Option<String> {
        let what = self.disputed.as_ref()?;
        Some(match self.disputes {
            ..=1 => what.clone(),
            disputes => format!("{disputes} ranges; {what}"),
        })
    }

    /// The failed tasks, which are no longer leased, and what to do about them.
    fn failed_tasks(&self) -> Option<String> {
        let named = self.failed_first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let more = if self.failed > self.failed_first.len() as u64 { ", …" } else { "" };
        let s = if self.failed == 1 { "" } else { "s" };
        (self.failed > 0 && !self.state.is_over()).then(|| {
            format!(
                "leases no more of {} task{s} ({named}{more}) of which each was lost three times or more with its \
                 worker; look into their logs and how they ended (status 137 or oom-kill: the system killed them for \
                 lack of memory), give them fewer --threads, another build or --backend, then `queens resume {}`",
                self.failed, self.id
            )
        })
    }
}
