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

use crate::{Fingerprint, JobId, LeaseId, LeaseKind, LeaseToken, Range};

/// The secret with which a farm signs its leases. It belongs beside the ledger, and nowhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseKey([u8; 32]);

/// To what a lease belongs.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTerms<'a> {
    /// The job.
    pub job: JobId,
    /// Its plan.
    pub plan: Fingerprint,
    /// The lease.
    pub lease: LeaseId,
    /// The owner of the credential to which it was leased.
    pub owner: &'a str,
}

impl LeaseKey {
    /// The key with these bytes, which nobody else may know.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> LeaseKey {
        LeaseKey(bytes)
    }

    /// Signs a lease.
    #[must_use]
    pub fn sign(&self, terms: &LeaseTerms<'_>, range: Range, kind: LeaseKind) -> LeaseToken {
        LeaseToken { range, kind, mac: self.mac(terms, range, kind) }
    }

    /// Whether this farm has leased a range that includes `part` on these terms.
    #[must_use]
    pub fn recognizes(&self, token: &LeaseToken, terms: &LeaseTerms<'_>, part: Range) -> bool {
        let is_part = token.range.intersect(part) == Some(part);
        // Comparing hashes takes the same time wherever they differ.
        let given = blake3::Hash::from_bytes(padded(token.mac));
        is_part
            && given == blake3::Hash::from_bytes(padded(self.mac(terms, token.range, token.kind)))
    }

    fn mac(&self, terms: &LeaseTerms<'_>, range: Range, kind: LeaseKind) -> [u8; 16] {
        let LeaseTerms { job, plan, lease, owner } = *terms;
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"queens lease");
        hasher.update(&plan.0);
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

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("not empty")
    }

    fn terms(owner: &str) -> LeaseTerms<'_> {
        LeaseTerms { job: JobId(3), plan: Fingerprint([7; 32]), lease: LeaseId(11), owner }
    }

    const KEY: LeaseKey = LeaseKey([1; 32]);

    #[test]
    fn a_lease_is_recognized_and_so_is_each_part_of_it() {
        let token = KEY.sign(&terms("rack7"), range(10, 20), LeaseKind::Count);
        for (start, end) in [(10, 20), (10, 11), (19, 20), (12, 15)] {
            assert!(KEY.recognizes(&token, &terms("rack7"), range(start, end)));
        }
        for (start, end) in [(9, 20), (10, 21), (0, 5), (20, 21)] {
            assert!(!KEY.recognizes(&token, &terms("rack7"), range(start, end)));
        }
    }

    #[test]
    fn whatever_is_changed_the_seal_breaks() {
        let leased = range(10, 20);
        let token = KEY.sign(&terms("rack7"), leased, LeaseKind::Count);
        let with = |change: fn(&mut LeaseTerms<'_>)| {
            let mut terms = terms("rack7");
            change(&mut terms);
            KEY.recognizes(&token, &terms, leased)
        };
        assert!(with(|_| ()));
        assert!(!with(|terms| terms.job = JobId(4)));
        assert!(!with(|terms| terms.lease = LeaseId(12)));
        assert!(!with(|terms| terms.plan = Fingerprint([8; 32])));
        assert!(!with(|terms| terms.owner = "rack8"));
        assert!(!with(|terms| terms.owner = ""));
        assert!(!LeaseKey([2; 32]).recognizes(&token, &terms("rack7"), leased));

        let wider = LeaseToken { range: range(0, 30), ..token };
        assert!(!KEY.recognizes(&wider, &terms("rack7"), leased));
        let recount = LeaseToken { kind: LeaseKind::Recount, ..token };
        assert!(!KEY.recognizes(&recount, &terms("rack7"), leased));
        for bit in 0..128 {
            let mut forged = token;
            forged.mac[bit / 8] ^= 1 << (bit % 8);
            assert!(!KEY.recognizes(&forged, &terms("rack7"), leased), "bit {bit}");
        }
    }
}
