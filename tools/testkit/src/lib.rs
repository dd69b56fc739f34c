//! What several crates' tests share: [`Random`], and the known counts of [`vectors`].
//!
//! `tests/simulation` runs the farm's core over the real ledger.
#![forbid(unsafe_code)]

mod random;
pub mod vectors;

pub use random::{Random, mix};
