//! What the rules need of a place that keeps rows.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::rows::{Check, Contradiction, CountedRange, DisputeState, OpenDispute, Row};
use crate::{
    AuditPolicy, Distrusted, JobChange, JobId, JobSpec, JobState, Maker, Party, Range, TaskCounts,
};

/// Keeps jobs, rows and evidence, and decides nothing about them. What a command does to them is atomic
/// and durable by the store's own means; the rules only say what is to be read and changed.
///
/// Rows of a job never overlap, and are visited in ascending order. A visitor must not change the store.
pub trait Store {
    /// Why something cannot be read or written.
    type Fault: From<Contradiction>;

    /// All jobs, the oldest first.
    fn jobs(&mut self) -> Result<Vec<StoredJob>, Self::Fault>;
    /// One job.
    fn job(&mut self, id: JobId) -> Result<Option<StoredJob>, Self::Fault>;
    /// The greatest number that a job has or had; 0 if there was none.
    fn last_job(&mut self) -> Result<u64, Self::Fault>;
    /// Adds a job that runs. No other one has its number, or its owner and its key.
    fn add_job(&mut self, job: JobId, spec: &JobSpec) -> Result<(), Self::Fault>;
    /// Changes where a job stands. Only a job that is done has a total. It is held for no reason any more,
    /// and once it is over, the seed of its audit is told.
    fn set_state(
        &mut self,
        job: JobId,
        state: JobState,
        total: Option<u128>,
    ) -> Result<(), Self::Fault>;
    /// Changes the priority of a job.
    fn set_priority(&mut self, job: JobId, priority: i32) -> Result<(), Self::Fault>;
    /// Notes a change of a job for people, and the owner who asked for it; empty if nobody did.
    fn note(&mut self, job: JobId, change: JobChange, by: &str) -> Result<(), Self::Fault>;
    /// Holds a job, for a reason. It has no total.
    fn hold(&mut self, job: JobId, reason: &str) -> Result<(), Self::Fault>;
    /// Removes evidence of a job, rows with their second counts, and policies, at most so many together, and once none are left,
    /// the job itself. Returns whether all of it is gone. What is left hangs together each time.
    fn remove_some(&mut self, job: JobId, most: usize) -> Result<bool, Self::Fault>;
    /// Adds an audit policy to a job, and the owner who asked for it. Its seed is not told yet.
    fn add_policy(&mut self, job: JobId, policy: AuditPolicy, by: &str) -> Result<(), Self::Fault>;
    /// The newest policy of a job.
    fn policy(&mut self, job: JobId) -> Result<Option<AuditPolicy>, Self::Fault>;

    /// Shows accepted ranges until the visitor breaks off.
    fn visit(
        &mut self,
        job: JobId,
        which: Select,
        see: &mut dyn FnMut(CountedRange) -> ControlFlow<()>,
    ) -> Result<(), Self::Fault>;
    /// Shows the accepted ranges that were counted twice, or by a party, first or second, if one is named; with
    /// the maker of the second count.
    fn visit_with_seconds(
        &mut self,
        job: JobId,
        party: Option<&Party>,
        see: &mut dyn FnMut(CountedRange, Option<Maker>),
    ) -> Result<(), Self::Fault>;
    /// The last accepted range that begins before an ordinal.
    fn last_before(&mut self, job: JobId, ordinal: u64) -> Result<Option<Range>, Self::Fault>;
    /// How many accepted ranges have this check.
    fn count(&mut self, job: JobId, check: Check) -> Result<u64, Self::Fault>;
    /// Adds an accepted range, with what each of its tasks counts if that is told.
    fn insert(
        &mut self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), Self::Fault>;
    /// What each task of an accepted range counts, if that is told; nothing of what is no row.
    fn task_counts(&mut self, job: JobId, range: Range) -> Result<TaskCounts, Self::Fault>;
    /// Forgets what each task of an accepted range counts.
    fn forget_task_counts(&mut self, job: JobId, range: Range) -> Result<(), Self::Fault>;
    /// Replaces the accepted ranges within a range, which nobody has counted twice, by one.
    fn join_rows(
        &mut self,
        job: JobId,
        joined: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), Self::Fault>;
    /// Changes the check of an accepted range.
    fn set_check(&mut self, job: JobId, range: Range, check: Check) -> Result<(), Self::Fault>;
    /// Makes an accepted range, and its second count if there is one, evidence. What each of its tasks counts is forgotten.
    fn retire(&mut self, job: JobId, range: Range, why: DisputeState) -> Result<(), Self::Fault>;

    /// Adds the second count of an accepted range.
    fn add_second(&mut self, job: JobId, row: &Row) -> Result<(), Self::Fault>;
    /// Makes the second count of an accepted range evidence.
    fn retire_second(
        &mut self,
        job: JobId,
        range: Range,
        why: DisputeState,
    ) -> Result<(), Self::Fault>;
    /// Makes a count that is evidence also the second count of the accepted range.
    fn keep_as_second(&mut self, job: JobId, row: &Row) -> Result<(), Self::Fault>;

    /// The open disputes of a job, in ascending order of their ranges.
    fn open_disputes(&mut self, job: JobId) -> Result<Vec<OpenDispute>, Self::Fault>;
    /// Adds a claim that contradicts accepted rows.
    fn add_claim(&mut self, job: JobId, row: &Row) -> Result<(), Self::Fault>;
    /// Settles all open claims about exactly this range.
    fn close_dispute(&mut self, job: JobId, range: Range) -> Result<(), Self::Fault>;

    /// Notes that a party is believed no more: by which range of which job, if by one, and why.
    fn distrust(
        &mut self,
        party: &Party,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<(), Self::Fault>;
    /// Notes that somebody decided that a party is believed again, and why.
    fn trust(&mut self, party: &Party, reason: &str) -> Result<(), Self::Fault>;
    /// All parties that are not believed: the latest change about each says so.
    fn distrusted(&mut self) -> Result<Distrusted, Self::Fault>;
    /// The jobs that proved somebody wrong.
    fn proofs(&mut self) -> Result<BTreeSet<JobId>, Self::Fault>;
}

/// Which accepted ranges of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// All of them.
    All,
    /// Those that begin within a range.
    BeginningIn(Range),
    /// Those with this check.
    With(Check),
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
    /// Why it is held, if it is.
    pub reason: Option<String>,
    /// Its total, once it is done.
    pub total: Option<u128>,
    /// Whether it was over since its newest audit was ordered, so that everybody may know the seed.
    pub seed_told: bool,
}
