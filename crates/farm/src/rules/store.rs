//! What the rules need of a place that keeps rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::rows::{Check, Contradiction, CountedRange, DisputeState, OpenDispute, Row};
use crate::{
    AuditPolicy, Hours, JobChange, JobId, JobSpec, JobState, Party, Principal, Range, TaskCounts,
    Times, TrustChange,
};

/// Keeps jobs, rows and evidence, and decides nothing about them. What a command does to them is atomic
/// and durable by the store's own means; the rules only say what is to be read and changed.
///
/// Rows of a job never overlap, and are visited in ascending order. A visitor must not change the store.
pub trait Store {
    /// Why something cannot be read or written.
    type Fault: From<Contradiction>;

    /// The job of this number, if it is there; without a number all jobs, the oldest first.
    fn jobs(&mut self, only: Option<JobId>) -> Result<Vec<StoredJob>, Self::Fault>;
    /// Adds a job that runs. No other one has its number, or its owner and its key.
    fn add_job(&mut self, job: JobId, spec: &JobSpec) -> Result<(), Self::Fault>;
    /// Writes where a job stands now, and its priority. Notes for people what has changed of these, if anything has, and the
    /// owner who asked for it; empty if nobody did.
    fn change_job(
        &mut self,
        job: &StoredJob,
        change: Option<JobChange>,
        by: &str,
    ) -> Result<(), Self::Fault>;
    /// Removes a job with all that is known about it but its hours. Its number is not given again.
    fn remove_job(&mut self, job: JobId) -> Result<(), Self::Fault>;
    /// Adds an audit policy to a job, and the owner who asked for it.
    fn add_policy(&mut self, job: JobId, policy: AuditPolicy, by: &str) -> Result<(), Self::Fault>;

    /// Shows accepted ranges until the visitor breaks off, each with the principal of its second count if it has one.
    fn visit(
        &mut self,
        job: JobId,
        which: Select<'_>,
        see: &mut dyn FnMut(CountedRange, Option<Principal>) -> ControlFlow<()>,
    ) -> Result<(), Self::Fault>;
    /// How many accepted ranges have this check.
    fn count(&mut self, job: JobId, check: Check) -> Result<u64, Self::Fault>;
    /// Adds an accepted range, with the counts of its single tasks if they are reported. It takes the place of accepted
    /// ranges within it, none of which was counted twice.
    fn insert(
        &mut self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
        instead_of: &[Range],
    ) -> Result<(), Self::Fault>;
    /// The counts of single tasks of an accepted range, if they were reported; none if the range is no row.
    fn task_counts(&mut self, job: JobId, range: Range) -> Result<TaskCounts, Self::Fault>;
    /// Forgets what each task of an accepted range counts.
    fn forget_task_counts(&mut self, job: JobId, range: Range) -> Result<(), Self::Fault>;
    /// An accepted range waits for a second count from now on, or no longer. One that it has becomes evidence that was taken
    /// back.
    fn set_wanted(&mut self, job: JobId, range: Range, wanted: bool) -> Result<(), Self::Fault>;
    /// Adds the second count of an accepted range, which agrees.
    fn confirm(&mut self, job: JobId, second: &Row) -> Result<(), Self::Fault>;
    /// Makes an accepted range, and its second count if there is one, evidence. What each of its tasks counts is forgotten.
    fn retire(&mut self, job: JobId, range: Range, why: DisputeState) -> Result<(), Self::Fault>;

    /// The open disputes of a job, in ascending order of their ranges.
    fn open_disputes(&mut self, job: JobId) -> Result<Vec<OpenDispute>, Self::Fault>;
    /// Adds a claim that contradicts accepted rows.
    fn add_claim(&mut self, job: JobId, row: &Row) -> Result<(), Self::Fault>;
    /// Settles all open claims about exactly this range.
    fn close_dispute(&mut self, job: JobId, range: Range) -> Result<(), Self::Fault>;

    /// Notes that a party is distrusted, or trusted again, and why: by which range of which job, if by one.
    fn change_trust(
        &mut self,
        party: &Party,
        trusted: bool,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<(), Self::Fault>;
    /// For each job that has or had counts, its owner and the thread time of all counts that are or
    /// were kept of it.
    fn hours(&mut self) -> Result<BTreeMap<JobId, (String, Hours)>, Self::Fault>;
    /// All changes of trust, the oldest first.
    fn trust_changes(&mut self) -> Result<Vec<TrustChange>, Self::Fault>;
}

/// Which accepted ranges of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select<'a> {
    /// All of them.
    All,
    /// Those that have ordinals of a range.
    Overlapping(Range),
    /// Those that wait for a second count.
    Waiting,
    /// Those that a party has counted, first or second.
    By(&'a Party),
}

/// A job as it is stored, without its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredJob {
    /// Its number.
    pub id: JobId,
    /// What was submitted, with its latest priority.
    pub spec: JobSpec,
    /// Where it stands.
    pub state: JobState,
    /// Why it is suspended, if it is.
    pub reason: Option<String>,
    /// When it was submitted and when it ended, as far as the store knows.
    pub times: Times,
    /// Its total, once it is done.
    pub total: Option<u128>,
    /// Its newest audit policy, if it has any.
    pub policy: Option<AuditPolicy>,
}
