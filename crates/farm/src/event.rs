//! What can happen to the farm.

use crate::{
    Asker, Hello, LeaseId, LedgerAnswer, LedgerCommand, Report, Request, RequestId, SessionId,
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
        /// Who waits for that, as [`crate::Effect::Ledger`] says.
        asker: Asker,
        /// What it was asked for.
        command: LedgerCommand,
        /// What it answers.
        answer: LedgerAnswer,
    },
    /// Time passed; see [`crate::Farm::next_wakeup`].
    Tick,
}
