//! What each task of accepted ranges counts.
//!
//! ```text
//!   ranges       [ 10,           20 )       digest over which task counts what
//!   task_counts  10: 3 4 1 7 | 14: 2 2 9 5 1 6
//! ```
//!
//! They stand in a table of their own, as they were reported, so that rows are read without them, and are joined without
//! moving them. The digest of a row is their seal. A row of which they have gone, or have never been told, is one of which
//! only the sum is known.

use farm::{Fingerprint, JobId, Plan, Range, Row, TaskCounts};
use rusqlite::Connection;

use super::entry::{signed, unsigned};
use super::{Ledger, LedgerFault};

/// Bytes of one count, the lowest first.
const EACH: usize = 8;

/// Keeps those of an accepted range.
pub(super) fn keep(
    db: &Connection,
    job: JobId,
    range: Range,
    counts: &TaskCounts,
) -> Result<(), LedgerFault> {
    let bytes: Vec<u8> = counts.as_slice().iter().flat_map(|count| count.to_le_bytes()).collect();
    db.prepare_cached("INSERT INTO task_counts (job, first, counts) VALUES (?, ?, ?)")?
        .execute((signed(job.0), signed(range.start()), bytes))?;
    Ok(())
}

/// Forgets those of a range that is accepted no more.
pub(super) fn forget(db: &Connection, job: JobId, range: Range) -> Result<(), LedgerFault> {
    db.prepare_cached("DELETE FROM task_counts WHERE job = ? AND first >= ? AND first < ?")?
        .execute((signed(job.0), signed(range.start()), signed(range.end())))?;
    Ok(())
}

/// [`Ledger::task_counts`], of a plan with this fingerprint.
pub(super) fn of_row(
    db: &Connection,
    job: JobId,
    plan: Fingerprint,
    row: &Row,
) -> Result<TaskCounts, LedgerFault> {
    let range = row.range;
    let mut statement = db.prepare_cached(
        "SELECT first, counts FROM task_counts WHERE job = ? AND first >= ? AND first < ? ORDER BY first",
    )?;
    let key = (signed(job.0), signed(range.start()), signed(range.end()));
    let parts = statement.query_and_then(key, |columns| {
        let bytes = columns.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let (counts, rest) = bytes.as_chunks::<EACH>();
        if !rest.is_empty() {
            return Err(altered(job, range));
        }
        let counts = counts.iter().map(|&count| u64::from_le_bytes(count)).collect();
        Ok((unsigned(columns, 0)?, counts))
    })?;
    let parts: Vec<(u64, Vec<u64>)> = parts.collect::<Result<_, _>>()?;
    let parts = parts.iter().map(|(first, counts)| (*first, counts.as_slice()));
    let counts = TaskCounts::of_parts(range, parts);
    match counts.add_up_to(plan, range, row.tally) {
        true => Ok(counts),
        false => Err(altered(job, range)),
    }
}

impl Ledger {
    /// What each task of an accepted row counts; untold if those of some of its tasks are.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Content`], if they are not what the digest of the row says.
    pub fn task_counts(
        &self,
        job: JobId,
        plan: &Plan,
        row: &Row,
    ) -> Result<TaskCounts, LedgerFault> {
        match plan.tells_tasks() {
            true => of_row(&self.db, job, plan.fingerprint(), row),
            false => Ok(TaskCounts::default()),
        }
    }
}

fn altered(job: JobId, range: Range) -> LedgerFault {
    LedgerFault::Content(format!("job {job}: the counts of the tasks {range} were altered"))
}
