//! Which versions of the worker's protocol a coordinator serves.
//!
//! ```text
//!   refused   oldest ── newest   refused
//!   ... 4  5  [  6  ]            7  8 ...
//! ```
//!
//! A worker says the newest version that it speaks ([`crate::v1::Hello::protocol`]), and the coordinator answers in that
//! one. So a coordinator is updated first, and its workers one after the other.

use std::fmt;

use crate::WireError;

/// A window of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    oldest: u32,
    newest: u32,
}

impl Protocols {
    /// What this program serves: the newest version, and the one before it as soon as that can be served safely.
    ///
    /// Version 6 is the first in which loans have proofs, without which no report counts. So version 5 cannot be
    /// served, and the window begins at 6. The next version leaves it there.
    pub const SERVED: Protocols = Protocols::new(6, 6);

    /// The window from `oldest` to `newest`.
    const fn new(oldest: u32, newest: u32) -> Protocols {
        assert!(oldest <= newest && newest <= oldest + 1, "one version or two");
        Protocols { oldest, newest }
    }

    /// The newest version, which workers of this program speak.
    #[must_use]
    pub const fn newest(self) -> u32 {
        self.newest
    }

    /// Admits a worker that speaks version `theirs`.
    ///
    /// # Errors
    ///
    /// [`WireError::Protocol`], if the window does not have this version.
    pub fn admit(self, theirs: u32) -> Result<(), WireError> {
        match (self.oldest..=self.newest).contains(&theirs) {
            true => Ok(()),
            false => Err(WireError::Protocol { theirs, served: self }),
        }
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Protocols { oldest, newest } = self;
        if oldest == newest {
            write!(f, "version {newest}")
        } else {
            write!(f, "versions {oldest} and {newest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_admits_its_versions_and_no_others() {
        let admitted = |oldest, newest| -> Vec<u32> {
            let window = Protocols::new(oldest, newest);
            (0..=20).chain([u32::MAX]).filter(|&theirs| window.admit(theirs).is_ok()).collect()
        };
        assert_eq!(admitted(7, 7), [7]);
        assert_eq!(admitted(7, 8), [7, 8]);
    }

    #[test]
    fn a_refusal_names_both_sides() {
        for (window, theirs, served) in [
            (Protocols::new(7, 7), 8, "the coordinator version 7"),
            (Protocols::new(7, 8), 6, "the coordinator versions 7 and 8"),
            (Protocols::new(7, 8), 9, "the coordinator versions 7 and 8"),
        ] {
            let refusal = window.admit(theirs).expect_err("it is outside").to_string();
            let worker = format!("the worker speaks version {theirs} of the protocol");
            assert!(refusal.contains(&worker) && refusal.contains(served), "{refusal}");
        }
    }
}
