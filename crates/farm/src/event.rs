//! What can happen to the farm.

use crate::{
    Claim, Fingerprint, JobId, LeaseId, LedgerAnswer, LoanProof, Maker, Range, Report, Request,
    RequestId, SessionId, Ticket,
};

/// Something that happened, in the order in which the coordinator saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker connected and said who it is.
    Joined {
        /// The new connection.
        session: SessionId,
        /// The owner of the credential that it showed.
        owner: String,
        /// Whether the operator trusts the credential: a recount by it settles a dispute alone.
        is_trusted: bool,
        /// What the worker said.
        hello: Hello,
    },
    /// A worker changed the number of tasks that it agrees to hold.
    CreditChanged {
        /// Whose.
        session: SessionId,
        /// The new limit, absolute: a lost or repeated message does no harm.
        credit: u64,
    },
    /// A worker counted a range.
    Reported {
        /// The session that waits for the acknowledgement.
        session: SessionId,
        /// What was counted.
        report: Report,
    },
    /// A worker is getting on with a loan that must come back as a whole.
    Working {
        /// Who.
        session: SessionId,
        /// The loan.
        lease: LeaseId,
    },
    /// A worker cannot count what it was lent, and will not be lent more of that job.
    Declined {
        /// Who.
        session: SessionId,
        /// The loan.
        lease: LeaseId,
    },
    /// A worker wants no more work; its reports are still welcome.
    Leaving {
        /// Who.
        session: SessionId,
    },
    /// A connection ended, for whatever reason. Unless its worker was leaving, what it held may have
    /// killed it.
    Left {
        /// Which.
        session: SessionId,
    },
    /// A client asks for something.
    Asked {
        /// Where the answer goes.
        request: RequestId,
        /// The owner who asks for it.
        by: String,
        /// What for.
        ask: Request,
    },
    /// The ledger has done what it was asked for.
    Ledger {
        /// The ticket of [`crate::Effect::Ledger`].
        ticket: Ticket,
        /// What it answers.
        answer: LedgerAnswer,
    },
    /// Time passed; see [`crate::Farm::next_wakeup`].
    Tick,
}

/// A worker's first words in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The worker's name, for people.
    pub worker: String,
    /// The name of its machine, by which machines that miscount are told from others.
    pub machine: String,
    /// The version of its program, for the evidence.
    pub build: String,
    /// The counting loop in use, for people; it may be empty.
    pub backend: String,
    /// A number of this worker process alone: a second session of the same one replaces the first.
    pub instance: u64,
    /// Counting threads.
    pub threads: u32,
    /// Bytes that all of them together may take.
    pub memory: u64,
    /// Processes of its control group that the system has killed for lack of memory, as far as the worker could
    /// see when it started.
    pub memory_kills: u64,
    /// The most tasks that the worker agrees to hold at a time.
    pub credit: u64,
    /// What it still works on from an earlier session.
    pub holding: Vec<Holding>,
}

impl Hello {
    /// The most that [`Hello::holding`] may name: it only saves work, and must fit a message.
    pub const MAX_HOLDINGS: usize = 8_192;
}

/// A part of a lease that a reconnecting worker still works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The lease under which it was lent.
    pub lease: LeaseId,
    /// The job it belongs to.
    pub job: JobId,
    /// The job's plan: ids alone do not tell one ledger from another.
    pub fingerprint: Fingerprint,
    /// The ordinals not yet reported.
    pub range: Range,
    /// That they were lent.
    pub proof: LoanProof,
}

/// A claim of the count of a disputed range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Who makes it: a second opinion must be another's.
    pub maker: Maker,
    /// What it says.
    pub claim: Claim,
}
