//! The version of the tables, and how a ledger of the version before becomes one of this version.
//!
//! An older ledger is read through a view that shows its tables as they are now, so that nothing is written before all
//! of it was found sound.

use rusqlite::Connection;

use super::LedgerFault;

/// The version that this program writes.
pub(super) const FORMAT: i32 = 7;
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

/// Version 7 has a table of builds, and other tables name them by their ids. Until then a text is its own id.
const SHOW_6_AS_7: &str = "
    CREATE TEMP TABLE builds (id TEXT PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO temp.builds SELECT build, build FROM main.ranges
        UNION SELECT build, build FROM main.audits UNION SELECT build, build FROM main.disputes;
";
const CHANGE_6_TO_7: &str = "
    CREATE TABLE main.builds (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO main.builds (text) SELECT text FROM temp.builds;
    DROP TABLE temp.builds;
    ALTER TABLE ranges ADD COLUMN build_id INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE audits ADD COLUMN build_id INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE disputes ADD COLUMN build_id INTEGER NOT NULL DEFAULT 0;
    UPDATE ranges SET build_id = (SELECT id FROM builds WHERE text = build);
    UPDATE audits SET build_id = (SELECT id FROM builds WHERE text = build);
    UPDATE disputes SET build_id = (SELECT id FROM builds WHERE text = build);
    ALTER TABLE ranges DROP COLUMN build;
    ALTER TABLE audits DROP COLUMN build;
    ALTER TABLE disputes DROP COLUMN build;
    ALTER TABLE ranges RENAME COLUMN build_id TO build;
    ALTER TABLE audits RENAME COLUMN build_id TO build;
    ALTER TABLE disputes RENAME COLUMN build_id TO build;
    PRAGMA user_version = 7;
";

/// Lets an older ledger be read like one of this version. Writes nothing to it.
///
/// # Errors
///
/// [`LedgerFault::Version`], if its version is not among those that this program reads.
pub(super) fn show(db: &Connection) -> Result<(), LedgerFault> {
    let version = version(db)?;
    if !(OLDEST..=FORMAT).contains(&version) {
        return Err(LedgerFault::Version(format!(
            "its format is {version}, and this program reads the formats {OLDEST} to {FORMAT}"
        )));
    }
    if version < 6 {
        db.execute_batch(SHOW_5_AS_6)?;
    }
    if version < 7 {
        db.execute_batch(SHOW_6_AS_7)?;
    }
    Ok(())
}

/// Brings a ledger that is shown as one of this version up to date, within a transaction of the caller's.
pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), LedgerFault> {
    let version = version(db)?;
    if version < 6 {
        db.execute_batch(CHANGE_5_TO_6)?;
    }
    if version < 7 {
        db.execute_batch(CHANGE_6_TO_7)?;
    }
    Ok(())
}

fn version(db: &Connection) -> Result<i32, LedgerFault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use farm::{JobId, JobState, LedgerCommand, Method, Origin, Plan, Problem, RestoredJob, Slice};
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckedLedger, Evidence};

    /// A ledger that a program with format 5 has written, as SQL: two jobs that are done, of which one is certified
    /// across owners, one that rests and one that was cancelled; three credentials and a decision about trust.
    const GOLDEN: &str = include_str!("golden/format-5.sql");
    /// The number of its accepted ranges, second counts and disputes.
    const ROWS: u32 = 13;

    fn golden() -> (TempDir, PathBuf) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let db = Connection::open(&path).expect("it is new");
        db.execute_batch(GOLDEN).expect("it is a dump");
        (folder, path)
    }

    /// All tables and their columns with their types.
    fn columns(path: &Path) -> BTreeSet<(String, String, String)> {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c \
                     WHERE m.type = 'table'";
        let mut columns = db.prepare(query).expect("it is SQL");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let columns = columns.query_map([], read).expect("it has tables");
        columns.collect::<Result<_, _>>().expect("they have columns")
    }

    /// What counted the rows of a ledger: how many rows are by each build.
    fn builds(path: &Path) -> Vec<(String, u32)> {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT text, count(*) FROM builds JOIN \
                     (SELECT build FROM ranges UNION ALL SELECT build FROM audits UNION ALL \
                      SELECT build FROM disputes) ON build = id GROUP BY id";
        let mut builds = db.prepare(query).expect("it is SQL");
        let builds = builds.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        builds.collect::<Result<_, _>>().expect("they are texts and numbers")
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
        assert_eq!(builds(&path), [("0.1.0".to_owned(), ROWS)], "no row has lost its build");
    }
}
