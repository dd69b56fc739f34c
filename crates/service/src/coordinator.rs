//! The coordinator's runtime: the tasks and threads around the farm core.
//!
//! ```text
//!   workers ◄──► session + pump (one each) ──┐
//!                                            ├──► hub: Farm::step ◄──► ledger thread
//!   clients ◄──► jobs service ───────────────┘
//! ```
//!
//! Only the hub touches the farm; everything else sends it inputs and gets answers. A count without a
//! server uses the same hub, with one session in the same process.

mod bundles;
mod clients;
mod copies;
mod credentials;
mod desk;
mod handle;
mod http;
mod hub;
mod identity;
mod limits;
mod metrics;
mod news;
mod own_secrets;
mod phase;
mod plans;
mod pump;
mod sending;
mod server;
mod session;
mod session_fault;

pub use credentials::{Credentials, OwnFiles};
pub(crate) use desk::known;
pub use handle::HubHandle;
pub use hub::Hub;
pub use identity::{Identity, LOCAL_OWNER, Right};
pub use limits::{Connection, Limits, Listener};
pub use own_secrets::{lease_key, note_keys, require_keys, role_token};
pub use phase::Phase;
pub use plans::Plans;
pub use server::serve;
pub use session::{Peer, host};
pub use session_fault::SessionFault;
