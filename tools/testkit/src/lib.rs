//! What tests of several crates share.
//!
//! [`conformance`] is what every store of rows must pass. The simulation of the whole farm, which runs over
//! these stores, is in `tests/simulation`.
#![forbid(unsafe_code)]

pub mod conformance;
