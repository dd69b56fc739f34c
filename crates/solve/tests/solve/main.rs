//! Whole placements: completed, listed and classified, against known counts and the definition.

mod complete;
mod listing;
#[cfg(feature = "serde")]
mod serde;
mod symmetry;
mod unique_jobs;
