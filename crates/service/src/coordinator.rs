//! The coordinator's runtime: what surrounds the farm core.
//!
//! ```text
//!   workers ◄──► session + pump (one each) ──┐
//!                                            ├──► hub: Farm::step ◄──► ledger thread
//!   clients ◄──► jobs service ───────────────┘
//! ```
//!
//! The hub alone touches the farm; everybody else sends it inputs and gets answers. The same hub
//! serves `queens count`, where the only session is in the same process.

mod allowance;
mod hub;
mod listen;
mod plans;
mod pump;
mod server;
mod session;
mod token_gate;

pub use allowance::Allowance;
pub use hub::{ClientRequest, Hub, HubGone, HubHandle};
pub use listen::{Accept, Connection, Limits, Listener, accept_within};
pub use plans::Plans;
pub use server::{Access, serve};
pub use session::{SessionFault, host};
