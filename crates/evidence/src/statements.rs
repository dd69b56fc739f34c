//! Which keys vouch for the counts of a bundle.
//!
//! ```text
//!   range      [10, 20) counts 42, by author 3         the statements behind a count tile its range and add up to it
//!   statement  [10, 14) counts 30, by signer 0         each is signed by the key of its signer, for the machine and
//!   statement  [14, 20) counts 12, by signer 0         the kernel of the count's author
//!   audit      [10, 20) counts 42, by author 5
//!   statement  [10, 20) counts 42, by signer 7
//! ```
//!
//! A count without statements is signed by nobody. What was contradicted or taken back has its statements too, but they
//! vouch for nothing.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use farm::{Fingerprint, PublicKey, SignedPart, Signer, Statement};

use crate::format::{SignerLine, StatedAuthor, StatedRow, StatementLine};
use crate::worth::Amount;

/// The keys that vouch for a range of the total: that of its first count and that of its second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vouchers {
    /// The key that has signed the first count.
    pub first: Option<PublicKey>,
    /// The key that has signed a second count.
    pub second: Option<PublicKey>,
}

impl Vouchers {
    /// The keys, each once.
    pub fn keys(self) -> impl Iterator<Item = PublicKey> {
        self.first.into_iter().chain(self.second.filter(|_| self.first != self.second))
    }
}

/// Amounts of the total by who vouches for them.
pub type Vouched = BTreeMap<Vouchers, Amount>;

/// Follows the statements of a bundle.
pub(super) struct Statements {
    plan: Fingerprint,
    signers: Vec<Signer>,
    known_signers: HashSet<Signer>,
    /// Number of statements.
    pub(super) seen: u64,
    /// The last count.
    open: Option<Open>,
    /// The last range of the total.
    range: Option<Vouching>,
    vouched: Vouched,
    /// What one key has signed twice, although two owners are said to have counted it.
    one_key: Amount,
}

/// A range of the total, and who vouches for it so far.
struct Vouching {
    amount: Amount,
    vouchers: Vouchers,
    /// Whether another owner confirms it, as the bundle says.
    is_by_owner: bool,
}

/// What a count is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The first one of a range of the total.
    First,
    /// The second one of that range.
    Second,
    /// It is not in the total.
    Disputed,
}

/// A count, and what has been signed of it so far.
struct Open {
    role: Role,
    row: StatedRow,
    signer: Option<u32>,
    /// Where the next statement begins.
    next: u64,
    count: u128,
    digest: farm::Digest,
}

impl Statements {
    pub(super) fn new(plan: Fingerprint) -> Statements {
        Statements {
            plan,
            signers: Vec::new(),
            known_signers: HashSet::new(),
            seen: 0,
            open: None,
            range: None,
            vouched: Vouched::new(),
            one_key: Amount::default(),
        }
    }

    /// Number of signers.
    pub(super) fn signers(&self) -> usize {
        self.signers.len()
    }

    /// Somebody who signs.
    pub(super) fn signer(&mut self, line: SignerLine) -> Result<()> {
        let signer = line.read()?;
        ensure!(self.known_signers.insert(signer), "the signer is there already");
        self.signers.push(signer);
        Ok(())
    }

    /// The second count of the last range, which follows, confirms it by another owner, as the bundle says.
    pub(super) fn second_is_by_another_owner(&mut self) {
        if let Some(range) = &mut self.range {
            range.is_by_owner = true;
        }
    }

    /// A count, whose statements may follow.
    pub(super) fn count(&mut self, role: Role, row: &StatedRow) -> Result<()> {
        self.close()?;
        if role == Role::First {
            self.end_range();
            let amount = Amount { ranges: 1, count: row.claim.count };
            let vouchers = Vouchers::default();
            self.range = Some(Vouching { amount, vouchers, is_by_owner: false });
        }
        let (row, next, digest) = (row.clone(), row.range.start(), farm::Digest(0));
        self.open = Some(Open { role, row, signer: None, next, count: 0, digest });
        Ok(())
    }

    /// A statement about the last count, which is by one of these authors.
    pub(super) fn statement(
        &mut self,
        line: StatementLine,
        authors: &[StatedAuthor],
    ) -> Result<()> {
        self.seen += 1;
        let (by, part) = line.read()?;
        let open = self.open.as_mut().context("no count stands before this statement")?;
        let SignedPart { range, count, digest, ref signature } = part;
        let signer =
            self.signers.get(by as usize).context("the statement has an unknown signer")?;
        let [author] = open.row.by[..] else {
            anyhow::bail!("this is a statement about a count of several authors");
        };
        let StatedAuthor { author, kernel } = &authors[author as usize];
        ensure!(
            open.signer.is_none_or(|first| first == by),
            "the statements about {} are by several signers",
            open.row.range
        );
        ensure!(
            range.start() == open.next && range.end() <= open.row.range.end(),
            "the statement about {range} does not belong to the count of {}, or not there",
            open.row.range
        );
        let (plan, machine) = (self.plan, author.maker.machine.as_str());
        let said = Statement { signer, plan, machine, range, count, digest, kernel: *kernel };
        ensure!(said.has_signature(signature), "{} has not signed: {said}", signer.key);
        (open.signer, open.next) = (Some(by), range.end());
        open.count += u128::from(count);
        open.digest = open.digest.join(digest);
        Ok(())
    }

    /// Notes who vouches for the last count.
    fn close(&mut self) -> Result<()> {
        let Some(Open { role, row, signer, next, count, digest }) = self.open.take() else {
            return Ok(());
        };
        let Some(signer) = signer else { return Ok(()) };
        ensure!(
            (next, count, digest) == (row.range.end(), row.claim.count, row.claim.digest),
            "the statements about {} do not add up to its count",
            row.range
        );
        let key = Some(self.signers[signer as usize].key);
        match (role, &mut self.range) {
            (Role::First, Some(range)) => range.vouchers.first = key,
            (Role::Second, Some(range)) => range.vouchers.second = key,
            _ => {}
        }
        Ok(())
    }

    fn end_range(&mut self) {
        let Some(Vouching { amount, vouchers, is_by_owner }) = self.range.take() else { return };
        self.vouched.entry(vouchers).or_default().join(amount);
        if is_by_owner && vouchers.first.is_some() && vouchers.first == vouchers.second {
            self.one_key.join(amount);
        }
    }

    /// Who vouches for what of the total, and what one key has signed twice, although two owners are said to have counted it.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the statements about the last count.
    pub(super) fn end(mut self) -> Result<(Vouched, Amount)> {
        self.close()?;
        self.end_range();
        Ok((self.vouched, self.one_key))
    }
}

#[cfg(test)]
mod tests {
    use farm::{
        Author, Claim, Digest, JobId, KernelName, LedgerId, LoanKind, Maker, Range, SigningKey,
    };

    use super::*;

    const PLAN: Fingerprint = Fingerprint([4; 32]);

    fn row(start: u64, end: u64, count: u128) -> StatedRow {
        let range = Range::new(start, end).expect("not empty");
        StatedRow { range, claim: Claim { count, digest: Digest(count) }, by: vec![0] }
    }

    fn signer(seed: u8) -> (SigningKey, Signer) {
        let key = SigningKey::from_seed(&[seed; 32]);
        let (ledger, job, kind) = (LedgerId([1; 16]), JobId(1), LoanKind::Count);
        let signer = Signer { key: key.public(), ledger, job, kind };
        (key, signer)
    }

    fn authors() -> Vec<StatedAuthor> {
        let maker = Maker { owner: "o".into(), machine: "m".into() };
        let author = Author { maker, worker: "w".into(), build: "1".into() };
        vec![StatedAuthor { author, kernel: KernelName::ALL[1] }]
    }

    /// What the key number `by` has signed.
    fn said(by: u8, row: &StatedRow) -> StatementLine {
        let (key, signer) = signer(by);
        let StatedRow { range, claim, .. } = *row;
        let (count, digest) = (claim.count as u64, claim.digest);
        let (kernel, machine) = (KernelName::ALL[1], "m");
        let signer = &signer;
        let said = Statement { signer, plan: PLAN, machine, range, count, digest, kernel };
        let signature = said.sign(&key).signature;
        StatementLine::new(by.into(), &SignedPart { range, count, digest, signature })
    }

    fn statements() -> Statements {
        let mut statements = Statements::new(PLAN);
        for seed in [0, 1] {
            statements.signer(signer(seed).1.into()).expect("it is new");
        }
        statements
    }

    /// Who vouches for a range of which this was signed.
    fn vouched(whole: &StatedRow, signed: &[(u8, StatedRow)]) -> Result<Vouched> {
        let mut all = statements();
        all.count(Role::First, whole)?;
        for (by, part) in signed {
            all.statement(said(*by, part), &authors())?;
        }
        Ok(all.end()?.0)
    }

    #[test]
    fn what_was_signed_tiles_a_count_and_adds_up_to_it() {
        let whole = row(3, 9, 10);
        for parts in [vec![(0, row(3, 9, 10))], vec![(0, row(3, 5, 4)), (0, row(5, 9, 6))]] {
            let vouched = vouched(&whole, &parts).expect("they fit");
            let vouchers = Vouchers { first: Some(signer(0).1.key), second: None };
            assert_eq!(vouched[&vouchers], Amount { ranges: 1, count: 10 });
        }
        assert!(vouched(&whole, &[]).expect("nobody signed").contains_key(&Vouchers::default()));
        for parts in [
            vec![(0, row(3, 9, 11))],
            vec![(0, row(3, 8, 10))],
            vec![(0, row(4, 9, 10))],
            vec![(0, row(3, 10, 10))],
            vec![(0, row(3, 5, 4)), (0, row(5, 9, 7))],
            vec![(0, row(3, 5, 4)), (0, row(6, 9, 6))],
            vec![(0, row(3, 5, 4)), (1, row(5, 9, 6))],
        ] {
            vouched(&whole, &parts).expect_err("they do not fit");
        }
        let digest = Digest(11);
        let other = StatedRow { claim: Claim { count: 10, digest }, ..whole.clone() };
        vouched(&whole, &[(0, other)]).expect_err("its digest differs");
        vouched(&StatedRow { by: vec![0, 0], ..whole.clone() }, &[(0, whole)])
            .expect_err("nobody knows whose it is");
    }

    #[test]
    fn a_second_count_is_vouched_for_by_its_own_key_and_a_dispute_by_nobody() {
        let whole = row(3, 9, 10);
        let mut all = statements();
        all.count(Role::First, &whole).expect("it is the first");
        all.statement(said(0, &whole), &authors()).expect("it fits");
        all.count(Role::Second, &whole).expect("it is the second");
        all.statement(said(1, &whole), &authors()).expect("it fits");
        all.count(Role::Disputed, &row(3, 9, 7)).expect("it is another");
        all.statement(said(1, &row(3, 9, 7)), &authors()).expect("it fits");
        let (vouched, _) = all.end().expect("all is signed");
        let [first, second] = [0, 1].map(|seed| Some(signer(seed).1.key));
        let only = Vouched::from([(Vouchers { first, second }, Amount { ranges: 1, count: 10 })]);
        assert_eq!(vouched, only);
    }
}
