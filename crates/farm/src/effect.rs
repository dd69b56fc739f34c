//! What the farm wants done.

use crate::{
    Fingerprint, JobId, JobState, LeaseId, Plan, Range, Report, RequestId, SessionId, Ticket,
};

/// Something to do, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a worker the tasks of a range.
    Lend {
        /// To whom.
        session: SessionId,
        /// What.
        loan: Loan,
    },
    /// Tell a worker to drop what is left of a lease.
    Revoke {
        /// Whom.
        session: SessionId,
        /// Which.
        lease: LeaseId,
    },
    /// Tell a worker that a report is settled and can be forgotten.
    Ack {
        /// Whom.
        session: SessionId,
        /// The job of the report: jobs of the same plan have the same ranges.
        job: JobId,
        /// The plan of the report: ids alone do not tell one ledger from another.
        fingerprint: Fingerprint,
        /// The range of the report.
        range: Range,
        /// What became of it.
        verdict: Verdict,
    },
    /// End a session: its worker has another one.
    Dismiss {
        /// Which.
        session: SessionId,
    },
    /// Make a record durable, then say [`crate::Event::Written`].
    Write {
        /// To be repeated in the event.
        ticket: Ticket,
        /// What.
        record: Record,
    },
    /// Look up a range, after all earlier writes, then say [`crate::Event::Compared`].
    Compare {
        /// To be repeated in the event.
        ticket: Ticket,
        /// Whose rows.
        job: JobId,
        /// Which rows.
        range: Range,
    },
    /// Answer a client.
    Reply {
        /// The question.
        request: RequestId,
        /// The job, or why not.
        answer: Result<JobId, Refusal>,
    },
    /// A job reached its end: done or cancelled. Whoever waits for it may look.
    Finished {
        /// Which.
        job: JobId,
    },
}

/// A range lent to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// The lending's number.
    pub lease: LeaseId,
    /// The job it belongs to.
    pub job: JobId,
    /// Its plan.
    pub plan: Plan,
    /// The plan's fingerprint.
    pub fingerprint: Fingerprint,
    /// What to count.
    pub range: Range,
    /// Whether it must come back as one report: a recount that settles a dispute. The only loan
    /// that may exceed a worker's credit, and then it is the only one that the worker holds.
    pub whole: bool,
}

/// What the ledger must hold before anything else may rest on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A new job.
    Job {
        /// Its number.
        job: JobId,
        /// What it counts.
        plan: Plan,
        /// Its priority.
        priority: i32,
    },
    /// A job rests, goes on, or ended without a total.
    State {
        /// Which job.
        job: JobId,
        /// Its new state; never [`JobState::Done`].
        state: JobState,
    },
    /// A job is complete. The ledger checks that its rows cover the plan and sum to `total`.
    Done {
        /// Which job.
        job: JobId,
        /// Tasks of its plan.
        tasks: u64,
        /// The sum.
        total: u128,
    },
    /// An accepted partial count.
    Range {
        /// The report it came with.
        report: Report,
        /// The worker's name.
        worker: String,
    },
    /// A count that contradicts an accepted one. Both are kept.
    Dispute {
        /// The report it came with.
        report: Report,
        /// The worker's name.
        worker: String,
    },
    /// The end of a dispute: this count replaces all rows of its range, and the dispute is closed.
    Settle {
        /// The report that settled it. Its count is the right one.
        report: Report,
        /// The worker's name.
        worker: String,
    },
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Durable, and in the total.
    Accepted,
    /// The range was accepted before, with the same count: a free check.
    Agreed,
    /// Some, but not all of the range was accepted before: of no use.
    Superseded,
    /// Durable as evidence: it contradicts the accepted count, or settles such a case.
    Disputed,
    /// The job has ended or does not exist.
    Obsolete,
    /// The job of that number has another plan here.
    Foreign,
    /// The range is no part of the plan, or longer than any lease.
    Invalid,
}

/// Why a client's wish was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such job.
    #[error("there is no job {0}; `queens jobs` lists them")]
    NoSuchJob(JobId),
    /// The job is over.
    #[error("job {0} is {1}, and that is final; submit it again if you want it counted again")]
    Over(JobId, JobState),
}
