//! The error of reading, checking and recounting a bundle.

use crate::format::VERSION;

/// A bundle that cannot be read or counted again, or that does not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct BundleError(#[from] anyhow::Error);

impl BundleError {
    /// Whether the bundle has a version that this program does not read. Then nothing is known
    /// about it.
    #[must_use]
    pub fn is_of_unknown_format(&self) -> bool {
        self.0.is::<UnknownFormat>()
    }
}

/// A bundle of another version.
#[derive(Debug, thiserror::Error)]
#[error(
    "its version is {0}, and this program reads version {VERSION}; use the version of the program \
     that wrote it"
)]
pub(crate) struct UnknownFormat(pub(crate) u32);
