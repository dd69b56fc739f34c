//! Reads a whole ledger and says what is damaged in it, in steps that may be as slow as one likes.
//!
//! ```text
//!   for each job   ranges: seals, no overlap, second counts of confirmed ones, what single tasks count;
//!                  audits: seals;  disputes: seals
//!                  and, if it did not change meanwhile: the total is the sum, and a job that is done is covered
//!   for each table of decisions: its seal
//! ```
//!
//! Opening a ledger checks the same, but ends at the first fault. A scrub goes on, so that all that is damaged is known,
//! and a disk that loses what is rarely read is noticed while there are still copies.

use std::collections::VecDeque;
use std::path::Path;

use farm::rules::StoredJob;
use farm::{Check, Fingerprint, IntervalSet, JobId, JobState, Plan, Range, Row};
use rusqlite::{Connection, OpenFlags};

use super::entry::{COLUMNS, WIDTH, read_check, read_row, read_state, signed};
use super::place;
use super::restore::{JOB, read_job};
use super::table_seals::{self, TABLES};
use super::{LedgerFault, format, open, task_counts, wait};

/// A ledger that is being read.
#[derive(Debug)]
pub struct Scrub {
    db: Connection,
    /// Jobs that are not begun, the next one first.
    jobs: VecDeque<JobId>,
    /// Tables of decisions that are not read, which come behind the jobs.
    tables: VecDeque<&'static str>,
    now: Option<Reading>,
    report: ScrubReport,
}

/// What was read, and what is damaged of it.
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
    /// Rows of decisions, those of disputes again.
    pub decisions: u64,
    /// A sentence about each of the first damages.
    pub damages: Vec<String>,
    /// Number of all damages.
    pub damaged: u64,
}

/// A job that is being read.
#[derive(Debug)]
struct Reading {
    job: JobId,
    /// Its plan, if single tasks of it are told.
    tells_tasks: Option<Fingerprint>,
    part: Part,
    /// The key of the row before the next one: the first ordinal, or the number of a dispute.
    after: i64,
    /// What the whole ledger had decided when the job was begun. A number that has changed says that rows may have moved.
    decisions: Option<i64>,
    covered: IntervalSet,
    sum: u128,
    is_sound: bool,
}

/// The tables of a job, in the order in which they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Ranges,
    Audits,
    Disputes,
}

impl Scrub {
    /// How many damages are described.
    pub const DESCRIBED: usize = 100;

    /// Begins with the ledger in `path`, which somebody else may write meanwhile.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it is no ledger, or not of a format that this program knows.
    pub fn open(path: &Path) -> Result<Scrub, LedgerFault> {
        place::warn_of_missing_log(path)?;
        let mut db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.busy_handler(Some(wait::for_others))?;
        format::check(&db)?;
        let mut jobs = db.prepare("SELECT id FROM jobs ORDER BY id")?;
        let ids = jobs.query_and_then([], |row| super::entry::unsigned(row, 0).map(JobId))?;
        let ids = ids.collect::<Result<_, _>>()?;
        drop(jobs);
        let tables = TABLES.into_iter().collect();
        Ok(Scrub { db, jobs: ids, tables, now: None, report: ScrubReport::default() })
    }

    /// Reads all of it, as it is at one moment, and the structure of the file too.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the file cannot be read. What is damaged in it is no error.
    pub fn all(mut self) -> Result<ScrubReport, LedgerFault> {
        self.db.execute_batch("BEGIN")?;
        let mut check = self.db.prepare("PRAGMA integrity_check")?;
        let words =
            check.query_and_then([], |row| Ok::<_, LedgerFault>(row.get::<_, String>(0)?))?;
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        drop(check);
        for word in words.into_iter().filter(|word| word != "ok") {
            match LedgerFault::from_check(word) {
                LedgerFault::Content(damage) => self.damaged(damage),
                unread => return Err(unread),
            }
        }
        if self.db.prepare("PRAGMA foreign_key_check")?.exists([])? {
            self.damaged(open::OF_NO_JOB.into());
        }
        while self.step(usize::MAX)? {}
        Ok(self.report)
    }

    /// Reads at most so many rows more, or a table of decisions, whose seal is about all of its rows at one moment. Returns
    /// whether there are more.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the file cannot be read.
    pub fn step(&mut self, rows: usize) -> Result<bool, LedgerFault> {
        let reading = match self.now.take() {
            Some(reading) => Some(reading),
            None => self.next_job()?,
        };
        let Some(mut reading) = reading else {
            let Some(table) = self.tables.pop_front() else { return Ok(false) };
            match table_seals::check(&self.db, table) {
                Ok(rows) => self.report.decisions += rows,
                Err(LedgerFault::Content(damage)) => self.damaged(damage),
                Err(LedgerFault::Sqlite(error)) if LedgerFault::is_damage(&error) => {
                    self.damaged(format!("its table `{table}`: {error}"));
                }
                Err(unread) => return Err(unread),
            }
            return Ok(!self.tables.is_empty());
        };
        let read = match self.read(&mut reading, rows) {
            // Pages that hang together wrongly: the rest of the job is not to be reached.
            Err(LedgerFault::Sqlite(error)) if LedgerFault::is_damage(&error) => {
                self.damaged(format!("job {}: {error}", reading.job));
                return Ok(true);
            }
            read => read?,
        };
        if read == rows {
            self.now = Some(reading);
            return Ok(true);
        }
        reading.part = match reading.part {
            Part::Ranges => {
                self.close_ranges(&reading)?;
                Part::Audits
            }
            Part::Audits => Part::Disputes,
            Part::Disputes => return Ok(!(self.jobs.is_empty() && self.tables.is_empty())),
        };
        self.now = Some(Reading { after: -1, ..reading });
        Ok(true)
    }

    /// What was read until now.
    pub fn report(&self) -> &ScrubReport {
        &self.report
    }

    fn next_job(&mut self) -> Result<Option<Reading>, LedgerFault> {
        let Some(job) = self.jobs.pop_front() else { return Ok(None) };
        self.report.jobs += 1;
        // What is wrong with the job itself is told at the end of its ranges.
        let plan = self.job(job)?.and_then(Result::ok).map(|job| job.plan);
        let plan = if self.is_leaving(job)? { None } else { plan };
        Ok(Some(Reading {
            job,
            tells_tasks: plan.filter(Plan::tells_tasks).map(|plan| plan.fingerprint()),
            part: Part::Ranges,
            after: -1,
            decisions: self.decisions(),
            covered: IntervalSet::new(),
            sum: 0,
            is_sound: true,
        }))
    }

    /// Whether a job is being removed, some rows at a time.
    fn is_leaving(&self, job: JobId) -> Result<bool, LedgerFault> {
        let query = "SELECT 1 FROM removed WHERE job = ?";
        Ok(self.db.prepare_cached(query)?.exists([signed(job.0)])?)
    }

    /// A job, and what is wrong with it if it cannot be read; `None` if it is not there.
    fn job(&self, id: JobId) -> Result<Option<Result<StoredJob, LedgerFault>>, LedgerFault> {
        let mut statement =
            self.db.prepare_cached(&format!("SELECT {JOB} FROM jobs WHERE id = ?"))?;
        let mut rows = statement.query([signed(id.0)])?;
        Ok(rows.next()?.map(read_job))
    }

    fn decisions(&self) -> Option<i64> {
        self.db.query_row("SELECT decisions FROM identity", [], |row| row.get(0)).ok()
    }

    /// Reads rows of one table. Returns how many there were.
    fn read(&mut self, reading: &mut Reading, most: usize) -> Result<usize, LedgerFault> {
        let (key, table, own) = match reading.part {
            Part::Ranges => (
                "first",
                "ranges t",
                ", audit, EXISTS (SELECT 1 FROM audits a \
                WHERE a.job = t.job AND a.first = t.first AND a.past = t.past \
                AND (a.count, a.residue, a.digest) = (t.count, t.residue, t.digest))",
            ),
            Part::Audits => (
                "first",
                "audits t",
                ", EXISTS (SELECT 1 FROM ranges r \
                WHERE r.job = t.job AND r.first = t.first AND r.past = t.past AND r.audit = 2)",
            ),
            Part::Disputes => ("rowid", "disputes t", ", state"),
        };
        let query = format!(
            "SELECT {COLUMNS}{own}, t.{key} FROM {table} WHERE job = ? AND t.{key} > ? ORDER BY t.{key} LIMIT ?"
        );
        let mut found = Vec::new();
        let mut read = 0;
        let most_rows = i64::try_from(most).unwrap_or(i64::MAX);
        {
            let mut statement = self.db.prepare_cached(&query)?;
            let mut rows = statement.query((signed(reading.job.0), reading.after, most_rows))?;
            while let Some(columns) = rows.next()? {
                read += 1;
                reading.after = columns.get(if reading.part == Part::Ranges {
                    WIDTH + 2
                } else {
                    WIDTH + 1
                })?;
                found.extend(reading.look_at(&self.db, columns).err());
            }
        }
        let count = read as u64;
        match reading.part {
            Part::Ranges => self.report.ranges += count,
            Part::Audits => self.report.audits += count,
            Part::Disputes => self.report.disputes += count,
        }
        reading.is_sound &= found.is_empty();
        found.into_iter().for_each(|damage| self.damaged(damage.to_string()));
        Ok(read)
    }

    /// Compares a job's ranges with what the job says, if both were there at the same time.
    fn close_ranges(&mut self, reading: &Reading) -> Result<(), LedgerFault> {
        let job = reading.job;
        if reading.tells_tasks.is_some() && !self.is_leaving(job)? {
            for first in task_counts::of_no_row(&self.db, job)? {
                let damage = format!(
                    "job {job}: what tasks from {first} on count belongs to no accepted range"
                );
                self.damaged(damage);
            }
        }
        if self.decisions() != reading.decisions || !reading.is_sound {
            return Ok(());
        }
        let job = match self.job(reading.job)? {
            Some(Ok(job)) => job,
            // The job itself is damaged, or was removed.
            Some(Err(fault)) => {
                self.damaged(fault.to_string());
                return Ok(());
            }
            None => return Ok(()),
        };
        let (id, wanted) = (job.id, job.slice.ordinals(job.plan.tasks));
        if !reading.covered.iter().all(|range| wanted.contains(range)) {
            self.damaged(format!("job {id} has counts of tasks that its plan does not have"));
        }
        if matches!(job.state, JobState::Done | JobState::Held) && reading.covered != wanted {
            self.damaged(format!("job {id} has ended, and not all of its tasks have a count"));
        }
        if job.total.is_some_and(|total| total != reading.sum) {
            self.damaged(format!("the total of job {id} is not the sum of its counts"));
        }
        Ok(())
    }

    fn damaged(&mut self, damage: String) {
        self.report.damaged += 1;
        if self.report.damages.len() < Scrub::DESCRIBED {
            self.report.damages.push(damage);
        }
    }
}

impl Reading {
    /// Reads a row, and notes what it says.
    fn look_at(&mut self, db: &Connection, columns: &rusqlite::Row<'_>) -> Result<(), LedgerFault> {
        let job = self.job;
        let row = read_row(job, columns)?;
        let range = row.range;
        match self.part {
            Part::Ranges => {
                let check = read_check(columns, WIDTH)?;
                let has_second: bool = columns.get(WIDTH + 1)?;
                self.note(&row)?;
                if let Some(plan) = self.tells_tasks {
                    task_counts::check_row(db, job, plan, &row)?;
                }
                if check == Check::Agreed && !has_second {
                    return Err(LedgerFault::Content(format!(
                        "job {job}: {range} is said to be confirmed, and nothing confirms it"
                    )));
                }
            }
            Part::Audits => {
                if !columns.get::<_, bool>(WIDTH)? {
                    return Err(LedgerFault::Content(format!(
                        "job {job}: a second count of {range} confirms nothing"
                    )));
                }
            }
            Part::Disputes => {
                read_state(columns, WIDTH)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, row: &Row) -> Result<(), LedgerFault> {
        let (job, range): (JobId, Range) = (self.job, row.range);
        if self.covered.within(range).next().is_some() {
            return Err(LedgerFault::Content(format!("job {job}: {range} overlaps another range")));
        }
        self.covered.insert(range);
        self.sum = self.sum.saturating_add(row.tally.count.into());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{ledger_in, range, state};

    /// Reads a ledger of 30 ranges, after `harm` was done to it.
    fn scrubbed(harm: &str, rows: usize) -> ScrubReport {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let ledger = ledger_in(&path);
        let ranges: Vec<_> = (0..29).map(|at| range(10 + 3 * at, 13 + 3 * at, 1)).collect();
        ledger.apply(&ranges).expect("they are written");
        ledger.apply(&[state(JobState::Paused)]).expect("it is written");
        ledger.db.pragma_update(None, "foreign_keys", false).expect("it is SQL");
        ledger.db.execute_batch(harm).expect("it is SQL");
        let mut scrub = Scrub::open(&path).expect("it is a ledger");
        if rows == usize::MAX {
            return scrub.all().expect("it can be read");
        }
        while scrub.step(rows).expect("it can be read") {}
        scrub.report().clone()
    }

    #[test]
    fn everything_is_read_in_steps_of_any_size() {
        for rows in [1, 3, 30, 1_000, usize::MAX] {
            let report = scrubbed("", rows);
            // An identity, an opening, a job and its change.
            let expected =
                ScrubReport { jobs: 1, ranges: 30, decisions: 4, ..ScrubReport::default() };
            assert_eq!(report, expected, "{rows} rows at a time");
        }
    }

    #[test]
    fn all_that_is_damaged_is_found() {
        let plain = "UPDATE ranges SET ";
        for (harm, words) in [
            (
                "count = '2' WHERE first IN (19, 49)",
                ["ordinal 19 that was altered", "ordinal 49 that was altered"],
            ),
            (
                "signatures = zeroblob(64) WHERE first IN (19, 49)",
                ["ordinal 19 that was altered", "ordinal 49 that was altered"],
            ),
            (
                "signatures = zeroblob(65) WHERE first IN (19, 49)",
                ["[19, 22) has unreadable signatures", "[49, 52) has unreadable signatures"],
            ),
            (
                "audit = 2 WHERE first IN (19, 49)",
                ["[19, 22) is said to be confirmed", "[49, 52) is said"],
            ),
            (
                "kernel = 'abacus' WHERE first IN (19, 49)",
                ["ordinal 19 by a kernel", "ordinal 49 by a kernel"],
            ),
        ] {
            for rows in [7, usize::MAX] {
                let report = scrubbed(&format!("{plain}{harm}"), rows);
                assert_eq!((report.ranges, report.damaged), (30, 2), "{harm}");
                for (damage, word) in report.damages.iter().zip(words) {
                    assert!(damage.contains(word), "{damage}: {word}");
                }
            }
        }
        for (harm, word) in [
            ("UPDATE jobs SET total = '1', state = 'done'", "not the sum"),
            (
                "UPDATE jobs SET state = 'done'; DELETE FROM ranges WHERE first = 19",
                "not all of its tasks",
            ),
            ("UPDATE jobs SET state = 'asleep'", "unknown state"),
            (
                "INSERT INTO disputes SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
              build, lease + 1, busy_us, accepted_at, seal, 0, signer, signatures FROM ranges WHERE first = 31",
                "ordinal 31 that was altered",
            ),
            (
                "INSERT INTO audits SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
              build, lease, busy_us, accepted_at, seal, signer, signatures FROM ranges WHERE first = 31",
                "confirms nothing",
            ),
        ] {
            let report = scrubbed(harm, 7);
            assert!(
                report.damages.iter().any(|damage| damage.contains(word)),
                "{word}: {report:?}"
            );
        }
    }
}
