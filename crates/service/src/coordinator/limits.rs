//! Limits of the requests to a coordinator, in one place.
//!
//! | who | limit |
//! |---|---|
//! | everybody | connections, streams, bytes that are not read, headers, messages; time for an answer |
//! | an address | new connections a second; attempts to log in a second |
//! | a connection without a credential | time and bytes until one is shown; how many others come until then |
//! | an owner | requests a second; what is beyond them waits |
//!
//! They are for strangers. The holder of a credential is trusted not to flood. An owner who does so all the same loses it
//! (`queens token revoke`).

mod listen;
mod rates;

use std::net::IpAddr;
use std::time::Duration;

use tonic::transport::Server;

pub(super) use self::listen::Admission;
pub use self::listen::{Connection, Listener};
pub(super) use self::rates::{Rates, machine};
use super::Identity;

/// How long a request may wait for its answer, or for the beginning of a stream of answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Streams of one connection at a time.
const STREAMS: u32 = 64;
/// Bytes that a worker may send before they are read. Its messages are small.
const STREAM_WINDOW: u32 = 128 << 10;
/// Bytes of all streams of a connection together that may be sent before they are read.
const CONNECTION_WINDOW: u32 = 2 * STREAM_WINDOW;
/// Bytes of the headers of a request.
const HEADERS: u32 = 16 << 10;
/// How often a silent connection is pinged, and how long the answer may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Limits of the connections to a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of connections at the same time; further ones wait to be accepted.
    pub connections: usize,
    /// Number of connections that one address may make at once. Each second makes up for some;
    /// beyond them, further ones are closed.
    pub visits: u32,
    /// A connection of which no request was admitted ends when so many others have come after it.
    pub strangers: usize,
    /// How long a connection may take until one of its requests is admitted, its handshake
    /// included.
    pub admission: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 32_768,
            visits: 16_384,
            strangers: 16_384,
            admission: Duration::from_secs(10),
        }
    }
}

/// A server whose connections have these limits.
pub(super) fn server() -> Server {
    Server::builder()
        .accept_http1(true)
        .timeout(ANSWER_TIMEOUT)
        .http2_keepalive_interval(Some(SIGN_OF_LIFE))
        .http2_keepalive_timeout(Some(SIGN_OF_LIFE))
        .http2_max_header_list_size(HEADERS)
        .http2_max_pending_accept_reset_streams(Some(32))
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
}

/// Connections of each address: a thousand a second, whose handshakes take a tenth of a processor, and many at once,
/// because all workers of a site may come back at once and from one address.
fn visits(at_once: u32) -> Rates<IpAddr> {
    Rates::new(1_000, at_once)
}

/// Attempts of each address to log in to the page.
pub(super) fn logins() -> Rates<IpAddr> {
    Rates::new(1, 20)
}

/// Requests of each owner; where no credential is needed, of each address. The many looks of one
/// request that watches a job are not counted.
pub(super) fn requests() -> Rates<String> {
    Rates::new(64, 256)
}

/// The key by which requests are counted together.
pub(super) fn asker(identity: &Identity, admission: &Admission) -> String {
    match identity.credential.is_none() {
        true => machine(admission.peer()).to_string(),
        false => identity.owner.clone(),
    }
}
