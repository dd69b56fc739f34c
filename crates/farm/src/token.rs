//! Lease tokens: how a coordinator recognizes what it has leased without remembering it.
//!
//! ```text
//!   Lease   ──►  job, plan, range, lease, kind, owner  ──keyed hash──►  mac     (the key never leaves the farm)
//!   Report ──►  the same terms and the mac: the farm computes the mac again and compares
//! ```
//!
//! A report counts only for what was leased to its owner. Leases are not durable, so a restarted coordinator
//! does not know them; the token comes back with every report, and the key is the same as before.

use std::fmt;

use crate::{Holding, LeaseToken};

/// The secret with which a farm signs its leases. It belongs beside the ledger, and nowhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseKey([u8; 32]);

impl LeaseKey {
    /// The key with these bytes, which nobody else may know.
    pub const fn new(bytes: [u8; 32]) -> LeaseKey {
        LeaseKey(bytes)
    }

    /// Signs a lease to this owner. What its token says of the range and of its kind holds for the whole lease.
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
    use crate::{Fingerprint, JobId, LeaseId, LeaseKind, Range};

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
