//! Audits that a public random value decides, so that nobody has to believe that a seed was drawn at random.
//!
//! ```text
//!   rows of a job that is done ──► root, which is published
//!                                    │     later, a value that nobody could know: a beacon's
//!                                    └──────► seed ──► which ranges are counted again
//! ```
//!
//! Whoever commits to counts and then draws cannot change a count once it is known which ones are looked at, and cannot
//! choose a draw once counts are known.

use std::fmt;
use std::str::FromStr;

use arrayvec::ArrayString;

use crate::{Claim, Fingerprint, Merkle, Range, hexadecimal};

/// The root over the accepted rows of a job: who has published it cannot exchange one of them unseen.
///
/// It is that of a [`Merkle`] tree whose leaves are these texts, in ascending order of the ranges:
///
/// ```text
/// queens row; plan FINGERPRINT; range [FIRST, PAST); count COUNT; digest DIGEST
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowsRoot(pub [u8; 32]);

impl fmt::Display for RowsRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal::write(f, &self.0)
    }
}

impl FromStr for RowsRoot {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<RowsRoot, hex::FromHexError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(RowsRoot(bytes))
    }
}

/// The tree of a [`RowsRoot`], to which rows are added.
#[derive(Debug)]
pub struct RowsTree {
    plan: Fingerprint,
    tree: Merkle,
}

impl RowsTree {
    /// Without rows, for a job that counts this plan.
    #[must_use]
    pub fn new(plan: Fingerprint) -> RowsTree {
        RowsTree { plan, tree: Merkle::default() }
    }

    /// Adds the next row.
    pub fn add(&mut self, range: Range, Claim { count, digest }: Claim) {
        let plan = self.plan;
        let text =
            format!("queens row; plan {plan}; range {range}; count {count}; digest {digest}");
        self.tree.add(text.as_bytes());
    }

    /// The root over all rows so far.
    #[must_use]
    pub fn root(&self) -> RowsRoot {
        RowsRoot(*self.tree.root().as_bytes())
    }
}

/// A public random value: 1 to 128 visible characters of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconValue(ArrayString<128>);

/// A text is no value of a beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of a beacon is 1 to 128 visible ASCII characters, without spaces")]
pub struct NoBeaconValue;

impl FromStr for BeaconValue {
    type Err = NoBeaconValue;

    fn from_str(text: &str) -> Result<BeaconValue, NoBeaconValue> {
        let is_visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let value = ArrayString::from(text).ok().filter(|_| is_visible);
        value.map(BeaconValue).ok_or(NoBeaconValue)
    }
}

impl BeaconValue {
    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BeaconValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A public random value, and the root of the rows that were committed to before it was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// What was committed to.
    pub root: RowsRoot,
    /// What the beacon said afterwards.
    pub value: BeaconValue,
}

impl Beacon {
    /// The seed of the audit, below 2^63: the first 8 bytes, little-endian, of the BLAKE3 hash of the text
    ///
    /// ```text
    /// queens beacon; rows ROOT; value VALUE
    /// ```
    ///
    /// modulo 2^63. It depends on the root, so that nobody can know what a value would draw from other rows.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let Beacon { root, value } = self;
        let hash = blake3::hash(format!("queens beacon; rows {root}; value {value}").as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        u64::from_le_bytes(*first) % (1 << 63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Method, Plan, Problem};

    fn beacon(root: u8, value: &str) -> Beacon {
        Beacon { root: RowsRoot([root; 32]), value: value.parse().expect("it is visible") }
    }

    /// Strangers check bundles by it.
    #[test]
    fn a_seed_stays_what_it_was_and_depends_on_rows_and_value() {
        assert_eq!(beacon(1, "4f2c9a71").seed(), 7_218_205_246_775_926_539);
        assert_ne!(beacon(1, "4f2c9a72").seed(), beacon(1, "4f2c9a71").seed());
        assert_ne!(beacon(2, "4f2c9a71").seed(), beacon(1, "4f2c9a71").seed());
    }

    #[test]
    fn a_root_depends_on_everything_that_rows_say() {
        let plan = |tasks| {
            Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks }.fingerprint()
        };
        let root = |plan, rows: &[(u64, u64, u128, u128)]| {
            let mut tree = RowsTree::new(plan);
            for &(first, past, count, digest) in rows {
                let range = Range::new(first, past).expect("not empty");
                tree.add(range, Claim { count, digest: Digest(digest) });
            }
            tree.root()
        };
        let rows = [(0, 3, 7, 5), (3, 4, 2, 9)];
        let others = [
            root(plan(9), &rows),
            root(plan(8), &rows[..1]),
            root(plan(8), &[rows[1], rows[0]]),
            root(plan(8), &[(0, 2, 7, 5), rows[1]]),
            root(plan(8), &[(1, 3, 7, 5), rows[1]]),
            root(plan(8), &[(0, 3, 8, 5), rows[1]]),
            root(plan(8), &[(0, 3, 7, 6), rows[1]]),
        ];
        let whole = root(plan(8), &rows);
        assert!(!others.contains(&whole));
        assert_eq!(whole.to_string().parse(), Ok(whole));
    }

    #[test]
    fn values_are_visible_characters() {
        let longest = "z".repeat(128);
        for value in ["0", "!~", &longest] {
            assert_eq!(value.parse::<BeaconValue>().map(|it| it.to_string()), Ok(value.into()));
        }
        for text in ["", " ", "a b", "a\n", "ä", "\u{7f}", &"z".repeat(129)] {
            assert_eq!(text.parse::<BeaconValue>(), Err(NoBeaconValue), "{text:?}");
        }
    }
}
