//! A worker's runtime: what surrounds the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! The same loop runs inside `queens count`, where the link is a pair of channels.

mod executor;
mod link;
mod queue;
mod work;

pub(crate) use executor::{Accepted, Executor};
pub(crate) use link::{GrpcConnector, Link, LinkEnd};
pub(crate) use work::{Connect, WorkConfig, work};
