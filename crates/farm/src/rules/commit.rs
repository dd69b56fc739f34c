//! Committing to the counts of a job: their root is noted before it is known which of them will be looked at.

use super::{Store, StoredJob, for_each_row, stored_job};
use crate::rows::{Contradiction, DisputeState, Row};
use crate::{JobId, JobState, Range, RowsRoot, RowsTree};

/// Commits to the rows of a job that is done. Rows that were committed to already keep their root.
pub(super) fn commit<S: Store>(store: &mut S, id: JobId, by: &str) -> Result<RowsRoot, S::Fault> {
    let StoredJob { plan, state, .. } = stored_job(store, id)?;
    if state != JobState::Done {
        return Err(Contradiction::NotCommittable(id).into());
    }
    if let Some(root) = store.committed(id)? {
        return Ok(root);
    }
    let mut tree = RowsTree::new(plan.fingerprint());
    for_each_row(store, id, |row| tree.add(row.range, row.tally.claim()))?;
    let root = tree.root();
    store.commit(id, root, by)?;
    Ok(root)
}

/// Makes accepted rows evidence in whose place another one is accepted. What was committed to is no more then, unless that says
/// the same about the same range: the root does not say who has counted.
pub(super) fn retire_replaced<S: Store>(
    store: &mut S,
    job: JobId,
    rows: &[Row],
    right: &Row,
) -> Result<(), S::Fault> {
    let is_alike = |row: &Row| row.range == right.range && row.tally.claim() == right.tally.claim();
    for row in rows {
        store.retire(job, row.range, DisputeState::Settled)?;
    }
    match rows.iter().all(is_alike) {
        true => Ok(()),
        false => store.break_commitment(job),
    }
}

/// Makes an accepted row evidence. What was committed to is no more, then.
pub(super) fn retire<S: Store>(
    store: &mut S,
    job: JobId,
    range: Range,
    why: DisputeState,
) -> Result<(), S::Fault> {
    store.retire(job, range, why)?;
    store.break_commitment(job)
}
