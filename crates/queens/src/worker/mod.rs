//! A worker's runtime: what surrounds the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! The same loop runs inside `queens count`, where the link is a pair of channels.

mod executor;
mod kernel;
mod link;
mod queue;
mod work;

pub(crate) use executor::{Accepted, Executor};
pub(crate) use kernel::NamedKernel;
pub(crate) use link::{GrpcConnector, Link, LinkEnd};

/// What answers for a count, in the evidence: the version of this program.
pub(crate) const BUILD: &str = env!("CARGO_PKG_VERSION");

pub(crate) use work::{Connect, WorkConfig, work};
