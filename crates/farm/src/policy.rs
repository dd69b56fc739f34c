//! Which accepted ranges of a job are counted again: by the hash of a secret seed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::share;
use crate::{AuditScope, Fingerprint, Range};

/// Which accepted ranges of a job are counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPolicy {
    /// How many ranges of a million are chosen; [`AuditPolicy::ALL`] at most. JSON has a share,
    /// from 0 to 1.
    #[serde(rename = "share", with = "share")]
    #[schema(value_type = f64, minimum = 0, maximum = 1)]
    pub share_ppm: u32,
    /// Decides which ranges are chosen. It stays with the farm and its ledger, because it shows
    /// which ranges are not checked.
    #[serde(skip)]
    pub seed: u64,
    /// Whether to count them by the reference if the method is `colours`.
    pub by_reference: bool,
    /// What must differ between a count and a second opinion about it, also in disputes about the
    /// job.
    pub across: AuditScope,
}

impl AuditPolicy {
    /// A share of all ranges.
    pub const ALL: u32 = 1_000_000;

    /// Whether it chooses nothing, so that it withdraws the audits before it.
    pub fn is_none(&self) -> bool {
        self.share_ppm == 0
    }

    /// Whether it promises at least what another one does, whatever their seeds.
    #[must_use]
    pub fn gives(&self, wanted: AuditPolicy) -> bool {
        self.share_ppm >= wanted.share_ppm
            && self.by_reference >= wanted.by_reference
            && self.across >= wanted.across
    }

    /// Whether the policy chooses this range of the plan, by the hash of seed, plan and range.
    pub fn chooses(&self, plan: Fingerprint, range: Range) -> bool {
        let text = format!("queens audit; seed {}; plan {plan}; range {range}", self.seed);
        let hash = blake3::hash(text.as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        let of_a_million = (u128::from(u64::from_le_bytes(*first)) * u128::from(Self::ALL)) >> 64;
        of_a_million < self.share_ppm.into()
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
            let across = AuditScope::Machines;
            let policy = AuditPolicy { share_ppm, seed, by_reference: false, across };
            ranges().filter(|&range| policy.chooses(plan, range)).collect::<Vec<_>>()
        };
        assert_eq!(chosen(AuditPolicy::ALL, 1).len(), 20_000);
        assert_eq!(chosen(0, 1).len(), 0);
        let two_percent = chosen(20_000, 1);
        assert!((300..500).contains(&two_percent.len()), "{}", two_percent.len());
        assert_ne!(chosen(20_000, 2), two_percent);
    }
}
