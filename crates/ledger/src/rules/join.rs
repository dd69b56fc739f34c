//! Joins neighbouring rows, so that a worker that reports a lease in many parts leaves one row.
//!
//! ```text
//!   [  a  )[  a  )[ b )[  a  )[  a  )   of provenances a and b, each letter of one lease
//!   [     a      )[ b )[  a  )[  a  )   if an audit would choose the last two as one
//! ```
//!
//! - Both rows have the same provenance, kernel and lease, so the same worker answers for the
//!   joined row.
//! - Nobody asked for a second count of them, and no open dispute is about them.
//! - The policy of the job does not choose the joined range, because a bundle shows which ranges
//!   the policy chooses.
//! - Their sum fits into 64 bits, and both have counts of single tasks or neither has.

use farm::{Check, CountedRange, JobId, Range, Row, TaskCounts};

use super::stored_job;
use crate::Result;
use crate::store::Store;

/// Joins a row that is about to be accepted with the rows `beside` it. Returns the joined row, the
/// counts of its single tasks, and the accepted ranges that it replaces.
pub(super) fn join(
    store: &Store<'_>,
    id: JobId,
    mut joined: CountedRange,
    mut reported: TaskCounts,
    beside: Vec<CountedRange>,
) -> Result<(CountedRange, TaskCounts, Vec<Range>)> {
    let mut parts = Vec::new();
    for other in beside {
        let is_before = other.row.range.start() < joined.row.range.start();
        let [first, next] = if is_before { [&other, &joined] } else { [&joined, &other] };
        let Some(sum) = sum(first, next) else { continue };
        let its = store.task_counts(id, other.row.range)?;
        if its.are_omitted() != reported.are_omitted() {
            continue;
        }
        let sum_reported = if is_before { its.join(&reported) } else { reported.join(&its) };
        let Some(sum_reported) = sum_reported else { continue };
        if is_left_alone(store, id, sum.row.range)? {
            (joined, reported) = (sum, sum_reported);
            parts.push(other.row.range);
        }
    }
    Ok((joined, reported, parts))
}

/// Joins two rows, if they are neighbours with the same provenance, kernel and lease, and nobody
/// asked for a second count of either.
fn sum(first: &CountedRange, next: &CountedRange) -> Option<CountedRange> {
    let (a, b) = (&first.row, &next.row);
    let is_one = a.range.end() == b.range.start()
        && (&a.provenance, a.kernel, a.lease) == (&b.provenance, b.kernel, b.lease)
        && (first.check, next.check) == (Check::NotChosen, Check::NotChosen);
    let range = Range::new(a.range.start(), b.range.end()).filter(|_| is_one)?;
    let (checked_count, busy_us) =
        (a.checked_count.join(b.checked_count)?, a.busy_us.saturating_add(b.busy_us));
    let row = Row { range, checked_count, busy_us, ..a.clone() };
    Some(CountedRange { row, check: Check::NotChosen })
}

/// Whether the policy of the job does not choose this range and no open dispute overlaps it.
fn is_left_alone(store: &Store<'_>, id: JobId, range: Range) -> Result<bool> {
    let job = stored_job(store, id)?;
    let is_chosen =
        job.policy.is_some_and(|policy| policy.chooses(job.spec.plan.fingerprint(), range));
    let mut disputes = store.open_disputes(id)?.into_iter();
    Ok(!is_chosen && !disputes.any(|dispute| dispute.range.intersect(range).is_some()))
}
