//! Which accepted ranges of a job are counted again: by the hash of a seed, which a commitment binds and hides.

use std::fmt;

use plan::write_hexadecimal;

use crate::{Across, Fingerprint, Range};

/// Which accepted ranges of a job are counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPolicy {
    /// How many ranges of a million are chosen; [`AuditPolicy::ALL`] at most.
    pub share_ppm: u32,
    /// Decides which ranges are chosen. Nobody but its owner may know it while the job runs; afterwards
    /// everybody may.
    pub seed: u64,
    /// Random bits that hide the seed within its commitment: see [`AuditPolicy::commitment`].
    pub salt: u128,
    /// Whether to count them by searching where the method does not search.
    pub by_search: bool,
    /// Between whom the second opinion lies, in disputes about the job too.
    pub across: Across,
}

impl AuditPolicy {
    /// A share of all ranges.
    pub const ALL: u32 = 1_000_000;

    /// Whether it chooses nothing, so that it withdraws the audits before it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.share_ppm == 0
    }

    /// What is published when the audit is ordered: the BLAKE3 hash of the text
    ///
    /// ```text
    /// queens audit commitment; seed SEED; salt SALT
    /// ```
    ///
    /// with the seed in decimal and the salt in 32 hexadecimal digits. It binds the seed, so that nobody can
    /// choose another one once counts are known. The salt hides it: without its 128 random bits, which are
    /// drawn for each audit, nobody can try seeds out.
    #[must_use]
    pub fn commitment(&self) -> Commitment {
        let text = format!("queens audit commitment; seed {}; salt {:032x}", self.seed, self.salt);
        Commitment(*blake3::hash(text.as_bytes()).as_bytes())
    }

    /// Whether it promises at least what another one does, whatever their seeds.
    #[must_use]
    pub fn gives(&self, wanted: AuditPolicy) -> bool {
        let across = self.across == wanted.across || self.across == Across::Owners;
        self.share_ppm >= wanted.share_ppm && self.by_search >= wanted.by_search && across
    }

    /// Whether a range of the plan is one of them: by the hash of seed, plan and range.
    #[must_use]
    pub fn chooses(&self, plan: Fingerprint, range: Range) -> bool {
        let text = format!("queens audit; seed {}; plan {plan}; range {range}", self.seed);
        let hash = blake3::hash(text.as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        let of_a_million = (u128::from(u64::from_le_bytes(*first)) * u128::from(Self::ALL)) >> 64;
        of_a_million < self.share_ppm.into()
    }
}

/// The commitment to the seed of an audit: see [`AuditPolicy::commitment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commitment(pub [u8; 32]);

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hexadecimal(f, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_chooses_its_share_and_another_seed_others() {
        let plan = Fingerprint([1; 32]);
        let ranges = || (0..20_000).map(|i| Range::new(i, i + 1).expect("not empty"));
        let chosen = |share_ppm, seed| {
            let across = Across::Machines;
            let policy = AuditPolicy { share_ppm, seed, salt: 0, by_search: false, across };
            ranges().filter(|&range| policy.chooses(plan, range)).collect::<Vec<_>>()
        };
        assert_eq!(chosen(AuditPolicy::ALL, 1).len(), 20_000);
        assert_eq!(chosen(0, 1).len(), 0);
        let two_percent = chosen(20_000, 1);
        assert!((300..500).contains(&two_percent.len()), "{}", two_percent.len());
        assert_ne!(chosen(20_000, 2), two_percent);
    }

    /// Strangers check bundles by it.
    #[test]
    fn a_commitment_stays_what_it_was_and_depends_on_seed_and_salt() {
        let of = |seed, salt| {
            let (by_search, across) = (false, Across::Machines);
            let policy = AuditPolicy { share_ppm: 1, seed, salt, by_search, across };
            policy.commitment().to_string()
        };
        assert_eq!(of(42, 7), "353ded463f06c7cd33a5c4af85697930d0ee84d0924634b8a3592b8651fe4907");
        assert_ne!(of(42, 8), of(42, 7));
        assert_ne!(of(43, 7), of(42, 7));
    }
}
