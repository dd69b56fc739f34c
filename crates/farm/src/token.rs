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

/// What a worker was leased, and the bytes that prove it. A worker sends them with every report and
/// holding. Only the farm that signed them reads them; a worker takes the terms from its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken {
    /// The whole range that was leased.
    pub range: Range,
    /// What for.
    pub kind: LeaseKind,
    /// The token as it is sent. Of this farm's tokens, they are start, end and kind, and a keyed
    /// hash over the terms of the lease; numbers have their lowest byte first.
    pub bytes: [u8; LeaseToken::LEN],
}

impl LeaseToken {
    /// Bytes of a token in a message.
    pub const LEN: usize = 33;

    /// A token of this farm's form.
    pub fn new(range: Range, kind: LeaseKind, mac: [u8; 16]) -> LeaseToken {
        let mut bytes = [0; LeaseToken::LEN];
        bytes[..8].copy_from_slice(&range.start().to_le_bytes());
        bytes[8..16].copy_from_slice(&range.end().to_le_bytes());
        bytes[16] = kind as u8;
        bytes[17..].copy_from_slice(&mac);
        LeaseToken { range, kind, bytes }
    }

    /// The token that came with a message about this part of a lease. If another program made it,
    /// it may have any form: it is then taken for one of the part, and [`LeaseKey::recognizes`] it
    /// as little as a forged one.
    pub fn of_part(part: Range, bytes: [u8; LeaseToken::LEN]) -> LeaseToken {
        let number = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("these are eight bytes"))
        };
        let range = Range::new(number(0), number(8)).unwrap_or(part);
        let kind = if bytes[16] == 1 { LeaseKind::Recount } else { LeaseKind::Count };
        LeaseToken { range, kind, bytes }
    }

    /// Whether it is that of a recount.
    pub fn is_recount(&self) -> bool {
        self.kind == LeaseKind::Recount
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
        LeaseToken::new(lease.token.range, lease.token.kind, self.mac(lease, owner))
    }

    /// Whether this farm has leased to this owner what it holds, as it says.
    #[must_use]
    pub fn recognizes(&self, held: &Holding, owner: &str) -> bool {
        let is_part = held.token.range.intersect(held.range) == Some(held.range);
        // Comparing hashes takes the same time wherever they differ.
        let signed = blake3::hash(&self.sign(held, owner).bytes);
        is_part && signed == blake3::hash(&held.token.bytes)
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
            token: LeaseToken::new(range, LeaseKind::Count, [0; 16]),
        };
        leased.token = KEY.sign(&leased, OWNER);
        leased
    }

    #[test]
    fn a_token_comes_back_as_it_was_sent() {
        let part = range(11, 12);
        for kind in [LeaseKind::Count, LeaseKind::Recount] {
            let token = LeaseToken::new(range(10, u64::MAX), kind, [7; 16]);
            assert_eq!(LeaseToken::of_part(part, token.bytes), token);
        }
    }

    #[test]
    fn a_token_of_another_program_is_recognized_by_nobody() {
        let leased = leased();
        for bytes in [[0; LeaseToken::LEN], [255; LeaseToken::LEN], [1; LeaseToken::LEN]] {
            let token = LeaseToken::of_part(leased.range, bytes);
            assert_eq!(token.bytes, bytes);
            assert!(!KEY.recognizes(&Holding { token, ..leased }, OWNER));
        }
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
        for bit in 0..8 * LeaseToken::LEN {
            let mut forged = leased();
            forged.token.bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!KEY.recognizes(&forged, OWNER), "bit {bit}");
        }
    }
}
