//! What the farm asks of its ledger, and what the ledger answers.

use crate::{
    AuditPolicy, Change, CountResult, Ground, IntervalSet, JobId, JobSpec, Party, Provenance,
    Report, RequestId, Row, SessionId,
};

/// Something for the ledger to do. What it changes is durable before it is answered, and commands
/// take effect in the order in which they were given. The rules of crate `ledger` say what each of
/// them does to the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerCommand {
    /// A new job.
    CreateJob {
        /// Its number.
        job: JobId,
        /// What was submitted. No other job has the same owner and the same key.
        spec: JobSpec,
        /// What is to be counted twice, if anything is.
        audit: Option<AuditPolicy>,
    },
    /// The first range of a job is leased.
    NoteBegun(JobId),
    /// All tasks of a job are accepted.
    NoteCounted(JobId),
    /// A job had no lease for this time, in milliseconds, in which other jobs had some.
    NoteWaited(JobId, u64),
    /// A client changes a job. If the change is an audit, accepted ranges are to be counted again:
    /// those that the policy chooses, and those whose second count is no second opinion under the
    /// policy. The policy replaces the earlier one. A suspended job runs again, and a job that is
    /// done stays done. If the policy chooses nothing, no range waits for an audit any more.
    Change {
        /// The job.
        job: JobId,
        /// What changes.
        change: Change,
        /// The owner who asked for it.
        by: String,
    },
    /// A late count contradicts an accepted range: the range is to be counted again, unless it was
    /// already.
    Doubt(Report, Provenance),
    /// A job is complete: it is done, or suspended. The ledger checks that its rows cover its shard
    /// of the plan and sum to `total`, and that none of them is disputed or waits for an audit.
    Finish {
        /// The job.
        job: JobId,
        /// Tasks of its shard of the plan.
        tasks: u64,
        /// The sum.
        total: u128,
        /// What the sum contradicts, for people: then the job is suspended.
        reason: Option<String>,
    },
    /// An accepted partial count.
    Accept {
        /// The report it came with.
        report: Report,
        /// Who counted it.
        provenance: Provenance,
        /// Whether it is to be counted again.
        audit: bool,
    },
    /// An accepted range was counted again, by another party and another kernel, and they agree.
    Confirm(Report, Provenance),
    /// A count that contradicts an accepted one. Both are kept.
    Dispute(Report, Provenance),
    /// The end of a dispute: this count replaces all rows of its range. Those who were wrong are
    /// distrusted; the rules say what becomes of their other counts.
    Settle {
        /// The report that settled it. Its count is the right one.
        report: Report,
        /// Who counted it.
        provenance: Provenance,
        /// Those who counted otherwise.
        wrong: Vec<Party>,
        /// Whose counts settled it.
        ground: Ground,
    },
    /// Somebody decided whether a party is trusted. The counts of a party that is no longer trusted
    /// are treated as after a [`LedgerCommand::Settle`]. If a party is trusted again, counts that
    /// were taken back are not restored.
    Trust {
        /// Who.
        party: Party,
        /// Whether it is trusted from now on.
        trusted: bool,
        /// Why, for people.
        reason: String,
    },
    /// A job that is over and has proven nobody wrong is removed with its rows.
    Remove(JobId),
    /// A look-up: what do the rows of a reported range say together?
    Compare(Report, Provenance),
    /// A look-up: which ranges wait for an audit and are in no dispute?
    FindAudits {
        /// The job.
        job: JobId,
        /// The most ranges to name.
        most: usize,
    },
}

impl LedgerCommand {
    /// Whether the command changes nothing.
    pub fn is_look_up(&self) -> bool {
        matches!(self, LedgerCommand::Compare(..) | LedgerCommand::FindAudits { .. })
    }

    /// The job that the command is about. `None` if it may be about all jobs.
    pub fn job(&self) -> Option<JobId> {
        match self {
            LedgerCommand::CreateJob { job, .. }
            | LedgerCommand::Change { job, .. }
            | LedgerCommand::Finish { job, .. }
            | LedgerCommand::NoteBegun(job)
            | LedgerCommand::NoteCounted(job)
            | LedgerCommand::NoteWaited(job, _)
            | LedgerCommand::Remove(job)
            | LedgerCommand::FindAudits { job, .. } => Some(*job),
            LedgerCommand::Accept { report, .. }
            | LedgerCommand::Confirm(report, _)
            | LedgerCommand::Dispute(report, _)
            | LedgerCommand::Settle { report, .. }
            | LedgerCommand::Doubt(report, _)
            | LedgerCommand::Compare(report, _) => Some(report.job),
            LedgerCommand::Trust { .. } => None,
        }
    }
}

/// Who waits for what the ledger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The farm itself.
    Farm,
    /// A client with this question.
    Client(RequestId),
    /// The worker of this session, whose report it is about.
    Session(SessionId),
}

/// What the ledger answers to a [`LedgerCommand`].
#[derive(Clone, Debug, PartialEq)]
pub enum LedgerAnswer {
    /// It is durable.
    Written,
    /// An audit by [`LedgerCommand::Change`], or a [`LedgerCommand::Doubt`], is durable.
    AuditNoted {
        /// How many ranges of the job wait for an audit now.
        wanted: u64,
        /// How many ranges of the job two parties have counted alike.
        agreed: u64,
    },
    /// A [`LedgerCommand::Settle`] or [`LedgerCommand::Trust`] is durable. These are the rows that
    /// it took back, by job. The job of the settling report is always among them.
    Settled(Vec<Withdrawn>),
    /// The joint result of the rows that exactly cover the range of a [`LedgerCommand::Compare`].
    /// `None` if the rows begin or end elsewhere, leave a gap, or are more than are read for a
    /// comparison.
    Compared(Option<CountResult>),
    /// What a [`LedgerCommand::FindAudits`] found: the first ranges that wait, as many as were
    /// asked for or all.
    AuditsFound(Vec<Row>),
}

/// Rows of a job that no longer count, because only a distrusted party had counted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    /// The job.
    pub job: JobId,
    /// What they covered.
    pub ranges: IntervalSet,
    /// Their sum.
    pub total: u128,
    /// How many ranges of the job wait for an audit now.
    pub audits_wanted: u64,
    /// How many ranges of the job two parties have counted alike.
    pub audits_agreed: u64,
}
