//! What the two ends of a session say to each other: one type for each direction.

use board::Tasks;

use crate::{Fingerprint, Hello, JobId, LeaseId, Loan, Pace, Range, Report, Verdict};

/// What a worker says to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerMessage {
    /// The first message of a session: who the worker is.
    Hello(Hello),
    /// The most tasks that it agrees to hold from now on.
    Credit(u64),
    /// A partial count.
    Report(Report),
    /// The worker is getting on with this loan, which it will report as a whole.
    Working(LeaseId),
    /// The worker cannot count this loan and gives it back.
    Decline(LeaseId),
    /// The worker wants no more work.
    Leaving,
}

/// What the coordinator tells a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerOrder {
    /// The session has begun.
    Welcome {
        /// Nothing new is lent for so long, because the coordinator was restarted.
        lends_in_ms: u64,
    },
    /// A range to count; its tasks follow.
    Loan(Loan),
    /// Tasks of a loan.
    Tasks(TasksBlock),
    /// A report is settled and can be forgotten.
    Ack(Ack),
    /// What is left of a lease is not wanted.
    Revoke(LeaseId),
    /// How often to report from now on.
    Pace(Pace),
}

/// What became of a report. Job, plan and range name the report: jobs of one plan have the same ranges, and
/// job numbers alone do not tell one ledger from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The report's job.
    pub job: JobId,
    /// The report's plan.
    pub fingerprint: Fingerprint,
    /// The report's range.
    pub range: Range,
    /// What became of it.
    pub verdict: Verdict,
}

impl Ack {
    /// The answer to a report.
    #[must_use]
    pub fn of(report: &Report, verdict: Verdict) -> Ack {
        let Report { job, fingerprint, range, .. } = *report;
        Ack { job, fingerprint, range, verdict }
    }
}

/// Consecutive tasks of one loan.
#[derive(Clone, Debug, PartialEq)]
pub struct TasksBlock {
    /// The loan.
    pub lease: LeaseId,
    /// Ordinal of the first task.
    pub start: u64,
    /// The tasks themselves; at least one.
    pub tasks: Tasks,
}
