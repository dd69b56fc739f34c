//! A worker's runtime: the tasks and threads around the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! A count without a server runs the same loop, over a link that is a pair of channels.

mod departure;
mod link;
mod outage;
mod work;

pub use departure::LeaveRules;
pub use link::{Connect, GrpcConnector, Link, LinkEnd};
pub use work::{Parts, start_executor, work};

/// The host's name, as far as it can be the name of a machine or a part of a worker's.
#[must_use]
pub fn host_name() -> String {
    let system = rustix::system::uname();
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '-' };
    system.nodename().to_string_lossy().chars().take(64).map(visible).collect()
}
