//! What several crates' tests share: [`conformance`], which every store of rows must pass,
//! [`MemoryStore`], the plainest one, [`Random`], and the known counts of [`vectors`].
//!
//! `tests/simulation` runs the farm's core over stores of rows.
#![forbid(unsafe_code)]

pub mod conformance;
mod memory_store;
mod random;
pub mod vectors;

pub use memory_store::{MemoryJob, MemoryStore};
pub use random::{Random, mix};
