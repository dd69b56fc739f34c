//! Every algorithm and method by one thread on the same boards.

mod algorithm;
mod measure;

pub use algorithm::{Algorithm, Found, Why};
pub use measure::{Contest, ContestError, Line, Outcome};
