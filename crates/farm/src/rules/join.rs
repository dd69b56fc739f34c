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
//! - They have the signatures of one key, or none. The signatures of all stay with the row. If the key has also signed the
//!   sum of some of them ([`Stretch`]), that signature takes the place of theirs. What is left fits a row
//!   ([`Signatures::fit_a_row`](crate::Signatures)).
//!
//! While a job runs, a report joins the rows of its stretches. In the archive, all rows are gone through. An audit that is
//! ordered later draws among the rows as they are then.

use std::ops::ControlFlow;

use super::{Select, Store, StoredJob, stored_job};
use crate::rows::{Check, CountedRange, OpenDispute, Row};
use crate::{AuditPolicy, Fingerprint, JobId, Range, Stretch};

/// Rows of a stretch beyond which they are left to the archive: a worker whose reports are never joined must not have all
/// of them read again for each further one.
const MOST_OF_A_STRETCH: usize = 64;

/// Joins the rows of stretches that were just lengthened, of which the last one is the longest.
pub(super) fn join_stretches<S: Store>(
    store: &mut S,
    id: JobId,
    stretches: &[Stretch],
) -> Result<(), S::Fault> {
    let Some(longest) = stretches.last().map(|stretch| stretch.range) else { return Ok(()) };
    let rows = first_rows(store, id, longest, MOST_OF_A_STRETCH + 1)?;
    if !(2..=MOST_OF_A_STRETCH).contains(&rows.len()) || store.committed(id)?.is_some() {
        return Ok(());
    }
    let StoredJob { plan, .. } = stored_job(store, id)?;
    let runs = Joining::of(store, id, plan.fingerprint(), stretches)?.runs(rows);
    let mut joined = runs.iter().filter(|run| run.is_new);
    joined.try_for_each(|run| store.join_rows(id, &run.counted))
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
    let rows = first_rows(store, id, rest, most.max(2))?;
    let seen = rows.len();
    let runs = Joining::of(store, id, plan.fingerprint(), &[])?.runs(rows);
    // The last run may go on behind the last row that was seen.
    let last = runs.last().map(|run| run.counted.row.range.start());
    let mut joined = runs.iter().filter(|run| run.is_new);
    joined.try_for_each(|run| store.join_rows(id, &run.counted))?;
    Ok(last.filter(|_| seen == most.max(2)))
}

/// The first `most` rows that begin in a range.
fn first_rows<S: Store>(
    store: &mut S,
    id: JobId,
    range: Range,
    most: usize,
) -> Result<Vec<CountedRange>, S::Fault> {
    let mut rows = Vec::new();
    store.visit(id, Select::BeginningIn(range), &mut |counted| {
        rows.push(counted);
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(rows)
}

/// A row that stays, or that several rows become.
#[derive(Debug)]
struct Run {
    counted: CountedRange,
    is_new: bool,
}

/// What decides about the rows of one job.
struct Joining<'a> {
    plan: Fingerprint,
    policy: Option<AuditPolicy>,
    disputes: Vec<OpenDispute>,
    /// What their worker has signed of them as one.
    stretches: &'a [Stretch],
}

impl Joining<'_> {
    fn of<'a, S: Store>(
        store: &mut S,
        id: JobId,
        plan: Fingerprint,
        stretches: &'a [Stretch],
    ) -> Result<Joining<'a>, S::Fault> {
        let (policy, disputes) = (store.policy(id)?, store.open_disputes(id)?);
        Ok(Joining { plan, policy, disputes, stretches })
    }

    /// Rows in ascending order, neighbours joined where they may be.
    fn runs(&self, rows: Vec<CountedRange>) -> Vec<Run> {
        let (mut runs, mut rest) = (Vec::new(), rows.as_slice());
        while !rest.is_empty() {
            let (counted, taken) = self.first_run(rest);
            runs.push(Run { counted, is_new: taken > 1 });
            rest = &rest[taken..];
        }
        runs
    }

    /// What most of the first rows become, and how many they are. A policy may choose the range of some, and leave that of
    /// more of them; more of them may also have fewer signatures.
    fn first_run(&self, rows: &[CountedRange]) -> (CountedRange, usize) {
        let mut sum = rows[0].clone();
        let mut run = (sum.clone(), 1);
        for (number, next) in (2..).zip(&rows[1..]) {
            let Some(joined) = sum.join(next) else { break };
            sum = joined;
            let fits = sum.row.signatures.as_mut().is_none_or(|signatures| {
                self.stretches.iter().for_each(|stretch| signatures.replace_by(stretch));
                signatures.fit_a_row()
            });
            if fits && self.leaves(sum.row.range) {
                run = (sum.clone(), number);
            } else if !fits && self.stretches.is_empty() {
                break;
            }
        }
        run
    }

    /// Whether nothing asks for a second count of a range as one.
    fn leaves(&self, range: Range) -> bool {
        let is_in = |dispute: &OpenDispute| dispute.range.intersect(range).is_some();
        !self.policy.is_some_and(|policy| policy.chooses(self.plan, range))
            && !self.disputes.iter().any(is_in)
    }
}

impl CountedRange {
    /// This row and the next one as one, if they touch and say the same about themselves, and nobody asked for a second
    /// count of them.
    fn join(&self, next: &CountedRange) -> Option<CountedRange> {
        let (a, b) = (&self.row, &next.row);
        let is_one = a.range.end() == b.range.start()
            && (&a.author, a.kernel, a.lease) == (&b.author, b.kernel, b.lease)
            && (self.check, next.check) == (Check::NotChosen, Check::NotChosen);
        let range = Range::new(a.range.start(), b.range.end()).filter(|_| is_one)?;
        let (tally, busy_us) = (a.tally.join(b.tally)?, a.busy_us.saturating_add(b.busy_us));
        let signatures = match (&a.signatures, &b.signatures) {
            (None, None) => None,
            (first, next) => Some(first.as_ref()?.join(next.as_ref()?)?),
        };
        let row = Row { range, tally, busy_us, signatures, ..a.clone() };
        Some(CountedRange { row, check: Check::NotChosen })
    }
}
