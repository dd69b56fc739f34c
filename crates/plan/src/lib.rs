//! Plans, leases of their ranges, and reports of what was counted.
//!
//! A farm and its workers exchange these types. This crate knows what they are and when two of them belong
//! together. It deliberately does not know which range is leased to which worker (`farm` does), nor how a task is
//! counted (`executor` does).
#![forbid(unsafe_code)]

mod checked_count;
mod ids;
mod kernel_name;
mod lease;
mod plan;
mod range;
mod report;
mod task_counts;

pub use board::{Method, Problem};

pub use checked_count::{CheckedCount, CountResult, Digest};
pub use ids::{JobId, LeaseId, Millis, RequestId, SessionId};
pub use kernel_name::KernelName;
pub use lease::{Lease, LeaseKind, LeaseToken, Recount};
pub use plan::{Fingerprint, Plan};
pub use range::Range;
pub use report::Report;
pub use task_counts::TaskCounts;
