//! Proofs of loans: how a coordinator recognizes what it has lent without remembering it.
//!
//! ```text
//!   Loan   ──►  job, plan, range, lease, kind, owner  ──keyed hash──►  seal     (the key never leaves the farm)
//!   Report ──►  the same terms and the seal: the farm computes the seal again and compares
//! ```
//!
//! A report counts only for what was lent to its owner. Leases are not durable, so a restarted coordinator
//! does not know them; the proof comes back with every report, and the key is the same as before.

use std::fmt;

use crate::{Fingerprint, JobId, LeaseId, LoanKind, LoanProof, Range};

/// The secret with which a farm seals its loans. It belongs beside the ledger, and nowhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoanKey([u8; 32]);

/// To what a loan belongs.
#[derive(Clone, Copy, Debug)]
pub struct LoanTerms<'a> {
    /// The job.
    pub job: JobId,
    /// Its plan.
    pub plan: Fingerprint,
    /// The lending.
    pub lease: LeaseId,
    /// The owner of the credential to which it was lent.
    pub owner: &'a str,
}

impl LoanKey {
    /// The key with these bytes, which nobody else may know.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> LoanKey {
        LoanKey(bytes)
    }

    /// Seals a loan.
    #[must_use]
    pub fn prove(&self, terms: &LoanTerms<'_>, range: Range, kind: LoanKind) -> LoanProof {
        LoanProof { range, kind, seal: self.seal(terms, range, kind) }
    }

    /// Whether this farm has lent a range that includes `part` on these terms.
    #[must_use]
    pub fn recognizes(&self, proof: &LoanProof, terms: &LoanTerms<'_>, part: Range) -> bool {
        let is_part = proof.range.intersect(part) == Some(part);
        // Comparing hashes takes the same time wherever they differ.
        let given = blake3::Hash::from_bytes(padded(proof.seal));
        is_part
            && given == blake3::Hash::from_bytes(padded(self.seal(terms, proof.range, proof.kind)))
    }

    fn seal(&self, terms: &LoanTerms<'_>, range: Range, kind: LoanKind) -> [u8; 16] {
        let LoanTerms { job, plan, lease, owner } = *terms;
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"queens loan");
        hasher.update(&plan.0);
        for number in [job.0, lease.0, range.start(), range.end(), kind as u64] {
            hasher.update(&number.to_le_bytes());
        }
        // Last, because its length varies.
        hasher.update(owner.as_bytes());
        let hash = hasher.finalize();
        let (seal, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
        *seal
    }
}

fn padded(seal: [u8; 16]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&seal);
    bytes
}

impl fmt::Debug for LoanKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoanKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("not empty")
    }

    fn terms(owner: &str) -> LoanTerms<'_> {
        LoanTerms { job: JobId(3), plan: Fingerprint([7; 32]), lease: LeaseId(11), owner }
    }

    const KEY: LoanKey = LoanKey([1; 32]);

    #[test]
    fn a_loan_is_recognized_and_so_is_each_part_of_it() {
        let proof = KEY.prove(&terms("rack7"), range(10, 20), LoanKind::Count);
        for (start, end) in [(10, 20), (10, 11), (19, 20), (12, 15)] {
            assert!(KEY.recognizes(&proof, &terms("rack7"), range(start, end)));
        }
        for (start, end) in [(9, 20), (10, 21), (0, 5), (20, 21)] {
            assert!(!KEY.recognizes(&proof, &terms("rack7"), range(start, end)));
        }
    }

    #[test]
    fn whatever_is_changed_the_seal_breaks() {
        let lent = range(10, 20);
        let proof = KEY.prove(&terms("rack7"), lent, LoanKind::Count);
        let with = |change: fn(&mut LoanTerms<'_>)| {
            let mut terms = terms("rack7");
            change(&mut terms);
            KEY.recognizes(&proof, &terms, lent)
        };
        assert!(with(|_| ()));
        assert!(!with(|terms| terms.job = JobId(4)));
        assert!(!with(|terms| terms.lease = LeaseId(12)));
        assert!(!with(|terms| terms.plan = Fingerprint([8; 32])));
        assert!(!with(|terms| terms.owner = "rack8"));
        assert!(!with(|terms| terms.owner = ""));
        assert!(!LoanKey([2; 32]).recognizes(&proof, &terms("rack7"), lent));

        let wider = LoanProof { range: range(0, 30), ..proof };
        assert!(!KEY.recognizes(&wider, &terms("rack7"), lent));
        let recount = LoanProof { kind: LoanKind::Recount, ..proof };
        assert!(!KEY.recognizes(&recount, &terms("rack7"), lent));
        for bit in 0..128 {
            let mut forged = proof;
            forged.seal[bit / 8] ^= 1 << (bit % 8);
            assert!(!KEY.recognizes(&forged, &terms("rack7"), lent), "bit {bit}");
        }
    }
}
