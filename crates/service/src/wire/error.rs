//! The errors of a malformed message.

use farm::MAX_TEXT;

/// The reason why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The message lacks the field of this name, which is required.
    #[error("the message lacks its field `{0}`; the other end is of another version")]
    Missing(&'static str),
    /// A value is not what it must be.
    #[error("{0}")]
    Malformed(String),
    /// The two ends are of versions that cannot work together.
    #[error("{0}")]
    Incompatible(String),
}

impl WireError {
    pub(super) fn out_of_bounds(field: &str, value: impl ToString) -> WireError {
        let value = value.to_string();
        WireError::Malformed(format!(
            "the message's field `{field}` has the value {value}, which is out of bounds"
        ))
    }

    /// The error of a `field` whose text [`farm::is_text`] does not allow, or that is
    /// empty and must not be.
    pub(super) fn text(field: &str) -> WireError {
        WireError::Malformed(format!(
            "the message's field `{field}` is not made of at most {MAX_TEXT} visible ASCII characters, or it is \
             empty and must not be"
        ))
    }
}

impl From<WireError> for tonic::Status {
    fn from(error: WireError) -> tonic::Status {
        let text = error.to_string();
        match error {
            WireError::Incompatible(_) => tonic::Status::failed_precondition(text),
            WireError::Missing(_) | WireError::Malformed(_) => {
                tonic::Status::invalid_argument(text)
            }
        }
    }
}
