//! Rows become fewer: neighbours that say the same about themselves become one.
//!
//! ```text
//!   [  a  )[  a  )[ b )[  a  )[  a  )   by authors a and b, each letter of one lease
//!   [     a      )[ b )[  a  )[  a  )   if an audit would choose the last two as one
//! ```
//!
//! - They have one author, one kernel and one lease: who answers for them, and under which promise, stays as it was.
//! - Nobody asked for a second count of them, and no open dispute is about them: so a second count stays one of the row
//!   that it confirms.
//! - The policy of the job does not choose their range. A bundle shows which ranges it chooses, and all of these were
//!   counted twice before and after.
//! - Their sum fits into 64 bits.
//! - Nobody has committed to them: the root that was published is over the rows as they were.
//! - They have the signatures of one key, or none. If the key has signed their sum ([`Stretch`]), that signature is kept
//!   alone; otherwise the signatures of all stay with the row, up to 64.
//!
//! While a job runs, a report joins the rows of its stretch. In the archive, all rows are gone through. An audit that is
//! ordered later draws among the rows as they are then.

use std::ops::ControlFlow;

use super::{Select, Store, StoredJob, stored_job};
use crate::rows::{Check, CountedRange, OpenDispute, Row};
use crate::{AuditPolicy, Claim, Fingerprint, JobId, Range, Signatures, Stretch};

/// What decides about the rows of one job.
struct Joining {
    plan: Fingerprint,
    policy: Option<AuditPolicy>,
    disputes: Vec<OpenDispute>,
}

/// Rows of a stretch beyond which they are left to the archive: a worker whose reports are never joined must not have all
/// of them read again for each further one.
const MOST_OF_A_STRETCH: usize = 64;

/// Joins the rows of a stretch that was just lengthened: all of them, or those that may be joined.
pub(super) fn join_stretch<S: Store>(
    store: &mut S,
    id: JobId,
    stretch: &Stretch,
) -> Result<(), S::Fault> {
    let mut rows: Vec<CountedRange> = Vec::new();
    store.visit(id, Select::BeginningIn(stretch.range), &mut |counted| {
        rows.push(counted);
        match rows.len() <= MOST_OF_A_STRETCH {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    if !(2..=MOST_OF_A_STRETCH).contains(&rows.len()) || store.committed(id)?.is_some() {
        return Ok(());
    }
    let StoredJob { plan, .. } = stored_job(store, id)?;
    let joining = Joining::of(store, id, plan.fingerprint())?;
    let mut runs = Runs::default();
    match joining.whole(&rows, stretch) {
        Some(whole) => return store.join_rows(id, &whole),
        None => rows.into_iter().for_each(|counted| runs.add(&joining, counted)),
    }
    runs.joined().try_for_each(|run| store.join_rows(id, run))
}

/// Joins what may be joined of the first `most` rows, two or more, that begin at `from` or behind it. Returns where to go
/// on; `None` if these were the last ones, or if none are to be joined: the job has come back from the archive, or was
/// committed to.
pub(super) fn join<S: Store>(
    store: &mut S,
    id: JobId,
    from: u64,
    most: usize,
) -> Result<Option<u64>, S::Fault> {
    let Some(StoredJob { plan, .. }) = store.job(id)?.filter(|job| job.is_archived) else {
        return Ok(None);
    };
    let Some(rest) = Range::new(from, plan.tasks) else { return Ok(None) };
    if store.committed(id)?.is_some() {
        return Ok(None);
    }
    let joining = Joining::of(store, id, plan.fingerprint())?;
    let (mut runs, mut seen) = (Runs::default(), 0);
    store.visit(id, Select::BeginningIn(rest), &mut |counted| {
        seen += 1;
        runs.add(&joining, counted);
        if seen < most.max(2) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    runs.joined().try_for_each(|run| store.join_rows(id, run))?;
    // The last run may go on behind the last row that was seen.
    Ok(runs.last_start().filter(|_| seen == most.max(2)))
}

/// Rows in ascending order, neighbours joined where they may be.
#[derive(Debug, Default)]
struct Runs(Vec<(CountedRange, bool)>);

impl Runs {
    fn add(&mut self, joining: &Joining, counted: CountedRange) {
        let joined = self.0.last().and_then(|(last, _)| joining.joined(last, &counted));
        match (joined, self.0.last_mut()) {
            (Some(joined), Some(last)) => *last = (joined, true),
            _ => self.0.push((counted, false)),
        }
    }

    /// Those that several rows became.
    fn joined(&self) -> impl Iterator<Item = &CountedRange> {
        self.0.iter().filter(|(_, is_new)| *is_new).map(|(run, _)| run)
    }

    fn last_start(&self) -> Option<u64> {
        self.0.last().map(|(run, _)| run.row.range.start())
    }
}

impl Joining {
    fn of<S: Store>(store: &mut S, id: JobId, plan: Fingerprint) -> Result<Joining, S::Fault> {
        Ok(Joining { plan, policy: store.policy(id)?, disputes: store.open_disputes(id)? })
    }

    /// The row that all rows of a stretch become; `None` if one of them is to stay, or if they say otherwise.
    fn whole(&self, rows: &[CountedRange], stretch: &Stretch) -> Option<CountedRange> {
        let (first, others) = rows.split_first()?;
        let sum = others.iter().try_fold(first.row.clone(), |sum, next| {
            let is_one = may_be_one(first, next) && sum.range.end() == next.row.range.start();
            add(sum, &next.row).filter(|_| is_one)
        })?;
        let signers: Vec<_> = rows.iter().map(|counted| counted.row.signer()).collect();
        let is_by_one = signers.iter().all(|signer| *signer == signers[0]);
        let says_so = sum.range == stretch.range
            && sum.tally.claim() == Claim { count: stretch.count.into(), digest: stretch.digest };
        if !is_by_one || !says_so || !self.leaves(stretch.range) {
            return None;
        }
        let signatures = match signers[0] {
            None => None,
            Some(signer) => Some(Signatures::of_stretch(*signer, stretch)?),
        };
        Some(CountedRange { row: Row { signatures, ..sum }, check: Check::NotChosen })
    }

    /// The row that two neighbours become; `None` if they stay as they are.
    fn joined(&self, first: &CountedRange, next: &CountedRange) -> Option<CountedRange> {
        let (a, b) = (&first.row, &next.row);
        let is_one = may_be_one(first, next) && a.range.end() == b.range.start();
        let sum = add(a.clone(), b).filter(|sum| is_one && self.leaves(sum.range))?;
        let signatures = match (&a.signatures, &b.signatures) {
            (None, None) => None,
            (first, next) => Some(first.as_ref()?.join(next.as_ref()?)?),
        };
        Some(CountedRange { row: Row { signatures, ..sum }, check: Check::NotChosen })
    }

    /// Whether nothing asks for a second count of a range as one.
    fn leaves(&self, range: Range) -> bool {
        let is_in = |dispute: &OpenDispute| dispute.range.intersect(range).is_some();
        !self.policy.is_some_and(|policy| policy.chooses(self.plan, range))
            && !self.disputes.iter().any(is_in)
    }
}

/// Whether two rows say the same about themselves, and nobody asked for a second count of them.
fn may_be_one(first: &CountedRange, next: &CountedRange) -> bool {
    let (a, b) = (&first.row, &next.row);
    (&a.author, a.kernel, a.lease) == (&b.author, b.kernel, b.lease)
        && (first.check, next.check) == (Check::NotChosen, Check::NotChosen)
}

/// Two rows as one, with the signatures of the first; `None` if their counts do not fit.
fn add(first: Row, next: &Row) -> Option<Row> {
    Some(Row {
        range: Range::new(first.range.start(), next.range.end())?,
        tally: first.tally.join(next.tally)?,
        busy_us: first.busy_us.saturating_add(next.busy_us),
        ..first
    })
}
