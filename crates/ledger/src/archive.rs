//! Jobs that are over and were put away: a coordinator that is started does not read them.

use farm::rules::Store;
use farm::{Counted, JobId, JobView, Times};
use rusqlite::Connection;

use super::entry::{signed, unsigned};
use super::open::unix_ms;
use super::store::SqlStore;
use super::{LedgerFault, Look};

/// Puts a job into the archive. The archive keeps the name that the job loses.
pub(super) fn put(db: &Connection, job: JobId, counted: &Counted) -> Result<(), LedgerFault> {
    let Counted { tasks, total, audits_wanted, audits_agreed } = counted;
    db.prepare_cached(
        "INSERT OR REPLACE INTO archive (job, key, tasks_done, counted, audits_wanted, audits_agreed, archived_at) \
         SELECT id, key, ?, ?, ?, ?, ? FROM jobs WHERE id = ?",
    )?
    .execute((
        signed(*tasks),
        total.to_string(),
        signed(*audits_wanted),
        signed(*audits_agreed),
        unix_ms(),
        signed(job.0),
    ))?;
    db.prepare_cached("UPDATE jobs SET key = NULL WHERE id = ?")?.execute([signed(job.0)])?;
    Ok(())
}

/// Takes a job out of the archive.
pub(super) fn take_out(db: &Connection, job: JobId) -> Result<(), LedgerFault> {
    let query = "UPDATE archive SET returned_at = ? WHERE job = ?";
    db.prepare_cached(query)?.execute((unix_ms(), signed(job.0)))?;
    Ok(())
}

/// Removes rows of a job, at most so many of all tables together, and once none are left, the job itself. Returns
/// whether all of it is gone. What hangs together goes together: whoever opens the ledger meanwhile finds it sound.
pub(super) fn remove_some(db: &Connection, job: JobId, most: usize) -> Result<bool, LedgerFault> {
    let id = signed(job.0);
    db.prepare_cached(
        "INSERT OR IGNORE INTO removed (job, owner, problem, n, method, parameter, state, total, removed_at) \
         SELECT id, owner, problem, n, method, parameter, state, total, ? FROM jobs WHERE id = ?",
    )?
    .execute((unix_ms(), id))?;
    db.prepare_cached("DELETE FROM archive WHERE job = ?")?.execute([id])?;
    db.prepare_cached("UPDATE jobs SET key = NULL WHERE id = ?")?.execute([id])?;
    let mut left = most;
    left -= remove_rows(db, id, ("disputes", "rowid"), left)?;
    left -= remove_ranges(db, id, left)?;
    for table in [("audit_policies", "rowid"), ("changes", "rowid")] {
        left -= remove_rows(db, id, table, left)?;
    }
    if left == 0 {
        return Ok(false);
    }
    db.prepare_cached("DELETE FROM jobs WHERE id = ?")?.execute([id])?;
    Ok(true)
}

/// Removes the first accepted ranges of a job, at most so many, with their second counts. Returns
/// how many there were.
fn remove_ranges(db: &Connection, id: i64, most: usize) -> Result<usize, LedgerFault> {
    let query =
        "SELECT max(past) FROM (SELECT past FROM ranges WHERE job = ? ORDER BY first LIMIT ?)";
    let past: Option<i64> =
        db.prepare_cached(query)?.query_row((id, signed(most as u64)), |row| row.get(0))?;
    let Some(past) = past else { return Ok(0) };
    let query = "DELETE FROM audits WHERE job = ? AND first < ?";
    db.prepare_cached(query)?.execute((id, past))?;
    let query = "DELETE FROM ranges WHERE job = ? AND first < ?";
    Ok(db.prepare_cached(query)?.execute((id, past))?)
}

/// Removes the first rows of a job in a table, at most so many. Returns how many there were.
fn remove_rows(
    db: &Connection,
    id: i64,
    (table, row): (&str, &str),
    most: usize,
) -> Result<usize, LedgerFault> {
    let query = format!(
        "DELETE FROM {table} WHERE job = ?1 AND {row} IN \
         (SELECT {row} FROM {table} WHERE job = ?1 ORDER BY {row} LIMIT ?2)"
    );
    Ok(db.prepare_cached(&query)?.execute((id, signed(most as u64)))?)
}

/// The greatest number that a job has or had; 0 if there was none.
pub(super) fn last_job(db: &Connection) -> Result<u64, LedgerFault> {
    let query = "SELECT max(coalesce((SELECT max(id) FROM jobs), 0), coalesce((SELECT max(job) FROM removed), 0))";
    db.query_row_and_then(query, [], |row| unsigned(row, 0))
}

impl Look {
    /// The first `most` jobs of the archive from the number `from` on, the oldest first.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn archived(&self, from: JobId, most: usize) -> Result<Vec<JobView>, LedgerFault> {
        let mut statement = self.db.prepare(
            "SELECT job, archive.key, tasks_done, counted, audits_wanted, audits_agreed, submitted_at, ended_at \
             FROM archive JOIN jobs ON id = job WHERE returned_at IS NULL AND job >= ? ORDER BY job LIMIT ?",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let views = statement.query_and_then((signed(from.0), most), |row| {
            let id = JobId(unsigned(row, 0)?);
            let mut store = SqlStore(&self.db);
            let gone = || LedgerFault::Content(format!("job {id} is archived, and not there"));
            let mut job = store.job(id)?.ok_or_else(gone)?;
            job.origin.key = row.get(1)?;
            let total: String = row.get(3)?;
            let unreadable = |_| LedgerFault::Content(format!("job {id} has an unreadable sum"));
            let counted = Counted {
                tasks: unsigned(row, 2)?,
                total: total.parse().map_err(unreadable)?,
                audits_wanted: unsigned(row, 4)?,
                audits_agreed: unsigned(row, 5)?,
            };
            let times = Times { submitted_at_ms: row.get(6)?, ended_at_ms: row.get(7)? };
            Ok(JobView::archived(job, store.policy(id)?, counted, times))
        })?;
        views.collect()
    }

    /// The first `most` jobs that are over and not in the archive, and that ended, or came back from the archive,
    /// before a time: Unix milliseconds.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn at_rest_since(&self, before_ms: i64, most: usize) -> Result<Vec<JobId>, LedgerFault> {
        let mut statement = self.db.prepare(
            "SELECT id FROM jobs LEFT JOIN archive ON job = id WHERE state IN ('done', 'cancelled') \
             AND (job IS NULL OR returned_at IS NOT NULL) AND coalesce(returned_at, ended_at) < ? \
             ORDER BY id LIMIT ?",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let jobs =
            statement.query_and_then((before_ms, most), |row| unsigned(row, 0).map(JobId))?;
        jobs.collect()
    }
}
