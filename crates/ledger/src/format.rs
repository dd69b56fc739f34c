//! The version of the tables, and how a ledger of the version before becomes one of this version.
//!
//! An older ledger is read through a view that shows its tables as they are now, so that nothing is written before all
//! of it was found sound.

use rusqlite::Connection;

use super::LedgerFault;

/// The version that this program writes.
pub(super) const FORMAT: i32 = 6;
/// The oldest version that this program reads.
const OLDEST: i32 = 5;

/// Version 6 says who submitted a job, and by which name.
const SHOW_5_AS_6: &str =
    "CREATE TEMP VIEW jobs AS SELECT *, '' AS owner, NULL AS key FROM main.jobs";
const CHANGE_5_TO_6: &str = "
    DROP VIEW temp.jobs;
    ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE jobs ADD COLUMN key TEXT;
    CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
    PRAGMA user_version = 6;
";

/// Lets an older ledger be read like one of this version. Writes nothing to it.
///
/// # Errors
///
/// [`LedgerFault::Version`], if its version is not among those that this program reads.
pub(super) fn show(db: &Connection) -> Result<(), LedgerFault> {
    match version(db)? {
        FORMAT => Ok(()),
        5 => Ok(db.execute_batch(SHOW_5_AS_6)?),
        other => Err(LedgerFault::Version(format!(
            "its format is {other}, and this program reads the formats {OLDEST} to {FORMAT}"
        ))),
    }
}

/// Brings a ledger that is shown as one of this version up to date, within a transaction of the caller's.
pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), LedgerFault> {
    if version(db)? < FORMAT {
        db.execute_batch(CHANGE_5_TO_6)?;
    }
    Ok(())
}

fn version(db: &Connection) -> Result<i32, LedgerFault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use farm::{JobId, JobState, LedgerCommand, Method, Origin, Plan, Problem, RestoredJob, Slice};
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckedLedger, Evidence};

    /// A ledger that a program with format 5 has written, as SQL: two jobs that are done, of which one is certified
    /// across owners, one that rests and one that was cancelled; three credentials and a decision about trust.
    const GOLDEN: &str = include_str!("golden/format-5.sql");

    fn golden() -> (TempDir, PathBuf) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let db = Connection::open(&path).expect("it is new");
        db.execute_batch(GOLDEN).expect("it is a dump");
        (folder, path)
    }

    fn columns(path: &Path) -> Vec<String> {
        let db = Connection::open(path).expect("it is there");
        let mut names =
            db.prepare("SELECT name FROM pragma_table_info('jobs')").expect("it is SQL");
        let names = names.query_map([], |row| row.get(0)).expect("it has columns");
        names.collect::<Result<_, _>>().expect("they have names")
    }

    fn check(jobs: &[RestoredJob]) {
        use JobState::{Cancelled, Done, Paused};
        let states: Vec<JobState> = jobs.iter().map(|job| job.state).collect();
        assert_eq!(states, [Done, Done, Paused, Cancelled]);
        let counts = [6, 8].map(vectors::total);
        assert_eq!([jobs[0].total, jobs[1].total], counts);
        assert_eq!((jobs[0].audits_agreed, jobs[1].priority), (3, 3));
        assert!(jobs.iter().all(|job| job.origin == Origin::default()), "nobody knows whose");
    }

    #[test]
    fn a_ledger_of_format_5_is_read_as_it_is_without_changing_it() {
        let (_folder, path) = golden();
        let before = fs::read(&path).expect("it is there");
        let checked = CheckedLedger::open(&path).expect("it is sound");
        check(checked.jobs());
        drop(checked);
        let evidence = Evidence::open(&path).expect("it is sound");
        check(evidence.jobs());
        drop(evidence);
        assert!(fs::read(&path).expect("it is there") == before, "not a byte has changed");
    }

    #[test]
    fn a_ledger_of_format_5_becomes_one_of_this_format_once() {
        let (_folder, path) = golden();
        let origin = Origin { owner: "lab".into(), key: Some("nightly".into()) };
        let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin).expect("it opens");
        assert_eq!(ledger.credentials().expect("they are sound").len(), 3);
        let plan =
            Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 21 };
        let (job, slice) = (JobId(5), Slice::ALL);
        let (priority, audit) = (0, None);
        let new =
            LedgerCommand::CreateJob { job, origin: origin.clone(), plan, slice, priority, audit };
        ledger.apply(&[new]).expect("it has room");
        let again = LedgerCommand::CreateJob {
            job: JobId(6),
            origin: origin.clone(),
            plan,
            slice,
            priority,
            audit,
        };
        ledger.apply(&[again]).expect_err("the key is taken");
        drop(ledger);

        let reopened = CheckedLedger::open_again(&path).expect("it is sound");
        let (old, new) = reopened.jobs().split_at(4);
        check(old);
        assert_eq!(new[0].origin, origin);
        let ledger = reopened.begin().expect("it opens");
        drop(ledger);

        // Its tables are those of a new ledger.
        let fresh = path.with_file_name("fresh.db");
        drop(CheckedLedger::open(&fresh).and_then(CheckedLedger::begin).expect("it opens"));
        assert_eq!(columns(&path), columns(&fresh));
    }
}
