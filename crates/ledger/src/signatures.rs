//! The signatures of a row as bytes.
//!
//! ```text
//!   one      signature                                   64 bytes: what it signs is the row itself
//!   several  past | count | digest | signature, ...      96 bytes each; numbers lowest byte first
//! ```
//!
//! Several tile the row in ascending order.

use farm::{Digest, Range, Signature, Signatures, SignedPart, Tally};

/// Bytes of a signature.
const ONE: usize = 64;

/// Bytes of one of several signatures, with what it signs.
const EACH: usize = 32 + ONE;

pub(super) fn to_bytes(signatures: &Signatures) -> Vec<u8> {
    if let [part] = signatures.parts.as_slice() {
        return part.signature.0.to_vec();
    }
    let each = |part: &SignedPart| {
        let SignedPart { range, count, digest, signature } = part;
        let numbers = [range.end().to_le_bytes(), count.to_le_bytes()].concat();
        [&numbers[..], &digest.0.to_le_bytes(), &signature.0].concat()
    };
    signatures.parts.iter().flat_map(each).collect()
}

/// What the bytes say about a row with this range and tally; `None` if they are no signatures.
pub(super) fn from_bytes(bytes: &[u8], range: Range, tally: Tally) -> Option<Vec<SignedPart>> {
    if let Ok(signature) = bytes.try_into() {
        let Tally { count, digest, .. } = tally;
        return Some(vec![SignedPart { range, count, digest, signature: Signature(signature) }]);
    }
    let (all, rest) = bytes.as_chunks::<EACH>();
    let mut first = range.start();
    let each = |bytes: &[u8; EACH]| {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let digest = u128::from_le_bytes(bytes[16..32].try_into().expect("sixteen"));
        let signature = bytes[32..].try_into().expect("sixty-four");
        let range = Range::new(std::mem::replace(&mut first, number(0)), number(0))?;
        let (count, digest) = (number(8), Digest(digest));
        Some(SignedPart { range, count, digest, signature: Signature(signature) })
    };
    let parts: Option<Vec<SignedPart>> = all.iter().map(each).collect();
    parts.filter(|parts| rest.is_empty() && !parts.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farm::{JobId, LedgerId, LoanKind, PublicKey, Signer};

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("not empty")
    }

    fn part(start: u64, end: u64, byte: u8) -> SignedPart {
        let (count, digest) = (u64::from(byte), Digest(u128::from(byte) << 100));
        SignedPart { range: range(start, end), count, digest, signature: Signature([byte; 64]) }
    }

    #[test]
    fn signatures_are_read_back_and_other_bytes_are_none() {
        let signer = Signer {
            key: PublicKey([1; 32]),
            ledger: LedgerId([2; 16]),
            job: JobId(3),
            kind: LoanKind::Count,
        };
        for parts in [
            vec![part(10, 20, 5)],
            vec![part(10, 13, 1), part(13, 14, 2), part(14, 20, 3)],
            (10..20).map(|at| part(at, at + 1, at as u8)).collect(),
        ] {
            let sum = parts.iter().map(|part| part.count).sum();
            let digest = parts.iter().fold(Digest(0), |sum, part| sum.join(part.digest));
            let tally = Tally { count: sum, residue: sum, digest };
            let bytes = to_bytes(&Signatures { signer, parts: parts.clone() });
            assert_eq!(from_bytes(&bytes, range(10, 20), tally), Some(parts));
            for wrong in [&bytes[1..], &bytes[..bytes.len() - 1], &[]] {
                assert_eq!(from_bytes(wrong, range(10, 20), tally), None);
            }
        }
        let empty = [0; 2 * EACH];
        assert_eq!(from_bytes(&empty, range(10, 20), Tally::EMPTY), None, "an empty range");
    }
}
