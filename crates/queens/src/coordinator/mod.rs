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

pub(crate) use allowance::Allowance;
pub(crate) use hub::{ClientRequest, Hub, HubHandle};
#[cfg(test)]
pub(crate) use listen::{Accept, accept_within};
pub(crate) use listen::{Limits, Listener};
pub(crate) use plans::Plans;
pub(crate) use server::{Access, serve};
pub(crate) use session::{SessionFault, host};
