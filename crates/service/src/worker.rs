//! A worker's runtime: what surrounds the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! The same loop runs inside `queens count`, where the link is a pair of channels.

mod link;
mod work;

pub use link::{GrpcConnector, Link, LinkEnd};
pub use work::{Connect, Parts, WorkConfig, start_executor, work};
