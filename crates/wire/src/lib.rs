//! The gRPC types, and the one place where they become the farm's own.
//!
//! This crate knows the messages of `proto/` and what makes one of them well-formed. It
//! deliberately knows nothing of connections, of what a message leads to, or of counting.
#![forbid(unsafe_code)]

mod decode;
mod encode;
mod error;

pub use decode::{AuditDefaults, key};
pub use error::WireError;

/// The version of the worker's protocol that both ends speak; [`v1::Hello::protocol`].
pub const PROTOCOL: u32 = 1;

/// The most tasks in one [`v1::Tasks`].
pub const MAX_TASKS_PER_MESSAGE: usize = 4096;

/// The longest name of a worker, of its build or of its backend, bytes.
pub const MAX_TEXT: usize = 128;

/// Whether `text` may be the name of a worker, its build or its backend: at most [`MAX_TEXT`] visible ASCII
/// characters, without spaces. Such a text is safe in logs, terminals and tables. It may be empty.
#[must_use]
pub fn is_text(text: &str) -> bool {
    text.len() <= MAX_TEXT && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The name of a worker, a machine or an owner: a text ([`is_text`]) that is not empty.
///
/// # Errors
///
/// [`WireError::Text`] with the name of the field.
pub fn name(field: &'static str, text: String) -> Result<String, WireError> {
    if text.is_empty() || !is_text(&text) {
        return Err(WireError::Text { field });
    }
    Ok(text)
}

/// The largest message that either end accepts, bytes. A full [`v1::Tasks`] has some 53 KiB; a
/// worker's Hello with everything that it may hold stays below this too.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The name under which the health service says whether the coordinator's process lives.
pub const LIVENESS: &str = "liveness";

/// The name under which the health service says whether every request is answered.
pub const READINESS: &str = "readiness";

/// All of `proto/`, as a serialised descriptor set, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");

/// Generated from `proto/queens/v1` by `cargo xtask proto`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    include!("generated/queens.v1.rs");
}
