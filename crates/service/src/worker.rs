//! A worker's runtime: the tasks and threads around the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: threads, devices
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! A count without a server runs the same loop, over a link that is a pair of channels.

mod backoff;
mod link;
mod shutdown;
mod work;

pub use crate::os::machine;
pub use link::{Connect, Link, LinkEnd};
pub use shutdown::LeaveRules;
pub use work::{Parts, start_executor, work};
