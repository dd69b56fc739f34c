//! Lease tokens: how a coordinator recognizes what it has leased without remembering it.
//!
//! ```text
//!   Lease   ──►  job, plan, range, lease, kind, owner  ──keyed hash──►  mac     (the key never leaves the farm)
//!   Report ──►  the same terms and the mac: the farm computes the mac again and compares
//! ```
//!
//! A report counts only for what was leased to its owner. Leases are not durable, so a restarted
//! coordinator does not know them; the token comes back with every report, and the key is the same
//! as before.

use std::fmt;

use crate::{Holding, Range};

/// What a lease is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseKind {
    /// A first count.
    Count,
    /// Another count of accepted ordinals, for an audit or a dispute. It must come back as a whole.
    Recount,
}

/// What a worker was leased, and the farm's MAC of it. A worker sends it with every report and
/// holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken {
    /// The whole range that was leased.
    pub range: Range,
    /// What for.
    pub kind: LeaseKind,
    /// Keyed hash over the terms of the lease.
    pub mac: [u8; 16],
}

impl LeaseToken {
    /// Bytes of a token in a message.
    pub const LEN: usize = 33;

    /// Whether it is that of a recount.
    pub fn is_recount(&self) -> bool {
        self.kind == LeaseKind::Recount
    }

    /// The token as it is sent: start, end, kind and mac, numbers lowest byte first.
    pub fn to_bytes(&self) -> [u8; LeaseToken::LEN] {
        let mut bytes = [0; LeaseToken::LEN];
        bytes[..8].copy_from_slice(&self.range.start().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.range.end().to_le_bytes());
        bytes[16] = self.kind as u8;
        bytes[17..].copy_from_slice(&self.mac);
        bytes
    }

    /// The token that was sent as these bytes, if it was one.
    pub fn from_bytes(bytes: [u8; LeaseToken::LEN]) -> Option<LeaseToken> {
        let number = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("these are eight bytes"))
        };
        let kind = match bytes[16] {
            0 => LeaseKind::Count,
            1 => LeaseKind::Recount,
            _ => return None,
        };
        let mac = bytes[17..].try_into().expect("these are sixteen bytes");
        Some(LeaseToken { range: Range::new(number(0), number(8))?, kind, mac })
    }
}

/// The secret with which a farm signs its leases. It belongs beside the ledger, and nowhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseKey([u8; 32]);

impl LeaseKey {
    /// The key with these bytes, which nobody else may know.
    pub const fn new(bytes: [u8; 32]) -> LeaseKey {
        LeaseKey(bytes)
    }

    /// Signs a lease to this owner. What its token says of the range and of its kind holds for the
    /// whole lease.
    pub fn sign(&self, lease: &Holding, owner: &str) -> LeaseToken {
        LeaseToken { mac: self.mac(lease, owner), ..lease.token }
    }

    /// Whether this farm has leased to this owner what it holds, as it says.
    #[must_use]
    pub fn recognizes(&self, held: &Holding, owner: &str) -> bool {
        let is_part = held.token.range.intersect(held.range) == Some(held.range);
        // Comparing hashes takes the same time wherever they differ.
        let given = blake3::Hash::from_bytes(padded(held.token.mac));
        is_part && given == blake3::Hash::from_bytes(padded(self.mac(held, owner)))
    }

    fn mac(&self, held: &Holding, owner: &str) -> [u8; 16] {
        let Holding { lease, job, fingerprint, token: LeaseToken { range, kind, .. }, .. } = *held;
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"queens lease");
        hasher.update(&fingerprint.0);
        for number in [job.0, lease.0, range.start(), range.end(), kind as u64] {
            hasher.update(&number.to_le_bytes());
        }
        // Last, because its length varies.
        hasher.update(owner.as_bytes());
        let hash = hasher.finalize();
        let (mac, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        *mac
    }
}

fn padded(mac: [u8; 16]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&mac);
    bytes
}

impl fmt::Debug for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprint, JobId, LeaseId};

    const KEY: LeaseKey = LeaseKey([1; 32]);
    const OWNER: &str = "rack7";

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("not empty")
    }

    /// A lease of `[10, 20)` to `OWNER`.
    fn leased() -> Holding {
        let range = range(10, 20);
        let mut leased = Holding {
            lease: LeaseId(11),
            job: JobId(3),
            fingerprint: Fingerprint([7; 32]),
            range,
            token: LeaseToken { range, kind: LeaseKind::Count, mac: [0; 16] },
        };
        leased.token = KEY.sign(&leased, OWNER);
        leased
    }

    #[test]
    fn a_token_comes_back_as_it_was_sent() {
        for kind in [LeaseKind::Count, LeaseKind::Recount] {
            let range = Range::new(10, u64::MAX).expect("not empty");
            let token = LeaseToken { range, kind, mac: [7; 16] };
            assert_eq!(LeaseToken::from_bytes(token.to_bytes()), Some(token));
        }
        assert_eq!(LeaseToken::from_bytes([0; LeaseToken::LEN]), None);
        assert_eq!(LeaseToken::from_bytes([255; LeaseToken::LEN]), None);
    }

    #[test]
    fn a_lease_is_recognized_and_so_is_each_part_of_it() {
        let recognizes =
            |(start, end)| KEY.recognizes(&Holding { range: range(start, end), ..leased() }, OWNER);
        for part in [(10, 20), (10, 11), (19, 20), (12, 15)] {
            assert!(recognizes(part), "{part:?}");
        }
        for other in [(9, 20), (10, 21), (0, 5), (20, 21)] {
            assert!(!recognizes(other), "{other:?}");
        }
    }

    #[test]
    fn whatever_is_changed_the_seal_breaks() {
        let with = |change: fn(&mut Holding)| {
            let mut held = leased();
            change(&mut held);
            KEY.recognizes(&held, OWNER)
        };
        assert!(with(|_| ()));
        assert!(!with(|held| held.job = JobId(4)));
        assert!(!with(|held| held.lease = LeaseId(12)));
        assert!(!with(|held| held.fingerprint = Fingerprint([8; 32])));
        assert!(!with(|held| held.token.range = range(0, 30)));
        assert!(!with(|held| held.token.kind = LeaseKind::Recount));
        assert!(!KEY.recognizes(&leased(), "rack8") && !KEY.recognizes(&leased(), ""));
        assert!(!LeaseKey([2; 32]).recognizes(&leased(), OWNER));
        for bit in 0..128 {
            let mut forged = leased();
            forged.token.mac[bit / 8] ^= 1 << (bit % 8);
            assert!(!KEY.recognizes(&forged, OWNER), "bit {bit}");
        }
    }
}
