//! Tests that several crates share: [`conformance`], which every store of rows must pass,
//! and [`MemoryStore`], the plainest one.
//!
//! `tests/simulation` runs the farm's core over stores of rows.
#![forbid(unsafe_code)]

pub mod conformance;
mod memory_store;

pub use memory_store::{MemoryJob, MemoryStore};
