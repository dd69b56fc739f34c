//! The algorithms of the sources, against known counts and each other.

mod classical;
mod forced;
mod states;
