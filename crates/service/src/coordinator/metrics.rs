//! The metrics that a coordinator serves to Prometheus: the state of the farm at the time of the request, and counters since
//! the coordinator began.
//!
//! ```text
//!   GET /metrics ──► the farm, between two events ──┐
//!                    Meters of the service ─────────┼──► OpenMetrics, or plain text
//!                    this process, the ledger's disk┘
//! ```
//!
//! A metric is here because an alert, the dashboard or an autoscaler asks for it, or because it accounts for hours. The labels
//! have no more values than there are kernels, verdicts, reasons, owners and jobs that have not ended, so that the number of
//! series grows neither with the workers nor with time. `docs/METRICS.md` lists them.

mod exposition;
mod meters;

pub(super) use exposition::{exposition, plain_text};
pub(super) use meters::Meters;
