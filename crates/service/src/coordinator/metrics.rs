//! What a coordinator tells Prometheus: a picture of the farm at the time of the request, and what was measured
//! since the coordinator began.
//!
//! ```text
//!   GET /metrics ──► farm: Figures (one look at the farm) ──┐
//!                    Meters (measured by the service) ─────┼──► OpenMetrics, or plain text
//!                    this process, the ledger's disk ──────┘
//! ```
//!
//! No label has more values than there are kernels, verdicts, methods and jobs that have not ended: what is told
//! does not grow with the workers, nor with the past. `docs/METRICS.md` lists all of it.

mod disk;
mod exposition;
mod figures;
mod meters;
mod process;

pub(super) use exposition::{exposition, plain_text};
pub(super) use figures::Figures;
pub(super) use meters::{Gone, Meters, Verb, measure_call};
