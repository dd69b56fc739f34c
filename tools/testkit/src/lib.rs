//! Tools that tests and benchmarks of the whole farm share: hostile workers.
//!
//! The test `tests/network` runs the farm over a simulated network.
#![forbid(unsafe_code)]

pub mod hostile_worker;
