//! The errors of a malformed message.

use farm::Range;

use crate::{MAX_TEXT, PROTOCOL};

/// The reason why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A required field is missing.
    #[error("the message lacks its field `{0}`; the other end is of another version")]
    Missing(&'static str),
    /// A value is outside of its limits.
    #[error("the message's field `{field}` has the value {value}, which is out of bounds")]
    OutOfBounds {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// A name or a version cannot be printed or stored as it is.
    #[error(
        "the message's field `{field}` is not made of at most {MAX_TEXT} visible ASCII characters, or it is \
         empty and must not be"
    )]
    Text {
        /// The field.
        field: &'static str,
    },
    /// A reason has several lines, or is too long.
    #[error("a reason is one line of at most {most} bytes")]
    Reason {
        /// The longest reason, in bytes.
        most: usize,
    },
    /// The counts of single tasks contradict the report of their range.
    #[error("the report of the range {0} does not fit with the counts of its tasks")]
    TaskCounts(Range),
    /// This program does not have the kernel.
    #[error(
        "the message names the kernel {name}, which this program does not have; run versions of this \
         program with the same kernels at both ends"
    )]
    Kernel {
        /// The name of the kernel, as far as it is printable.
        name: String,
    },
    /// The worker speaks another version of the protocol.
    #[error(
        "the worker speaks version {0} of the protocol, the coordinator version {PROTOCOL}; run the same version of \
         this program on both"
    )]
    Protocol(u32),
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

impl From<WireError> for tonic::Status {
    fn from(error: WireError) -> tonic::Status {
        let text = error.to_string();
        match error {
            WireError::Protocol(_) | WireError::Fingerprint { .. } | WireError::Kernel { .. } => {
                tonic::Status::failed_precondition(text)
            }
            _ => tonic::Status::invalid_argument(text),
        }
    }
}
