//! Reads a whole ledger and reports what is damaged in it.
//!
//! SQLite checks the structure of the file. Then each row is read with its checksum, and all rows
//! are summed again. Opening a ledger checks less, and ends at the first fault.

use std::path::Path;

use farm::rules::StoredJob;
use farm::{Check, IntervalSet, JobId, JobState};
use rusqlite::{Connection, Row};

use super::entry::{COLUMNS, WIDTH, read_check, read_row, read_state, signed, unsigned};
use super::place;
use super::restore::{JOBS, read_job};
use super::{LedgerFault, format, open, task_counts, wait};

/// The result of a scrub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Jobs.
    pub jobs: u64,
    /// Accepted ranges.
    pub ranges: u64,
    /// Second counts.
    pub audits: u64,
    /// Counts that are kept as evidence of disputes.
    pub disputes: u64,
    /// A sentence about each of the first damages, [`ScrubReport::DESCRIBED`] at most.
    pub damages: Vec<String>,
    /// Number of all damages.
    pub damaged: u64,
}

/// Reads the ledger in `path` as it is at one moment. Somebody else may write it meanwhile.
///
/// # Errors
///
/// [`LedgerFault`], if it is no ledger of this format, or cannot be read. What is damaged in it is
/// no error.
pub fn scrub(path: &Path) -> Result<ScrubReport, LedgerFault> {
    crate::check_name(path)?;
    place::warn_of_missing_log(path)?;
    let mut db = format::reader(path)?;
    db.busy_handler(Some(wait::for_others))?;
    db.execute_batch("BEGIN")?;
    format::check(&db)?;
    let mut report = ScrubReport::default();
    let check = "PRAGMA integrity_check";
    report.each(&db, check, None, |row| match row.get::<_, String>(0)? {
        word if word == "ok" => Ok(()),
        word => Err(content(word)),
    })?;
    if db.prepare("PRAGMA foreign_key_check")?.exists([])? {
        report.note(content(open::OF_NO_JOB.into()))?;
    }
    let mut jobs = Vec::new();
    report.each(&db, "SELECT id FROM jobs ORDER BY id", None, |row| {
        jobs.push(JobId(unsigned(row, 0)?));
        Ok(())
    })?;
    for id in jobs {
        report.jobs += 1;
        if let Err(fault) = report.job(&db, id) {
            report.note(fault)?;
        }
    }
    Ok(report)
}

impl ScrubReport {
    /// How many damages are described.
    pub const DESCRIBED: usize = 100;

    /// Notes a damage.
    ///
    /// # Errors
    ///
    /// What is no damage: the file cannot be read.
    fn note(&mut self, fault: LedgerFault) -> Result<(), LedgerFault> {
        match &fault {
            LedgerFault::Sqlite(error) if !LedgerFault::is_damage(error) => return Err(fault),
            LedgerFault::Sqlite(_) | LedgerFault::Content(_) | LedgerFault::Version(_) => {}
            _ => return Err(fault),
        }
        self.damaged += 1;
        if self.damages.len() < ScrubReport::DESCRIBED {
            self.damages.push(fault.to_string());
        }
        Ok(())
    }

    /// Reads each row of a query, about a job or about nothing. Returns how many there are.
    fn each(
        &mut self,
        db: &Connection,
        query: &str,
        job: Option<JobId>,
        mut read: impl FnMut(&Row<'_>) -> Result<(), LedgerFault>,
    ) -> Result<u64, LedgerFault> {
        let mut statement = db.prepare(query)?;
        let job = job.map(|job| signed(job.0));
        let mut rows = statement.query(rusqlite::params_from_iter(job))?;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            number += 1;
            read(row).or_else(|fault| self.note(fault))?;
        }
        Ok(number)
    }

    /// Reads everything there is about a job.
    fn job(&mut self, db: &Connection, id: JobId) -> Result<(), LedgerFault> {
        let query = format!("{JOBS} WHERE id = ?");
        let job = db.query_row_and_then(&query, [signed(id.0)], read_job)?;
        let (mut covered, mut sum, before) = (IntervalSet::new(), 0_u128, self.damaged);
        let query = format!(
            "SELECT {COLUMNS}, audit, EXISTS (SELECT 1 FROM audits a WHERE a.job = t.job AND a.first = t.first \
             AND a.past = t.past AND (a.count, a.residue, a.digest) = (t.count, t.residue, t.digest)), task_counts \
             FROM ranges t WHERE job = ? ORDER BY first"
        );
        self.ranges += self.each(db, &query, Some(id), |columns| {
            let (row, check) = (read_row(id, columns)?, read_check(columns, WIDTH)?);
            let range = row.range;
            if covered.within(range).next().is_some() {
                return Err(content(format!("job {id}: {range} overlaps another range")));
            }
            covered.insert(range);
            sum = sum.saturating_add(row.checked_count.count.into());
            if check == Check::Agreed && !columns.get::<_, bool>(WIDTH + 1)? {
                let text = "is said to be confirmed, and nothing confirms it";
                return Err(content(format!("job {id}: {range} {text}")));
            }
            let counts = task_counts::read(columns, WIDTH + 2, id, range)?;
            task_counts::of_row(counts, id, &job.spec.plan, &row).map(drop)
        })?;
        let query = format!(
            "SELECT {COLUMNS}, EXISTS (SELECT 1 FROM ranges r WHERE r.job = t.job AND r.first = t.first \
             AND r.past = t.past AND r.audit = 2) FROM audits t WHERE job = ? ORDER BY first"
        );
        self.audits += self.each(db, &query, Some(id), |columns| {
            let range = read_row(id, columns)?.range;
            if columns.get::<_, bool>(WIDTH)? {
                Ok(())
            } else {
                Err(content(format!("job {id}: a second count of {range} confirms nothing")))
            }
        })?;
        let query = format!("SELECT {COLUMNS}, state FROM disputes WHERE job = ? ORDER BY rowid");
        self.disputes += self.each(db, &query, Some(id), |columns| {
            read_row(id, columns)?;
            read_state(columns, WIDTH).map(drop)
        })?;
        if self.damaged == before { add_up(&job, &covered, sum) } else { Ok(()) }
    }
}

/// Compares a job's ranges with what the job says.
fn add_up(job: &StoredJob, covered: &IntervalSet, sum: u128) -> Result<(), LedgerFault> {
    let (id, wanted) = (job.id, job.spec.slice.ordinals(job.spec.plan.tasks));
    if !covered.iter().all(|range| wanted.contains(range)) {
        return Err(content(format!("job {id} has counts of tasks that its plan does not have")));
    }
    if matches!(job.state, JobState::Done | JobState::Suspended) && *covered != wanted {
        return Err(content(format!("job {id} has ended, and not all of its tasks have a count")));
    }
    if job.total.is_some_and(|total| total != sum) {
        Err(content(format!("the total of job {id} is not the sum of its counts")))
    } else {
        Ok(())
    }
}

fn content(text: String) -> LedgerFault {
    LedgerFault::Content(text)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{ledger_in, range, state};

    /// Reads a ledger of 30 ranges, after `harm` was done to it.
    fn scrubbed(harm: &str) -> ScrubReport {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let ledger = ledger_in(&path);
        // Every second range, because neighbours would become one.
        let ranges: Vec<_> = (0..29).map(|at| range(11 + 3 * at, 13 + 3 * at, 1)).collect();
        ledger.apply(&ranges).expect("they are written");
        ledger.apply(&[state(JobState::Paused)]).expect("it is written");
        ledger.db.pragma_update(None, "foreign_keys", false).expect("it is SQL");
        ledger.db.execute_batch(harm).expect("it is SQL");
        scrub(&path).expect("it can be read")
    }

    #[test]
    fn a_sound_ledger_is_read_whole() {
        let expected = ScrubReport { jobs: 1, ranges: 30, ..ScrubReport::default() };
        assert_eq!(scrubbed(""), expected);
    }

    #[test]
    fn all_that_is_damaged_is_found() {
        for (harm, words) in [
            (
                "count = '2' WHERE first IN (20, 50)",
                ["ordinal 20 that was altered", "ordinal 50 that was altered"],
            ),
            (
                "audit = 2 WHERE first IN (20, 50)",
                ["[20, 22) is said to be confirmed", "[50, 52) is said"],
            ),
            (
                "kernel = 'abacus' WHERE first IN (20, 50)",
                ["ordinal 20 by a kernel", "ordinal 50 by a kernel"],
            ),
            (
                "task_counts = zeroblob(7) WHERE first IN (20, 50)",
                ["tasks [20, 22) were altered", "tasks [50, 52) were altered"],
            ),
        ] {
            let report = scrubbed(&format!("UPDATE ranges SET {harm}"));
            assert_eq!((report.ranges, report.damaged), (30, 2), "{harm}: {report:?}");
            for (damage, word) in report.damages.iter().zip(words) {
                assert!(damage.contains(word), "{damage}: {word}");
            }
        }
        for (harm, word) in [
            ("UPDATE jobs SET total = '1', state = 'done'", "not all of its tasks"),
            ("UPDATE jobs SET total = '1'", "not the sum"),
            ("UPDATE jobs SET state = 'asleep'", "unknown state"),
            ("DELETE FROM jobs", "rows of jobs"),
            (
                "INSERT INTO disputes SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
              build, lease + 1, busy_us, accepted_at, checksum, 0 FROM ranges WHERE first = 32",
                "ordinal 32 that was altered",
            ),
            (
                "INSERT INTO audits SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
              build, lease, busy_us, accepted_at, checksum FROM ranges WHERE first = 32",
                "confirms nothing",
            ),
        ] {
            let report = scrubbed(harm);
            assert!(
                report.damages.iter().any(|damage| damage.contains(word)),
                "{word}: {report:?}"
            );
        }
    }
}
