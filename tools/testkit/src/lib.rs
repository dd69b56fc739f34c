//! What tests and benchmarks of the whole farm share: workers that mean harm.
//!
//! `tests/network` runs the farm over a simulated network.
#![forbid(unsafe_code)]

pub mod hostile_worker;
