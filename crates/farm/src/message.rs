//! What the two ends of a session say to each other: one type for each direction.

use board::{MethodChoice, Task};

use crate::{Fingerprint, JobId, Lease, LeaseId, LeaseToken, Pace, Range, Report};

/// What a worker says to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerMessage {
    /// The first message of a session: who the worker is.
    Hello(Hello),
    /// The most tasks that it agrees to hold from now on.
    Credit(u64),
    /// A partial count.
    Report(Report),
    /// The worker is getting on with this lease, which it will report as a whole.
    Working(LeaseId),
    /// The worker wants no more work.
    Draining,
}

/// A worker's first words in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The worker's name, for people.
    pub worker: String,
    /// The name of its machine. It distinguishes machines that miscount from others.
    pub machine: String,
    /// The version of its program, for the evidence.
    pub build: String,
    /// The counting loop in use, for people; it may be empty.
    pub backend: String,
    /// A number of this worker process alone: a second session of the same one replaces the first.
    pub instance: u64,
    /// Counting threads.
    pub threads: u32,
    /// The most tasks that the worker agrees to hold at a time.
    pub credit: u64,
    /// What it still works on from an earlier session.
    pub holding: Vec<Holding>,
    /// The methods by which it can count, each without its parameter. It is leased only tasks of
    /// these. Empty if it knows all.
    pub methods: Vec<MethodChoice>,
}

impl Hello {
    /// The most that [`Hello::holding`] may name: it only saves work, and must fit a message.
    pub const MAX_HOLDINGS: usize = 8_192;
}

/// A part of a lease that a worker works on or has counted, and all that distinguishes the lease
/// from others. The number of the lease alone is not enough: if the coordinator were replaced by
/// one with another ledger, the counts of two plans would be added up. The number, the job and the
/// plan together are not enough either: if the ledger were an old copy, the ranges of two leases
/// would be reported as one range that was never leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// The lease under which it was leased.
    pub lease: LeaseId,
    /// The job it belongs to.
    pub job: JobId,
    /// The job's plan: numbers alone do not distinguish two ledgers.
    pub fingerprint: Fingerprint,
    /// The ordinals.
    pub range: Range,
    /// The token that proves that they were leased.
    pub token: LeaseToken,
}

impl Holding {
    /// All of a lease.
    pub fn of_lease(&Lease { id: lease, job, fingerprint, range, token, .. }: &Lease) -> Holding {
        Holding { lease, job, fingerprint, range, token }
    }

    /// The reported part of a lease.
    pub fn of_report(&Report { lease, job, fingerprint, range, token, .. }: &Report) -> Holding {
        Holding { lease, job, fingerprint, range, token }
    }
}

/// A message of the coordinator to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorMessage {
    /// The session has begun.
    Welcome {
        /// For how long nothing new is leased, because workers that still hold ranges may come back
        /// first; 0 if it leases now.
        leases_in_ms: u64,
    },
    /// A range to count; its tasks follow.
    Lease(Lease),
    /// Tasks of a lease.
    Tasks(TasksBlock),
    /// A report is settled and can be forgotten.
    Ack(Ack),
    /// What is left of a lease is not wanted.
    Revoke(LeaseId),
    /// How often to report from now on.
    Pace(Pace),
}

/// What became of a report. Job, plan and range name the report: jobs of one plan have the same
/// ranges, and job numbers alone do not distinguish two ledgers.
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
    pub fn of(report: &Report, verdict: Verdict) -> Ack {
        let Report { job, fingerprint, range, .. } = *report;
        Ack { job, fingerprint, range, verdict }
    }
}

crate::named! {
    /// What became of a report.
    pub enum Verdict {
        /// Durable, and in the total.
        Accepted = "accepted",
        /// The range was accepted before, with the same count: a free check.
        Agreed = "agreed",
        /// The report is of no use: its range was accepted only in part, does not align with the
        /// rows, or is accepted with another count that this report may not dispute. The worker
        /// forgets the report. Ordinals of it that are not accepted yet are counted again.
        Superseded = "superseded",
        /// Durable as evidence: it contradicts the accepted count, or settles such a case.
        Disputed = "disputed",
        /// The job has ended or does not exist.
        Obsolete = "obsolete",
        /// The job of that number has another plan here.
        Foreign = "foreign",
        /// The range lies outside the job's shard of the plan or is only a part of a recount, or
        /// the sum was altered on its way or exceeds what the tasks can count.
        Invalid = "invalid",
    }
}

/// Consecutive tasks of one lease.
#[derive(Clone, Debug, PartialEq)]
pub struct TasksBlock {
    /// The lease.
    pub lease: LeaseId,
    /// Ordinal of the first task.
    pub start: u64,
    /// The tasks themselves; at least one.
    pub tasks: Vec<Task>,
}
