//! Limits of the requests to a coordinator, in one place.
//!
//! | who | limit |
//! |---|---|
//! | everybody | connections, as open files allow; streams, unread bytes, headers, messages; time for an answer |
//! | an address | new connections a second; attempts to log in a second |
//! | a connection without a credential | time until one is shown; how many others come until then; closed first if there is no room |
//! | an owner | requests a second that change something; what is beyond them waits |
//!
//! They are for strangers. The holder of a credential is trusted not to flood. An owner who does so
//! all the same loses it (`queens token revoke`).

mod listen;

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ratelimit::{Ratelimiter, TryWaitError};
use tokio_stream::{Stream, StreamExt as _};
use tower::ServiceExt as _;

pub(super) use self::listen::Admission;
use self::listen::Connection;
pub use self::listen::Listener;

/// How long a request may wait for its answer, or for the beginning of a stream of answers. Files
/// for clients may take longer, because they are written first.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Streams of one connection at a time.
const STREAMS: u32 = 64;
/// Bytes that a worker may send before they are read. Its messages are small.
const STREAM_WINDOW: u32 = 128 << 10;
/// Bytes of all streams of a connection together that may be sent before they are read.
const CONNECTION_WINDOW: u32 = 2 * STREAM_WINDOW;
/// Bytes of the headers of a request. HTTP/1.1 buffers no more.
const HEADERS: u32 = 16 << 10;
/// How often a silent connection is pinged, and how long the answer may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Limits of the connections to a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of connections at the same time; further ones wait to be accepted.
    pub connections: usize,
    /// Number of connections that one address may make at once, with a thousand more for each
    /// second that passes; further ones are closed. It is large, because all workers of a site may
    /// come back at once from one address.
    pub visits: u32,
    /// A connection of which no request was admitted ends when this number of others have come
    /// after it.
    pub strangers: usize,
    /// How long a connection may take, its handshake included, until a request of it is admitted.
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

impl Limits {
    /// The limits of a process that may have this number of open files. Half of its connections
    /// are kept for those who have shown a credential.
    pub fn within(open_files: usize) -> Limits {
        /// Files that a coordinator needs for its ledger, for copies of it and for itself.
        const OWN: usize = 64;
        let most = Limits::default();
        let connections = most.connections.min(open_files - OWN.min(open_files / 2)).max(2);
        Limits {
            connections,
            visits: most.visits.min(connections as u32),
            strangers: most.strangers.min(connections / 2),
            ..most
        }
    }
}

/// Serves `routes` on connections that have these limits. After `stop` it takes no more of them,
/// and completes when they have ended. Each request carries the [`Admission`] of its connection.
pub(super) async fn serve(
    routes: Router,
    connections: impl Stream<Item = Connection>,
    stop: impl Future<Output = ()>,
) {
    let mut server = Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).max_buf_size(HEADERS as usize);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(SIGN_OF_LIFE)
        .keep_alive_timeout(SIGN_OF_LIFE)
        .max_header_list_size(HEADERS)
        .max_pending_accept_reset_streams(32)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let open = GracefulShutdown::new();
    let accept = async {
        let mut connections = pin!(connections);
        while let Some(connection) = connections.next().await {
            let admission = connection.admission.clone();
            let routes = routes.clone().map_request(move |mut request: Request<_>| {
                request.extensions_mut().insert(admission.clone());
                request
            });
            let service = TowerToHyperService::new(routes);
            let served = server.serve_connection(TokioIo::new(connection), service).into_owned();
            let served = open.watch(served);
            tokio::spawn(async move {
                if let Err(error) = served.await {
                    tracing::debug!(error, "a connection failed");
                }
            });
        }
    };
    tokio::select! {
        () = accept => {}
        () = stop => {}
    }
    open.shutdown().await;
}

/// Attempts of each address to log in to the page.
pub(super) fn logins() -> Rates<IpAddr> {
    Rates::new(1, 20)
}

/// Requests of each owner or address that change something.
pub(super) fn requests() -> Rates<String> {
    Rates::new(64, 256)
}

/// A rate limit for each of many keys, by the token buckets of the crate `ratelimit`. Clones count
/// together.
#[derive(Clone, Debug)]
pub(super) struct Rates<K> {
    buckets: Arc<Mutex<HashMap<K, Ratelimiter>>>,
    per_second: u32,
    at_once: u32,
}

impl<K: Clone + Eq + Hash> Rates<K> {
    /// The number of keys at which those that have done nothing lately are forgotten.
    const MOST: usize = 16_384;

    /// At most `per_second` a second and `at_once` at once for each key. Neither is 0.
    pub(super) fn new(per_second: u32, at_once: u32) -> Rates<K> {
        assert!(per_second > 0 && at_once > 0, "a rate is not 0");
        Rates { buckets: Arc::default(), per_second, at_once }
    }

    /// Counts one more and returns true, unless it would be one too many.
    pub(super) fn allow(&self, key: &K) -> bool {
        self.take(key).is_ok()
    }

    /// Counts one more, as soon as it is not one too many.
    pub(super) async fn wait(&self, key: &K) {
        while let Err(pause) = self.take(key) {
            tokio::time::sleep(pause).await;
        }
    }

    /// Counts one more, or returns the time to wait.
    fn take(&self, key: &K) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().expect("nothing panics while it is locked");
        if !buckets.contains_key(key) {
            let most = u64::from(self.at_once);
            if buckets.len() >= Self::MOST {
                // A full bucket can be removed, because a new one is full, too.
                buckets.retain(|_, bucket| bucket.try_wait_n(most).is_err());
            }
            let bucket = Ratelimiter::builder(self.per_second.into());
            let bucket = bucket.max_tokens(most).initial_available(most).build();
            buckets.insert(key.clone(), bucket.expect("no rate is 0"));
        }
        buckets[key].try_wait().map_err(|error| match error {
            TryWaitError::Insufficient(pause) => pause,
            _ => Duration::from_secs(1),
        })
    }
}

/// The key of the machine with this address. Of an IPv6 address it is the first half, because one
/// machine may use all addresses with that half.
pub(super) fn machine(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn what_is_too_much_of_one_waits_or_is_refused_and_others_have_their_own() {
        let rates = Rates::new(20, 3);
        assert!((0..3).all(|_| rates.allow(&"ann")));
        assert!(!rates.allow(&"ann"), "a fourth at once");
        assert!(rates.allow(&"bob"));

        let begun = Instant::now();
        rates.wait(&"bob").await;
        assert!(begun.elapsed() < Duration::from_millis(40), "{:?}", begun.elapsed());
        rates.wait(&"ann").await;
        rates.wait(&"ann").await;
        assert!(begun.elapsed() >= Duration::from_millis(50), "{:?}", begun.elapsed());
    }

    #[test]
    fn places_follow_the_limit_of_open_files_and_half_of_them_are_no_strangers() {
        for (open_files, connections) in [
            (0, 2),
            (20, 10),
            (128, 64),
            (1_024, 960),
            (32_768, 32_704),
            (32_832, 32_768),
            (1 << 20, 32_768),
            (usize::MAX, 32_768),
        ] {
            let limits = Limits::within(open_files);
            assert_eq!(limits.connections, connections, "{open_files}");
            assert_eq!(limits.strangers, connections / 2, "{open_files}");
        }
    }

    #[test]
    fn who_was_there_long_ago_is_forgotten() {
        let rates = Rates::new(1_000_000, 1);
        for key in 0..2 * Rates::<usize>::MOST {
            rates.allow(&key);
        }
        std::thread::sleep(Duration::from_millis(1));
        rates.allow(&usize::MAX);
        let known = rates.buckets.lock().expect("nothing has panicked").len();
        assert!(known <= Rates::<usize>::MOST, "{known}");
    }

    #[test]
    fn a_machine_is_one_address() {
        let at = |text: &str| machine(text.parse().expect("it is an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("10.0.0.1"), at("::ffff:10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
