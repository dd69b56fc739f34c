//! Why a session ends before its worker leaves, and the status that the worker gets.

use std::time::Duration;

use farm::{Dismissal, Range};
use tonic::Status;
use wire::WireError;

use crate::ServiceError;

/// How long a new session may take to send its Hello.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the coordinator ends a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// The worker sent a malformed message.
    #[error(transparent)]
    Message(#[from] WireError),
    /// The first message was not a Hello, or a second Hello came.
    #[error("a session must begin with a Hello and have no other")]
    NoHello,
    /// The worker reported a range that its plan does not have or a count that its tasks cannot have, or a
    /// report was altered on its way.
    #[error(
        "there is no range {0} in the plan of its job, or its sum disagrees with its residue, or its tasks cannot \
         count so much"
    )]
    Range(Range),
    /// The worker sent no Hello in time.
    #[error("no Hello came within {} seconds; connect again", HELLO_TIMEOUT.as_secs())]
    Silent,
    /// The coordinator is stopping, or the same worker has another session.
    #[error("the coordinator ended the session; connect again")]
    Ended,
    /// A count of the worker's machine or owner was proven wrong.
    #[error(
        "a count of this machine, or of its owner, was proven wrong: check the memory and cooling of the \
         machine, then ask the farm's operator to trust it again (`queens trust`)"
    )]
    Distrusted,
    /// The worker reported or held what was not leased to its owner.
    #[error(
        "this farm has not leased to this owner what the worker reported or holds; whatever it holds is void"
    )]
    Unproven,
    /// The worker's credential has expired or was revoked.
    #[error("the credential has expired or was revoked; ask the farm's operator for another one")]
    Expired,
    /// The coordinator failed.
    #[error(transparent)]
    Failure(#[from] ServiceError),
}

impl SessionFault {
    /// The reason for the dismissal of a worker by its session, for [`Meters`](super::metrics::Meters). What the farm itself
    /// has decided is counted by the event loop.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self {
            SessionFault::Message(_) | SessionFault::NoHello | SessionFault::Range(_) => {
                Some("invalid")
            }
            SessionFault::Silent => Some("silent"),
            SessionFault::Expired => Some("expired"),
            SessionFault::Ended
            | SessionFault::Distrusted
            | SessionFault::Unproven
            | SessionFault::Failure(_) => None,
        }
    }
}

impl From<Dismissal> for SessionFault {
    fn from(reason: Dismissal) -> SessionFault {
        match reason {
            Dismissal::Replaced => SessionFault::Ended,
            Dismissal::Distrusted => SessionFault::Distrusted,
            Dismissal::Unproven => SessionFault::Unproven,
        }
    }
}

impl From<SessionFault> for Status {
    fn from(fault: SessionFault) -> Status {
        let text = fault.to_string();
        match fault {
            SessionFault::Message(error) => error.into(),
            SessionFault::NoHello | SessionFault::Range(_) => Status::invalid_argument(text),
            SessionFault::Silent => Status::deadline_exceeded(text),
            SessionFault::Ended => Status::unavailable(text),
            SessionFault::Distrusted => Status::data_loss(text),
            SessionFault::Unproven => Status::aborted(text),
            SessionFault::Expired => Status::unauthenticated(text),
            SessionFault::Failure(_) => Status::internal(text),
        }
    }
}
