//! The errors of reading, checking and recounting a bundle.

use board::CutError;
use count::CountError;
use executor::TooLittleMemory;

use crate::verdict::TooFar;

/// A bundle that cannot be read, or that contradicts itself.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct BundleError(#[from] anyhow::Error);

/// Why ranges of a bundle were not counted again with the same result.
#[derive(Debug, thiserror::Error)]
pub enum RecountError {
    /// The boards cannot be cut so.
    #[error(transparent)]
    Cut(#[from] CutError),
    /// The memory is too small for even one thread.
    #[error(transparent)]
    Memory(#[from] TooLittleMemory),
    /// A task cannot be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The count of a range here differs from the bundle's.
    #[error("{0}")]
    Differs(String),
    /// The counts of pieces of ranges do not go together with the total.
    #[error(transparent)]
    TooFar(#[from] TooFar),
}
