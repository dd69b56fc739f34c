//! Tests that several crates share: [`conformance`], which every store of rows must pass.
//!
//! `tests/simulation` runs the farm's core over stores of rows.
#![forbid(unsafe_code)]

pub mod conformance;
