//! What tests and benchmarks of several crates share: [`conformance`], which every store of rows must pass,
//! and, with the feature `hostile`, workers and clients that mean harm.
//!
//! `tests/simulation` runs the farm's core over stores of rows.
#![forbid(unsafe_code)]

pub mod conformance;
#[cfg(feature = "hostile")]
pub mod hostile_client;
#[cfg(feature = "hostile")]
pub mod hostile_worker;
