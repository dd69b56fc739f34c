//! NEON: the right to execute its instructions. The search of `colours` has its own vectors.

use std::arch::is_aarch64_feature_detected;

/// The right to execute these instructions.
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    /// `None` if the processor lacks the instructions. Every processor that runs an operating
    /// system has them.
    pub(crate) fn new() -> Option<Neon> {
        is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}
