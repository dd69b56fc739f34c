//! What workers sign: every count that they report.
//!
//! ```text
//!   report ──► statement: ledger, job, plan, range, count, digest, kernel, purpose, machine ──Ed25519──► signature
//!   stretch ─► the same of what the report and its neighbours count together
//!   row    of a report      its one signature
//!          of joined rows   the signatures of all of them, which tile it, and beside each what it has counted; that of a
//!                           stretch takes the place of those of its parts
//! ```
//!
//! Whoever reads a ledger or a bundle can tell which key vouches for which count, without believing who wrote it. A
//! signature names the ledger and the job, so that a count cannot be passed off as another one of the same range. The
//! core carries signatures and looks into none: whoever takes a report in has verified them.

use std::fmt;
use std::str::FromStr;

use crate::{
    Digest, Fingerprint, JobId, KernelName, LedgerId, LoanKind, PublicKey, Range, Report, Row,
    Signature, SigningKey, Stretch,
};

/// A key, and the context in which it signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signer {
    /// The worker's key.
    pub key: PublicKey,
    /// The ledger of the farm that asked for the counts.
    pub ledger: LedgerId,
    /// The job there.
    pub job: JobId,
    /// Whether they are first counts or recounts.
    pub kind: LoanKind,
}

/// The signature of a report, and who signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Who.
    pub signer: Signer,
    /// The signature of the report's statement.
    pub signature: Signature,
}

/// A count that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedPart {
    /// The ordinals that were counted.
    pub range: Range,
    /// Their sum of weight x count.
    pub count: u64,
    /// The digest of their counts.
    pub digest: Digest,
    /// The signature of the statement.
    pub signature: Signature,
}

/// The signatures of a row, all by one signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signatures {
    /// Who signed.
    pub signer: Signer,
    /// What was signed: it tiles the row, and adds up to its count and digest.
    pub parts: Vec<SignedPart>,
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// The context.
    pub signer: &'a Signer,
    /// The plan of the job.
    pub plan: Fingerprint,
    /// The machine, as its worker names it.
    pub machine: &'a str,
    /// The ordinals that were counted.
    pub range: Range,
    /// Their sum of weight x count.
    pub count: u64,
    /// The digest of their counts.
    pub digest: Digest,
    /// What counted them.
    pub kernel: KernelName,
}

impl<'a> Statement<'a> {
    /// The statement of a report by a machine.
    #[must_use]
    pub fn of(report: &Report, signer: &'a Signer, machine: &'a str) -> Statement<'a> {
        let Report { fingerprint: plan, range, tally, kernel, .. } = *report;
        Statement { signer, plan, machine, range, count: tally.count, digest: tally.digest, kernel }
    }

    /// What a stretch says, of which this is the statement of a report.
    #[must_use]
    pub fn of_stretch(self, stretch: &Stretch) -> Statement<'a> {
        let Stretch { range, count, digest, .. } = *stretch;
        Statement { range, count, digest, ..self }
    }

    /// Signs it with the key of its signer.
    #[must_use]
    pub fn sign(&self, key: &SigningKey) -> Signed {
        Signed { signer: *self.signer, signature: key.sign(&self.to_string()) }
    }

    /// Whether its signer has signed it.
    #[must_use]
    pub fn has_signature(&self, signature: &Signature) -> bool {
        self.signer.key.has_signed(&self.to_string(), signature)
    }
}

/// The text that is signed: the fields in one order, and the machine's name, which is chosen by the worker, last.
impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statement { signer, plan, machine, range, count, digest, kernel } = self;
        let Signer { ledger, job, kind, .. } = signer;
        write!(
            f,
            "queens statement; ledger {ledger}; job {job}; plan {plan}; range {range}; count {count}; digest {digest}; \
             kernel {kernel}; purpose {}; machine {machine}",
            kind.name()
        )
    }
}

impl Signatures {
    /// The signature of a row of one report.
    #[must_use]
    pub(crate) fn of(report: &Report) -> Option<Signatures> {
        let Report { range, tally, signed, .. } = *report;
        let Signed { signer, signature } = signed?;
        let (count, digest) = (tally.count, tally.digest);
        Some(Signatures { signer, parts: vec![SignedPart { range, count, digest, signature }] })
    }

    /// The most signatures of one row: they are read and written with it. Rows that are longer than a quarter of a page take
    /// a page more of the ledger.
    const MOST: usize = 8;

    /// Whether they are not too many for one row.
    pub(crate) fn fit_a_row(&self) -> bool {
        self.parts.len() <= Signatures::MOST
    }

    /// The signatures of two neighbouring rows as those of one, however many; `None` if they are of several signers.
    #[must_use]
    pub(crate) fn join(&self, next: &Signatures) -> Option<Signatures> {
        let parts = || self.parts.iter().chain(&next.parts).copied().collect();
        (self.signer == next.signer).then(|| Signatures { signer: self.signer, parts: parts() })
    }

    /// The signature of a stretch takes the place of those of its parts, if there is one and it says the same as they do.
    pub(crate) fn replace_by(&mut self, stretch: &Stretch) {
        let Stretch { range, count, digest, signature } = *stretch;
        let Some(signature) = signature else { return };
        let from = self.parts.partition_point(|part| part.range.start() < range.start());
        let to = self.parts.partition_point(|part| part.range.end() <= range.end());
        let Some(parts) = self.parts.get(from..to) else { return };
        if add_up(parts) == Some((range, count, digest)) {
            self.parts.splice(from..to, [SignedPart { range, count, digest, signature }]);
        }
    }

    /// Whether the parts tile a row and add up to what it says.
    #[must_use]
    pub fn add_up_to(&self, row: &Row) -> bool {
        add_up(&self.parts) == Some((row.range, row.tally.count, row.tally.digest))
    }
}

/// The range that parts tile, and what they add up to; `None` if there are none, if they leave a gap, or if the sum passes 64
/// bits.
fn add_up(parts: &[SignedPart]) -> Option<(Range, u64, Digest)> {
    let (first, others) = parts.split_first()?;
    let first = (first.range, first.count, first.digest);
    others.iter().try_fold(first, |(range, count, digest), next| {
        let follows = range.end() == next.range.start();
        let range = Range::new(range.start(), next.range.end()).filter(|_| follows)?;
        Some((range, count.checked_add(next.count)?, digest.join(next.digest)))
    })
}

/// A signer as one text: key, ledger, job and purpose.
impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Signer { key, ledger, job, kind } = self;
        write!(f, "{key} {ledger} {job} {}", kind.name())
    }
}

/// A text that is no signer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a key with a ledger, a job and a purpose")]
pub struct NoSigner;

impl FromStr for Signer {
    type Err = NoSigner;

    fn from_str(text: &str) -> Result<Signer, NoSigner> {
        let words: Vec<&str> = text.split(' ').collect();
        let [key, ledger, job, kind] = words[..] else { return Err(NoSigner) };
        let signer = Signer {
            key: key.parse().map_err(|_| NoSigner)?,
            ledger: ledger.parse().map_err(|_| NoSigner)?,
            job: JobId(job.parse().map_err(|_| NoSigner)?),
            kind: LoanKind::named(kind).ok_or(NoSigner)?,
        };
        // One signer has one text.
        if signer.to_string() == text { Ok(signer) } else { Err(NoSigner) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_seed(&[7; 32])
    }

    fn signer() -> Signer {
        let (ledger, job) = (LedgerId([1; 16]), JobId(3));
        Signer { key: key().public(), ledger, job, kind: LoanKind::Count }
    }

    fn statement(signer: &Signer) -> Statement<'_> {
        let range = Range::new(10, 20).expect("not empty");
        let kernel = KernelName::new("avx2").expect("there is one");
        let (plan, digest) = (Fingerprint([5; 32]), Digest(9));
        Statement { signer, plan, machine: "node12", range, count: 42, digest, kernel }
    }

    #[test]
    fn a_signature_is_of_every_word_of_a_statement() {
        let signer = signer();
        let said = statement(&signer);
        let Signed { signature, .. } = said.sign(&key());
        assert!(said.has_signature(&signature));
        let range = Range::new(10, 21).expect("not empty");
        let kernel = KernelName::new("portable").expect("there is one");
        let others = [
            Signer { ledger: LedgerId([2; 16]), ..signer },
            Signer { job: JobId(4), ..signer },
            Signer { kind: LoanKind::Recount, ..signer },
            Signer { key: SigningKey::from_seed(&[8; 32]).public(), ..signer },
        ];
        let others = others.iter().map(|signer| Statement { signer, ..said });
        let changed = [
            Statement { plan: Fingerprint([6; 32]), ..said },
            Statement { machine: "node13", ..said },
            Statement { range, ..said },
            Statement { count: 43, ..said },
            Statement { digest: Digest(10), ..said },
            Statement { kernel, ..said },
        ];
        for other in others.chain(changed) {
            assert!(!other.has_signature(&signature), "{other}");
        }
    }

    fn signatures(parts: &[(u64, u64)]) -> Signatures {
        let part = |&(start, end): &(u64, u64)| SignedPart {
            range: Range::new(start, end).expect("not empty"),
            count: end - start,
            digest: Digest(u128::from(end - start) << 64),
            signature: Signature([end as u8; 64]),
        };
        Signatures { signer: signer(), parts: parts.iter().map(part).collect() }
    }

    fn row(start: u64, end: u64, signatures: Signatures) -> Row {
        let count = end - start;
        let digest = Digest(u128::from(count) << 64);
        Row {
            range: Range::new(start, end).expect("not empty"),
            tally: crate::Tally { count, residue: count, digest },
            kernel: KernelName::default(),
            author: crate::Author {
                maker: crate::Maker { owner: "o".into(), machine: "m".into() },
                worker: "w".into(),
                build: "1".into(),
            },
            lease: crate::LeaseId(1),
            busy_us: 1,
            signatures: Some(signatures),
        }
    }

    #[test]
    fn signatures_of_neighbours_stay_with_the_row_that_they_become() {
        let (first, next) = (signatures(&[(0, 4), (4, 5)]), signatures(&[(5, 9)]));
        let joined = first.join(&next).expect("they are by one signer");
        assert_eq!(joined, signatures(&[(0, 4), (4, 5), (5, 9)]));
        let other = Signer { job: JobId(4), ..signer() };
        assert_eq!(first.join(&Signatures { signer: other, ..next.clone() }), None);

        let single: Vec<(u64, u64)> = (0..Signatures::MOST as u64).map(|at| (at, at + 1)).collect();
        let (most, one) = (signatures(&single[1..]), signatures(&single[..1]));
        let full = one.join(&most).expect("they are by one signer");
        assert!(full.fit_a_row(), "{full:?}");
        assert!(!full.join(&one).expect("they are by one signer").fit_a_row(), "a row has a bound");
    }

    #[test]
    fn signatures_add_up_to_their_row() {
        for parts in [&[(3, 9)][..], &[(3, 4), (4, 9)]] {
            assert!(signatures(parts).add_up_to(&row(3, 9, signatures(parts))));
        }
        for parts in
            [&[][..], &[(3, 8)], &[(4, 9)], &[(3, 4), (5, 9)], &[(3, 5), (4, 9)], &[(3, 10)]]
        {
            assert!(!signatures(parts).add_up_to(&row(3, 9, signatures(parts))), "{parts:?}");
        }
        let mut other = row(3, 9, signatures(&[(3, 9)]));
        other.tally.count += 1;
        assert!(!signatures(&[(3, 9)]).add_up_to(&other));
        other.tally = crate::Tally { digest: Digest(1), ..row(3, 9, signatures(&[(3, 9)])).tally };
        assert!(!signatures(&[(3, 9)]).add_up_to(&other));
    }

    #[test]
    fn a_signer_is_read_back() {
        for kind in [LoanKind::Count, LoanKind::Recount] {
            let signer = Signer { kind, ..signer() };
            assert_eq!(signer.to_string().parse(), Ok(signer));
            let text = signer.to_string();
            for wrong in [text.replace(" 3 ", " +3 "), text.replace("count", "both"), text + " "] {
                assert_eq!(wrong.parse::<Signer>(), Err(NoSigner));
            }
        }
    }
}
