//! Neighbouring rows become one, so that a worker that reports a lease in many parts leaves one row
//! of it.
//!
//! ```text
//!   [  a  )[  a  )[ b )[  a  )[  a  )   by authors a and b, each letter of one lease
//!   [     a      )[ b )[  a  )[  a  )   if an audit would choose the last two as one
//! ```
//!
//! - They have one author, one kernel and one lease, so who answers for them stays as it was.
//! - Nobody asked for a second count of them, and no open dispute is about them.
//! - The policy of the job does not choose their range: a bundle shows which ranges it chooses.
//! - Their sum fits into 64 bits, and both tell what each task counts or neither does.

use super::{Store, first_rows, stored_job};
use crate::rows::{Check, CountedRange, Row};
use crate::{JobId, Range};

/// Joins the row of a range that was just accepted with the rows on either side of it.
pub(super) fn join_neighbours<S: Store>(
    store: &mut S,
    id: JobId,
    range: Range,
) -> Result<(), S::Fault> {
    let before = store.last_before(id, range.start())?;
    let start = before.map_or(range.start(), Range::start);
    let around = Range::new(start, range.end().saturating_add(1)).expect("it has the range");
    let rows = first_rows(store, id, around, 3)?;
    let Some(own) = rows.iter().position(|counted| counted.row.range == range) else {
        return Ok(());
    };
    let mut joined = rows[own].clone();
    for (number, other) in rows.iter().enumerate().filter(|&(number, _)| number != own) {
        let (first, next) = if number < own { (other, &joined) } else { (&joined, other) };
        let Some(sum) = join(first, next) else { continue };
        let told = store.task_counts(id, first.row.range)?;
        let next_told = store.task_counts(id, next.row.range)?;
        if told.are_untold() != next_told.are_untold() {
            continue;
        }
        let Some(told) = told.join(&next_told) else { continue };
        if is_left_alone(store, id, sum.row.range)? {
            store.join_rows(id, &sum, &told)?;
            joined = sum;
        }
    }
    Ok(())
}

/// Two rows as one, if they touch and say the same about themselves, and nobody asked for a second
/// count of them.
fn join(first: &CountedRange, next: &CountedRange) -> Option<CountedRange> {
    let (a, b) = (&first.row, &next.row);
    let is_one = a.range.end() == b.range.start()
        && (&a.author, a.kernel, a.lease) == (&b.author, b.kernel, b.lease)
        && (first.check, next.check) == (Check::NotChosen, Check::NotChosen);
    let range = Range::new(a.range.start(), b.range.end()).filter(|_| is_one)?;
    let (tally, busy_us) = (a.tally.join(b.tally)?, a.busy_us.saturating_add(b.busy_us));
    let row = Row { range, tally, busy_us, ..a.clone() };
    Some(CountedRange { row, check: Check::NotChosen })
}

/// Whether neither the policy of a job nor an open dispute is about this range.
fn is_left_alone<S: Store>(store: &mut S, id: JobId, range: Range) -> Result<bool, S::Fault> {
    let plan = stored_job(store, id)?.spec.plan.fingerprint();
    let is_chosen = store.policy(id)?.is_some_and(|policy| policy.chooses(plan, range));
    let mut disputes = store.open_disputes(id)?.into_iter();
    Ok(!is_chosen && !disputes.any(|dispute| dispute.range.intersect(range).is_some()))
}
