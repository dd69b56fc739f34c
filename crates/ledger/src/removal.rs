//! Jobs that are over and are removed.

use farm::JobId;
use rusqlite::Connection;

use super::LedgerFault;
use super::clock::unix_ms;
use super::entry::{signed, unsigned};

/// Removes rows of a job, at most so many of all tables together, and once none are left, the job
/// itself. Returns whether all of it is gone. What hangs together goes together: whoever opens the
/// ledger meanwhile finds it sound.
pub(super) fn remove_some(db: &Connection, job: JobId, most: usize) -> Result<bool, LedgerFault> {
    let id = signed(job.0);
    db.prepare_cached(
        "INSERT OR IGNORE INTO removed (job, owner, problem, n, method, parameter, state, total, removed_at) \
         SELECT id, owner, problem, n, method, parameter, state, total, ? FROM jobs WHERE id = ?",
    )?
    .execute((unix_ms(), id))?;
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

/// Removes the first accepted ranges of a job, at most so many, with their second counts. Returns how
/// many there were.
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
