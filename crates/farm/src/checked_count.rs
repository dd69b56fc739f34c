//! The count of a range in three forms that do not fail alike: a sum, a residue and a digest.

use std::fmt;
use std::num::TryFromIntError;
use std::str::FromStr;

use crate::Fingerprint;

/// A Mersenne prime: 2^64 leaves 8, so that a sum that wrapped has another residue.
const MODULUS: u64 = (1 << 61) - 1;

/// The counts of some tasks: their sum, their sum modulo 2^61 - 1 accumulated independently, and a
/// digest of every single count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedCount {
    /// Sum of weight x count.
    pub count: u64,
    /// Sum of weight x count modulo 2^61 - 1, accumulated independently.
    pub residue: u64,
    /// Hash over (ordinal, count) pairs.
    pub digest: Digest,
}

impl CheckedCount {
    /// The checked count of no tasks.
    pub const EMPTY: CheckedCount = CheckedCount { count: 0, residue: 0, digest: Digest(0) };

    /// Adds one more task of the plan, where `count` is weight x count. `None` if the sum passes
    /// 2^64 - 1.
    #[must_use]
    pub fn with(self, plan: Fingerprint, ordinal: u64, count: u64) -> Option<CheckedCount> {
        self.join(CheckedCount {
            count,
            residue: count % MODULUS,
            digest: Digest::of(plan, ordinal, count),
        })
    }

    /// The checked count of the tasks of both. `None` if the sum of counts or residues passes
    /// 2^64 - 1.
    #[must_use]
    pub fn join(self, other: CheckedCount) -> Option<CheckedCount> {
        Some(CheckedCount {
            count: self.count.checked_add(other.count)?,
            residue: self.residue.checked_add(other.residue)? % MODULUS,
            digest: self.digest.join(other.digest),
        })
    }

    /// Whether the sum and its residue agree. If they do not, one of them was altered.
    #[must_use]
    pub fn is_sound(self) -> bool {
        self.count % MODULUS == self.residue
    }

    /// What is compared with other counts of the range.
    pub fn result(self) -> CountResult {
        CountResult { count: self.count.into(), digest: self.digest }
    }
}

/// Hash over (ordinal, count) pairs: the sum, modulo 2^128, of a hash for each task, half of the
/// BLAKE3 of plan, ordinal and count. It does not depend on how the tasks were cut into ranges, and
/// neighbours' digests add up.
///
/// It distinguishes two honest counts of a range, even if errors in their sums cancel. It is no
/// signature: from the counts of many tasks, other counts with the same digest can be computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

impl Digest {
    /// The digest of one task.
    pub fn of(plan: Fingerprint, ordinal: u64, count: u64) -> Digest {
        let mut text = [0; 48];
        text[..32].copy_from_slice(&plan.0);
        text[32..40].copy_from_slice(&ordinal.to_le_bytes());
        text[40..].copy_from_slice(&count.to_le_bytes());
        let hash = blake3::hash(&text);
        let (half, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        Digest(u128::from_le_bytes(*half))
    }

    /// The digest of the tasks of both.
    #[must_use]
    pub fn join(self, other: Digest) -> Digest {
        Digest(self.0.wrapping_add(other.0))
    }
}

/// Fails if the count passes 2^64 - 1. The residue is that of the count: what was a result has lost
/// the one that was accumulated independently.
impl TryFrom<CountResult> for CheckedCount {
    type Error = TryFromIntError;

    fn try_from(result: CountResult) -> Result<CheckedCount, TryFromIntError> {
        let count = u64::try_from(result.count)?;
        Ok(CheckedCount { count, residue: count % MODULUS, digest: result.digest })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Digest, Self::Err> {
        u128::from_str_radix(text, 16).map(Digest)
    }
}

/// What a row, or several rows together, say about a range: the sum and the digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountResult {
    /// Sum of weight x count.
    pub count: u128,
    /// Hash over (ordinal, count) pairs.
    pub digest: Digest,
}

impl CountResult {
    /// The result of the tasks of both. `None` if the sum passes 2^128 - 1.
    #[must_use]
    pub fn join(self, other: CountResult) -> Option<CountResult> {
        let count = self.count.checked_add(other.count)?;
        Some(CountResult { count, digest: self.digest.join(other.digest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Fingerprint = Fingerprint([7; 32]);

    fn checked_count(counts: impl IntoIterator<Item = (u64, u64)>) -> CheckedCount {
        let mut counts = counts.into_iter();
        let add = |checked_count: CheckedCount, (ordinal, count)| {
            checked_count.with(PLAN, ordinal, count)
        };
        counts.try_fold(CheckedCount::EMPTY, add).expect("it is small")
    }

    #[test]
    fn neighbours_add_up_however_they_are_cut() {
        let whole = checked_count([(3, 10), (4, 0), (5, 7)]);
        assert_eq!((whole.count, whole.is_sound()), (17, true));
        assert_eq!(checked_count([(3, 10)]).join(checked_count([(4, 0), (5, 7)])), Some(whole));
        assert_eq!(checked_count([(5, 7), (3, 10)]).join(checked_count([(4, 0)])), Some(whole));
    }

    #[test]
    fn errors_that_cancel_in_the_sum_do_not_in_the_digest() {
        let (right, wrong) = (checked_count([(3, 10), (4, 8)]), checked_count([(3, 11), (4, 7)]));
        assert_eq!(right.count, wrong.count);
        assert_ne!(right.result(), wrong.result());
        assert_ne!(checked_count([(3, 10)]).digest, checked_count([(4, 10)]).digest);
    }

    #[test]
    fn a_sum_that_was_altered_is_not_sound() {
        let checked_count = checked_count([(0, MODULUS - 1), (1, 5), (2, u64::MAX / 2)]);
        assert!(checked_count.is_sound());
        for bit in 0..64 {
            assert!(
                !CheckedCount { count: checked_count.count ^ 1 << bit, ..checked_count }.is_sound(),
                "bit {bit}"
            );
        }
        assert_eq!(checked_count.with(PLAN, 3, u64::MAX), None);
    }

    /// Existing ledgers and bundles hold such digests.
    #[test]
    fn a_digest_stays_what_it_was() {
        let digest = checked_count([(3, 10), (4, 8)]).digest;
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string(), "72f8a79626425621f8eff7adb6e9d54a");
    }
}
