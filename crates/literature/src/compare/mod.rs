//! Compares all algorithms and methods on the same boards, with one thread each.

mod algorithm;
mod measure;

pub use algorithm::{Algorithm, Found, Why};
pub use measure::{Contest, Disagreement, Line, Measured, agreed};
