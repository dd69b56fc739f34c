//! What can happen to the farm.

use crate::{
    Asker, Hello, LedgerAnswer, LedgerCommand, Request, RequestId, SessionId, WorkerMessage,
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
    /// A worker said something after that.
    Said(SessionId, WorkerMessage),
    /// A connection ended, for whatever reason. Unless its worker was leaving, what it held may
    /// have killed it.
    Left(SessionId),
    /// A client of this owner asks for something.
    Asked(RequestId, String, Request),
    /// The ledger has done what it was asked for.
    Ledger {
        /// Who waits for that, as [`crate::Effect::Ledger`] says.
        asker: Asker,
        /// What it was asked for.
        command: LedgerCommand,
        /// What it answers.
        answer: LedgerAnswer,
        /// When that was: Unix milliseconds, for people.
        at_ms: i64,
    },
    /// Time passed; see [`crate::Farm::next_wakeup`].
    Tick,
}
