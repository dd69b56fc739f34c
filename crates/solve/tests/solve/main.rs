//! Tests of whole placements: they are completed, listed and classified, and compared with known
//! counts and the definition.

mod complete;
mod listing;
mod notations;
mod symmetry;
mod unique_jobs;
