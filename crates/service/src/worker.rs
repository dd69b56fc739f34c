//! A worker's runtime: the tasks and threads around the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! A count without a server runs the same loop, over a link that is a pair of channels.

mod link;
mod work;

pub use link::{GrpcConnector, Link, LinkEnd};
pub use work::{Connect, Parts, WorkConfig, start_executor, work};
