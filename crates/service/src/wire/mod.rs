//! The messages between workers and the coordinator: the gRPC types of `proto/`, when one is
//! well-formed, and their conversions to and from the farm's own types.

mod error;
mod messages;

pub use error::WireError;

/// The version of the worker's protocol that both ends speak, in [`v1::Hello::protocol`].
pub const PROTOCOL: u32 = 1;

/// The most tasks in one [`v1::Tasks`].
pub const MAX_TASKS_PER_MESSAGE: usize = 4096;

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
