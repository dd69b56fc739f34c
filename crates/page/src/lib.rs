//! The live page of a farm.
//!
//! ```text
//!   Snapshot ──► jobs, job, workers, people ──► Page { parts } ──► document       the first load, and without script
//!                                                    └───────────► changed parts  while somebody looks on
//! ```
//!
//! Each page is a function of what is seen of the farm at one moment. It consists of parts; the
//! script brings those up to date that have changed, and browsers without script load the page
//! again. Every
//! link is relative, so that a proxy may serve the farm under any path.
//!
//! This crate knows HTML and what is seen of a farm. It deliberately knows no sockets, no
//! credentials and no database: who may see what, and how often it is looked at, is up to
//! `service`.
#![forbid(unsafe_code)]

mod address;
mod assets;
mod changes;
mod chart;
mod frame;
mod history;
mod job;
mod jobs;
mod map;
mod parts;
mod people;
mod problem;
mod public;
mod snapshot;
mod text;
mod workers;

pub use assets::assets;
pub use frame::{Reader, fault, login, root};
pub use history::{History, Load, Past};
pub use job::{actions, evidence, job, refused_priority};
pub use jobs::{EndedBefore, Typed, jobs, submission, submission_page};
pub use parts::{Page, Part};
pub use people::{owner, owners, worker};
pub use public::public;
pub use snapshot::{CellRecord, Credits, JobDetail, JobRecord, Snapshot};
pub use workers::workers;
