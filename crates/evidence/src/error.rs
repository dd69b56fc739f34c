//! Why a bundle does not hold.

use board::CutError;
use count::CountError;
use executor::TooLittleMemory;

/// A bundle that cannot be read, or that contradicts itself.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct BundleError(#[from] anyhow::Error);

/// Why ranges of a bundle were not counted again with the same result.
#[derive(Debug, thiserror::Error)]
pub enum RecountError {
    /// The plan cannot be cut here.
    #[error(transparent)]
    Plan(#[from] CutError),
    /// Not even one thread can count it.
    #[error(transparent)]
    Memory(#[from] TooLittleMemory),
    /// A task cannot be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// A range is counted differently here.
    #[error("{0}")]
    Differs(String),
}
