//! Bundles: a job's evidence as one file of text, for strangers to check without us.
//!
//! ```text
//!   line 1      the header: plan, total, how many lines of each kind, Merkle root of all that follow
//!   then        policy       what was to be counted twice
//!               range        an accepted count: who, with what, when; residue and digest
//!               audit        a second count of such a range
//!               dispute      what was contradicted, overruled or taken back
//!               distrusted   a worker that was proven wrong
//! ```
//!
//! Each line is a JSON object. The Merkle tree's leaves are the lines, so that a single one can be shown
//! to belong to it; the bundle's name is the BLAKE3 hash of the header, which has the root.

#![forbid(unsafe_code)]

#[cfg(test)]
mod altered;
mod check;
mod confidence;
mod error;
mod export;
mod format;
mod merkle;
mod recount;

pub use check::{Checked, check};
pub use confidence::confidence;
pub use error::{BundleError, RecountError};
pub use export::{Exported, export};
pub use format::Header;
pub use recount::{RecountEffort, Recounted, Sample, recount};
