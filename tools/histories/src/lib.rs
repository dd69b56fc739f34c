//! What simulations share that live through histories from seeds: chance ([`Random`]), runs of many seeds ([`run_all`]), and
//! tallies of what happened ([`tally!`], [`Both`]).
//!
//! It knows nothing of what is simulated.
#![forbid(unsafe_code)]

mod random;
mod seeds;
mod tally;

pub use random::{Random, mix};
pub use seeds::{number_from, run_all};
pub use tally::Both;
