//! Rows of an archived job become fewer: neighbours that say the same about themselves become one.
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
//! - They have the signatures of one key, or none. The signatures of all stay with the row, up to 64.
//!
//! An audit that is ordered later draws among the rows as they are then.

use std::ops::ControlFlow;

use super::{Select, Store, StoredJob};
use crate::rows::{Check, CountedRange, OpenDispute, Row};
use crate::{AuditPolicy, Fingerprint, JobId, Range};

/// What decides about the rows of one job.
struct Joining {
    plan: Fingerprint,
    policy: Option<AuditPolicy>,
    disputes: Vec<OpenDispute>,
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
    let joining = Joining {
        plan: plan.fingerprint(),
        policy: store.policy(id)?,
        disputes: store.open_disputes(id)?,
    };
    let (mut runs, mut seen): (Vec<(CountedRange, bool)>, usize) = (Vec::new(), 0);
    store.visit(id, Select::BeginningIn(rest), &mut |counted| {
        seen += 1;
        let joined = runs.last().and_then(|(last, _)| joining.joined(last, &counted));
        match (joined, runs.last_mut()) {
            (Some(joined), Some(last)) => *last = (joined, true),
            _ => runs.push((counted, false)),
        }
        if seen < most.max(2) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for (run, _) in runs.iter().filter(|(_, is_new)| *is_new) {
        store.join_rows(id, run)?;
    }
    // The last run may go on behind the last row that was seen.
    let last = runs.last().map(|(run, _)| run.row.range.start());
    Ok(last.filter(|_| seen == most.max(2)))
}

impl Joining {
    /// The row that two neighbours become; `None` if they stay as they are.
    fn joined(&self, first: &CountedRange, next: &CountedRange) -> Option<CountedRange> {
        let (a, b) = (&first.row, &next.row);
        let is_one = a.range.end() == b.range.start()
            && (&a.author, a.kernel, a.lease) == (&b.author, b.kernel, b.lease)
            && (first.check, next.check) == (Check::NotChosen, Check::NotChosen);
        let range = Range::new(a.range.start(), b.range.end()).filter(|_| is_one)?;
        let is_chosen = self.policy.is_some_and(|policy| policy.chooses(self.plan, range));
        let is_in_dispute =
            self.disputes.iter().any(|dispute| dispute.range.intersect(range).is_some());
        if is_chosen || is_in_dispute {
            return None;
        }
        let (tally, busy_us) = (a.tally.join(b.tally)?, a.busy_us.saturating_add(b.busy_us));
        let signatures = match (&a.signatures, &b.signatures) {
            (None, None) => None,
            (first, next) => Some(first.as_ref()?.join(next.as_ref()?)?),
        };
        let row = Row { range, tally, busy_us, signatures, ..a.clone() };
        Some(CountedRange { row, check: Check::NotChosen })
    }
}
