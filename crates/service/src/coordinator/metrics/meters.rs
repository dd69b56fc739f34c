//! What the service measures while it runs.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Why a worker may be dismissed, as `docs/METRICS.md` explains.
const REASONS: [&str; 7] =
    ["replaced", "distrusted", "unproven", "invalid", "silent", "slow", "expired"];

/// Counters of the service. Clones count together.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Meters {
    pub(super) commit_seconds: Histogram,
    pub(super) dismissals: Family<[(&'static str, &'static str); 1], Counter>,
    /// When the last copy of the ledger was sent whole, in seconds since 1970; 0 before the first.
    pub(in crate::coordinator) copied_at: Gauge,
    /// Requests and logins that showed an unknown or invalid credential.
    pub(in crate::coordinator) wrong_credentials: Counter,
}

impl Meters {
    pub(in crate::coordinator) fn new() -> Meters {
        let meters = Meters {
            // From a fast disk to one that stops the farm: 1 ms to 33 s.
            commit_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 16)),
            dismissals: Family::default(),
            copied_at: Gauge::default(),
            wrong_credentials: Counter::default(),
        };
        // A counter must be there before it first counts, or nobody sees that it grew.
        for reason in REASONS {
            drop(meters.dismissals.get_or_create(&[("reason", reason)]));
        }
        meters
    }

    /// The ledger has made a transaction durable in this time.
    pub(in crate::coordinator) fn committed(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }

    /// A worker was dismissed for one of [`REASONS`].
    pub(in crate::coordinator) fn dismissed(&self, reason: &'static str) {
        debug_assert!(REASONS.contains(&reason), "{reason}");
        self.dismissals.get_or_create(&[("reason", reason)]).inc();
    }
}
