//! What several crates' tests share: [`conformance`], which every store of rows must pass,
//! [`MemoryStore`], the plainest one, and [`Random`].
//!
//! `tests/simulation` runs the farm's core over stores of rows.
#![forbid(unsafe_code)]

pub mod conformance;
mod memory_store;
mod random;

pub use memory_store::{MemoryJob, MemoryStore};
pub use random::{Random, mix};
