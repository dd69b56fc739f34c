//! What can be wrong with a message.

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field without which the message means nothing.
    #[error("the message lacks its field `{0}`; the other end is of another version")]
    Missing(&'static str),
    /// A value outside of its limits.
    #[error("the message's field `{field}` has the value {value}, which is out of bounds")]
    OutOfBounds {
        /// The field.
        field: &'static str,
        /// What it said.
        value: String,
    },
    /// The worker speaks another version of the protocol.
    #[error(
        "the worker speaks version {theirs} of the protocol, the coordinator version {}; run the \
         same version of this program on both",
        crate::PROTOCOL
    )]
    Protocol {
        /// Its version.
        theirs: u32,
    },
    /// The two ends number the tasks of a plan differently.
    #[error(
        "the other end's fingerprint for the plan {plan} is not ours; coordinator and workers must \
         run versions of this program that enumerate tasks alike"
    )]
    Fingerprint {
        /// The plan.
        plan: String,
    },
}

impl WireError {
    pub(crate) fn out_of_bounds(field: &'static str, value: impl ToString) -> WireError {
        WireError::OutOfBounds { field, value: value.to_string() }
    }
}
