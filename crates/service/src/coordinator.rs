//! The coordinator's runtime: the tasks and threads around the farm core.
//!
//! ```text
//!   workers ◄──► session (one each) ──┐
//!                                     ├──► event loop: Farm::step ◄──► ledger thread
//!   clients ◄──► API and page ────────┘
//! ```
//!
//! Only the event loop touches the farm. Everything else sends inputs to the event loop and gets
//! answers. A count without a server uses the same event loop, with one session in the same
//! process.

mod credentials;
mod downloads;
mod event_loop;
#[cfg(test)]
mod extremes;
mod fresh;
mod http;
mod identity;
mod job_api;
mod limits;
mod metrics;
mod plans;
mod refused;
mod server;
mod session;

pub use credentials::{Credentials, OwnFiles};
pub use event_loop::{EventLoop, FarmHandle};
use identity::{Identity, Right};
pub use limits::{Limits, Listener};
pub use server::{Phases, serve};

pub(crate) use credentials::{ADMIN_OWNER, new_credential, status};
pub(crate) use identity::LOCAL_OWNER;
pub(crate) use plans::Plans;
pub(crate) use session::{Peer, host};
