//! What the farm wants done.

use crate::{
    AuditPolicy, Fingerprint, JobId, JobState, KernelName, LeaseId, Plan, Range, Report, RequestId,
    SessionId, Slice, Ticket,
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
    /// End a session.
    Dismiss {
        /// Which.
        session: SessionId,
        /// Why.
        reason: Dismissal,
    },
    /// Make a record durable, then say [`crate::Event::Written`]; of [`Record::Settle`]
    /// [`crate::Event::Settled`], of [`Record::Audit`] [`crate::Event::AuditNoted`].
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
    /// Look for ranges that wait for an audit and are in no dispute, after all earlier writes, then say
    /// [`crate::Event::AuditsFound`].
    FindAudits {
        /// To be repeated in the event.
        ticket: Ticket,
        /// Whose rows.
        job: JobId,
        /// How many at most.
        most: usize,
    },
    /// Answer a client.
    Reply {
        /// The question.
        request: RequestId,
        /// The job, or why not.
        answer: Result<JobId, Refusal>,
    },
    /// A task is not lent any more, because at least three worker processes were lost with it. The rest
    /// of its job goes on.
    Poisoned {
        /// Of which job.
        job: JobId,
        /// Which task.
        ordinal: u64,
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
    /// It was counted before, and must come back as one report. The only loan that may exceed a
    /// worker's credit, and then it is the only one that the worker holds.
    pub recount: Option<Recount>,
}

/// How a range that was counted before is to be counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recount {
    /// By another kernel than this one.
    pub unlike: KernelName,
    /// By searching, where the method does not search.
    pub by_search: bool,
}

/// Why a session is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dismissal {
    /// Its worker has another one.
    Replaced,
    /// Its worker's count was proven wrong: nothing of it is believed any more.
    Distrusted,
}

/// Who answers for a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The worker's name.
    pub worker: String,
    /// The version of its program.
    pub build: String,
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
        /// The part that is wanted of it.
        slice: Slice,
        /// Its priority.
        priority: i32,
        /// What is to be counted twice, if anything is.
        audit: Option<AuditPolicy>,
    },
    /// A job rests, goes on, or ended without a total.
    State {
        /// Which job.
        job: JobId,
        /// Its new state; never [`JobState::Done`].
        state: JobState,
    },
    /// Accepted ranges are to be counted again: those that the policy chooses and that are not yet.
    Audit {
        /// Of which job. If it was done, it no longer is.
        job: JobId,
        /// Which ranges; those to come too.
        policy: AuditPolicy,
    },
    /// A job is complete. The ledger checks that its rows cover its slice of the plan and sum to
    /// `total`, and that none of them is disputed or waits for an audit.
    Done {
        /// Which job.
        job: JobId,
        /// Tasks of its slice of the plan.
        tasks: u64,
        /// The sum.
        total: u128,
    },
    /// An accepted partial count.
    Range {
        /// The report it came with.
        report: Report,
        /// Who counted it.
        author: Author,
        /// Whether it is to be counted again.
        audit: bool,
    },
    /// An accepted range that was counted again, by another worker and another kernel: they agree.
    Confirm {
        /// The report of the second count.
        report: Report,
        /// Who counted it.
        author: Author,
    },
    /// A count that contradicts an accepted one. Both are kept.
    Dispute {
        /// The report it came with.
        report: Report,
        /// Who counted it.
        author: Author,
    },
    /// The end of a dispute: this count replaces all rows of its range, and the dispute is closed. It
    /// needs no audit any more, and is not taken back.
    ///
    /// Of the workers that were wrong, what nobody has confirmed is taken back, in all jobs that were
    /// not cancelled: their rows, with all others of an open dispute in which they counted rows or voted,
    /// which is closed; and what
    /// they confirmed of others' waits for an audit again. A job that was done and lost rows, or of
    /// which rows wait for an audit again, no longer is.
    Settle {
        /// The report that settled it. Its count is the right one.
        report: Report,
        /// Who counted it.
        author: Author,
        /// Who claimed otherwise, by name.
        wrong: Vec<String>,
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
    /// The range is no part of the plan, or longer than any lease, or its sum was altered on its way.
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
