//! The live page of a farm.
//!
//! ```text
//!   Snapshot ──► jobs, job, workers ──► Page { parts } ──► document       the first load, and without script
//!                                            └───────────► changed parts  while somebody looks on
//! ```
//!
//! Each page is a function of what is seen of the farm at one moment. It consists of parts; the script replaces
//! those that have changed, and browsers without script load the page again.
//!
//! This crate knows HTML and what is seen of a farm. It deliberately knows no sockets, no credentials and no
//! database: who may see what, and how often it is looked at, is up to `service`.
#![forbid(unsafe_code)]

mod assets;
mod chart;
mod estimate;
mod frame;
mod history;
mod job;
mod jobs;
mod map;
mod parts;
mod snapshot;
mod text;
mod workers;

pub use assets::assets;
pub use estimate::{Estimate, Sums};
pub use frame::{Reader, fault, login};
pub use history::{History, Load, Span};
pub use job::{actions, job};
pub use jobs::{EndedBefore, jobs, submission};
pub use parts::{Page, Part};
pub use snapshot::{CellRecord, JobRecord, JobSight, LogEntry, Snapshot};
pub use workers::{Order, WorkersView, workers};
