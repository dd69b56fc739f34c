//! TLS 1.3 between coordinators and those who connect to them.
//!
//! ```text
//!   Authority ──signs──► leaf ──┐
//!       │                       ├──► ServerTls: shows the newest certificate to new connections
//!       │    files of others ───┘
//!       └──hash──► Pin ──► join string ──► Trust::Pin: accepts what this authority has signed
//! ```
//!
//! A farm is its own authority, and whoever connects knows the authority's hash. So no name and no address
//! is verified, and tunnels and address translation do not matter.

mod authority;
mod server;
#[cfg(test)]
mod tests;
mod trust;

use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::{SupportedProtocolVersion, version};

pub use authority::Authority;
pub use server::ServerTls;
pub(crate) use trust::{Refusal, Trust, refusal};

/// The name in the leaves of every farm's own authority. It resolves nowhere.
const NAME: &str = "coordinator.queens.internal";
const VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13];
/// What workers and clients speak over TLS.
const HTTP_2: &[u8] = b"h2";
/// What a coordinator speaks besides, for whoever reads its page or its figures.
const HTTP_1: &[u8] = b"http/1.1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
