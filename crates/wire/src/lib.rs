//! The gRPC types and their conversions to and from the farm's own types.
//!
//! This crate knows the messages of `proto/` and when one is well-formed. It deliberately knows
//! nothing of connections, of the effects of a message, or of counting.
#![forbid(unsafe_code)]

mod error;
mod messages;

pub use error::WireError;
pub use messages::{key, reason};

/// The version of the worker's protocol that both ends speak, in [`v1::Hello::protocol`].
pub const PROTOCOL: u32 = 1;

/// The most tasks in one [`v1::Tasks`].
pub const MAX_TASKS_PER_MESSAGE: usize = 4096;

/// The longest name of a worker, of its build or of its backend, in bytes.
pub const MAX_TEXT: usize = 128;

/// Whether `text` may be the name of a worker, its build or its backend. It has at most
/// [`MAX_TEXT`] visible ASCII characters and no spaces, and may be empty. Such a text is safe in
/// logs, terminals and tables.
pub fn is_text(text: &str) -> bool {
    text.len() <= MAX_TEXT && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The rule of [`name`], as a sentence without its end.
pub fn rule_of_names() -> String {
    format!("a name has 1 to {MAX_TEXT} visible ASCII characters and no space")
}

/// Checks the name of a worker, a machine or an owner: a text ([`is_text`]) that is not empty. The
/// error names the `field`.
pub fn name(field: &'static str, text: String) -> Result<String, WireError> {
    if text.is_empty() || !is_text(&text) {
        return Err(WireError::text(field));
    }
    Ok(text)
}

/// The largest message that either end accepts, in bytes. A full [`v1::Tasks`] has some 53 KiB, and
/// the largest Hello of a worker is smaller than this limit, too.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The name under which the health service reports whether the coordinator's process lives.
pub const LIVENESS: &str = "liveness";

/// The name under which the health service reports whether every request is answered.
pub const READINESS: &str = "readiness";

/// Generated from `proto/queens/v1` by `cargo xtask proto`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    include!("generated/queens.v1.rs");
}
