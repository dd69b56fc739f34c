//! Measures where the time of tasks goes, and draws blocks that stand for all.

pub(crate) mod draws;
pub(crate) mod phases;
