//! Bundles: the evidence of a job as one text file, which anybody can check.
//!
//! This crate knows the lines of a bundle, how they prove each other, and how to count a sample of the
//! ranges again. It deliberately knows nothing about databases or the network: [`export()`] gets its rows
//! from a function, and [`check()`] reads a file.
//!
//! ```text
//!   line 1      the header: plan, total, number of lines of each kind, Merkle root of all other lines
//!   then        policy       what was to be counted twice
//!               range        an accepted count: who, with what, when; residue and digest
//!               audit        a second count of such a range
//!               dispute      what was contradicted, overruled or taken back
//!               distrusted   a worker whose count was proven wrong
//! ```
//!
//! Each line is a JSON object. The lines are the leaves of the Merkle tree, so that a short proof can show
//! that a single line belongs to a bundle. The header contains the root, and the BLAKE3 hash of the header
//! is the bundle's name.
//!
//! A policy has the commitment to its seed ([`farm::AuditPolicy::commitment`]). Seed and salt are in the bundle
//! of a job that is over, and nowhere before: they would tell workers where nobody looks.

#![forbid(unsafe_code)]

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
