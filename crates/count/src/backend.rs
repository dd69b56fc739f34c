//! Backends: the implementations of the counting loop. One is chosen once, as a value.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::engine::engine;

/// An implementation of the counting loop.
///
/// Every backend has its name on every processor, but a processor may lack it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The recursive definition. The other backends are many times faster, and are tested against
    /// it.
    Reference,
    /// Level buffers in plain Rust, for every processor.
    Portable,
    /// NEON, for every 64-bit ARM processor (AArch64). It has its own search of `colours`. Other
    /// searches are those of [`Portable`](Backend::Portable). It is tested under an emulator only.
    Neon,
    /// AVX2, for x86-64 processors since Haswell (2013) and Excavator (2015).
    Avx2,
    /// AVX-512 with the extensions of Ice Lake (2019) and Zen 4 (2022). Older processors with
    /// AVX-512 lack some of these extensions.
    Avx512,
}

impl Backend {
    /// Every backend, slowest first.
    pub const ALL: &[Backend] =
        &[Backend::Reference, Backend::Portable, Backend::Neon, Backend::Avx2, Backend::Avx512];

    /// The backends that this processor has, slowest first. There is always at least one.
    pub fn available() -> impl DoubleEndedIterator<Item = Backend> {
        Backend::ALL.iter().copied().filter(|backend| backend.is_available())
    }

    /// The fastest backend that this processor has.
    #[must_use]
    pub fn detect() -> Backend {
        Backend::available().next_back().expect("every processor has the portable backend")
    }

    /// Whether this processor has the backend.
    #[must_use]
    pub fn is_available(self) -> bool {
        engine(self, 0, 0).is_some()
    }

    /// Returns the backend if this processor has it.
    ///
    /// # Errors
    ///
    /// [`MissingBackend`] if the processor lacks the backend.
    pub fn require(self) -> Result<Backend, MissingBackend> {
        if self.is_available() { Ok(self) } else { Err(MissingBackend(self)) }
    }

    /// The name by which a person chooses the backend.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Reference => "reference",
            Backend::Portable => "portable",
            Backend::Neon => "neon",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error of a name that no backend has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("no backend is named {0:?}: give one of {here}", here = list(Backend::available()))]
pub struct UnknownBackend(pub String);

/// The error of a backend that this processor lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("this processor lacks what {0} needs: give one of {here}", here = list(Backend::available()))]
pub struct MissingBackend(pub Backend);

fn list(backends: impl Iterator<Item = Backend>) -> String {
    backends.map(Backend::name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    /// Reads a [`name`](Backend::name), even if this processor lacks the backend.
    fn from_str(name: &str) -> Result<Backend, UnknownBackend> {
        let named = Backend::ALL.iter().copied().find(|backend| backend.name() == name);
        named.ok_or_else(|| UnknownBackend(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_the_processor_has() {
        let here = list(Backend::available());
        let unknown = "avx9".parse::<Backend>().expect_err("is unknown");
        assert_eq!(
            unknown.to_string(),
            format!("no backend is named \"avx9\": give one of {here}")
        );
        assert_eq!(
            MissingBackend(Backend::Avx512).to_string(),
            format!("this processor lacks what avx512 needs: give one of {here}")
        );
    }

    #[test]
    fn what_is_available_is_granted_and_nothing_else() {
        for &backend in Backend::ALL {
            let is_available = Backend::available().any(|b| b == backend);
            let granted = is_available.then_some(backend).ok_or(MissingBackend(backend));
            assert_eq!(backend.require(), granted);
        }
        assert!(Backend::detect().is_available());
        assert_eq!(Backend::Neon.is_available(), cfg!(target_arch = "aarch64"));
        assert!(Backend::Reference.is_available() && Backend::Portable.is_available());
    }
}
