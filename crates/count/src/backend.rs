//! Which implementation of the counting loop is used: chosen once, as a value.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An implementation of the counting loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The recursive definition: the oracle, several times slower than the others.
    Reference,
    /// Level buffers in plain Rust, for every processor.
    Portable,
}

impl Backend {
    /// Every backend, slowest first.
    pub const ALL: [Backend; 2] = [Backend::Reference, Backend::Portable];

    /// The fastest backend that this processor has.
    #[must_use]
    pub fn detect() -> Backend {
        Backend::Portable
    }

    /// The name that a person chooses it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Reference => "reference",
            Backend::Portable => "portable",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of no backend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no backend is named {name:?}: give one of {}", Backend::ALL.map(Backend::name).join(", "))]
pub struct UnknownBackend {
    /// What was given.
    pub name: String,
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    /// Reads a [`name`](Backend::name).
    fn from_str(name: &str) -> Result<Backend, UnknownBackend> {
        Backend::ALL
            .into_iter()
            .find(|backend| backend.name() == name)
            .ok_or_else(|| UnknownBackend { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "avx9".parse::<Backend>().expect_err("is unknown");
        assert_eq!(
            error.to_string(),
            "no backend is named \"avx9\": give one of reference, portable"
        );
    }
}
