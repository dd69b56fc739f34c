//! What the service measures while it runs.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::Code;

/// Why a worker was dismissed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) enum Gone {
    /// A newer session of its process replaced it.
    Replaced,
    /// Its machine or its owner is distrusted.
    Distrusted,
    /// It reported or held what was not leased to its owner.
    Unproven,
    /// It sent something malformed, or a count that cannot be.
    Invalid,
    /// It did not say who it is.
    Silent,
    /// It did not take its orders.
    Slow,
    /// Its credential ended.
    Expired,
}

impl Gone {
    const ALL: [Gone; 7] = [
        Gone::Replaced,
        Gone::Distrusted,
        Gone::Unproven,
        Gone::Invalid,
        Gone::Silent,
        Gone::Slow,
        Gone::Expired,
    ];

    fn name(self) -> &'static str {
        match self {
            Gone::Replaced => "replaced",
            Gone::Distrusted => "distrusted",
            Gone::Unproven => "unproven",
            Gone::Invalid => "invalid",
            Gone::Silent => "silent",
            Gone::Slow => "slow",
            Gone::Expired => "expired",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Reason {
    reason: &'static str,
}

/// A call of a gRPC method, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Call {
    method: String,
    /// What a call of `Ask` asked for; empty otherwise.
    verb: &'static str,
    code: &'static str,
}

/// Where the handler of a call notes what was asked for, for those who measure the call.
#[derive(Clone, Debug, Default)]
pub(in crate::coordinator) struct Verb(pub(in crate::coordinator) Arc<OnceLock<&'static str>>);

/// The paths of all methods that are served. A farm within one process is asked for none of them, and does not wait
/// until they are read.
static METHODS: LazyLock<HashSet<String>> = LazyLock::new(|| methods(wire::DESCRIPTORS));

/// Counters of the service. Clones count together.
#[derive(Clone)]
pub(in crate::coordinator) struct Meters {
    pub(super) commit_seconds: Histogram,
    pub(super) commit_requests: Histogram,
    pub(super) dismissals: Family<Reason, Counter>,
    pub(super) call_seconds: Family<Call, Histogram, fn() -> Histogram>,
    pub(super) viewers: Gauge,
    /// When the last copy of the ledger was sent whole, in seconds since 1970; 0 before the first.
    pub(in crate::coordinator) copied_at: Gauge,
    /// Requests and logins that showed a credential that is none, or no longer one.
    pub(in crate::coordinator) wrong_credentials: Counter,
}

impl std::fmt::Debug for Meters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meters").finish_non_exhaustive()
    }
}

impl Meters {
    pub(in crate::coordinator) fn new() -> Meters {
        let dismissals = Family::<Reason, Counter>::default();
        // A counter must be there before it first counts, or nobody sees that it grew.
        for gone in Gone::ALL {
            drop(dismissals.get_or_create(&Reason { reason: gone.name() }));
        }
        Meters {
            // From a fast disk to one that stops the farm: 1 ms to 33 s.
            commit_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 16)),
            commit_requests: Histogram::new(exponential_buckets(1.0, 4.0, 7)),
            dismissals,
            // From an answer out of memory to the longest that a request may take: 1 ms to 33 s.
            call_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 16))
            }),
            viewers: Gauge::default(),
            copied_at: Gauge::default(),
            wrong_credentials: Counter::default(),
        }
    }

    /// The ledger has made so many requests durable in this time.
    pub(in crate::coordinator) fn committed(&self, requests: usize, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
        self.commit_requests.observe(requests as f64);
    }

    /// A worker was dismissed.
    pub(in crate::coordinator) fn dismissed(&self, gone: Gone) {
        self.dismissals.get_or_create(&Reason { reason: gone.name() }).inc();
    }

    /// Somebody follows the farm for as long as the value lives.
    pub(in crate::coordinator) fn viewer(&self) -> Present {
        Present::counted_by(&self.viewers)
    }

    fn called(&self, path: &str, verb: &'static str, code: Code, took: Duration) {
        // Whoever has no credential may name any method.
        let method = path.trim_start_matches('/');
        let method = if METHODS.contains(method) { method } else { "other" };
        let call = Call { method: method.into(), verb, code: name(code) };
        self.call_seconds.get_or_create(&call).observe(took.as_secs_f64());
    }
}

/// Measures a gRPC call until its answer begins: for one that is answered by a stream, until the stream is open.
pub(in crate::coordinator) async fn measure_call(
    State(meters): State<Meters>,
    mut request: Request,
    next: Next,
) -> Response {
    let (path, began) = (request.uri().path().to_owned(), Instant::now());
    let verb = Verb::default();
    request.extensions_mut().insert(verb.clone());
    let answer = next.run(request).await;
    // A call that succeeds tells its code behind its answer.
    let code = answer.headers().get("grpc-status");
    let code = code.map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    meters.called(&path, verb.0.get().copied().unwrap_or_default(), code, began.elapsed());
    answer
}

/// Somebody who is counted until the value is dropped.
#[derive(Debug)]
pub(in crate::coordinator) struct Present(Gauge);

impl Present {
    fn counted_by(gauge: &Gauge) -> Present {
        gauge.inc();
        Present(gauge.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The methods that a serialised descriptor set names, like `queens.v1.ClientService/Get`.
fn methods(descriptors: &[u8]) -> HashSet<String> {
    let files = FileDescriptorSet::decode(descriptors).expect("it is a descriptor set").file;
    let mut found = HashSet::new();
    for file in &files {
        for service in &file.service {
            let name = format!("{}.{}", file.package(), service.name());
            found.extend(service.method.iter().map(|method| format!("{name}/{}", method.name())));
        }
    }
    found
}

/// The name of a code in gRPC's specification.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_methods_that_exist_have_series_of_their_own() {
        let meters = Meters::new();
        let paths =
            ["/queens.v1.ClientService/Get", "/queens.v1.ClientService/Nonsense", "/Nonsense"];
        for path in paths {
            meters.called(path, "", Code::Unauthenticated, Duration::from_secs(1));
        }
        let has_series = |method: &str| {
            let call = Call { method: method.into(), verb: "", code: "UNAUTHENTICATED" };
            meters.call_seconds.get(&call).is_some()
        };
        assert!(has_series("queens.v1.ClientService/Get") && has_series("other"));
        assert!(!has_series("queens.v1.ClientService/Nonsense") && !has_series("Nonsense"));
    }

    #[test]
    fn viewers_are_counted_for_as_long_as_they_look() {
        let meters = Meters::new();
        let [first, _second] = [meters.viewer(), meters.viewer()];
        assert_eq!(meters.viewers.get(), 2);
        drop(first);
        assert_eq!(meters.viewers.get(), 1);
    }
}
