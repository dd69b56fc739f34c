//! The version of the tables, and how a ledger of the version before becomes one of this version.
//!
//! An older ledger is read through a view that shows its tables as they are now, so that nothing is written before all
//! of it was found sound.

use rusqlite::Connection;

use super::{LedgerFault, history, table_seals};

/// "QNSL". SQLite keeps it at the place where the command `file` looks for it.
pub(super) const APPLICATION_ID: i32 = 0x514e_534c;
/// The version that this program writes.
pub(super) const FORMAT: i32 = 14;
/// The oldest version that this program reads.
const OLDEST: i32 = 5;

/// One version and the next.
struct Step {
    /// Shows the tables of the version before as those of this version, in views.
    show: &'static str,
    /// Makes it so.
    change: &'static str,
}

/// What is new in each version after the oldest one.
const STEPS: [Step; (FORMAT - OLDEST) as usize] = [
    // Version 6 says who submitted a job, and by which name.
    Step {
        show: "CREATE TEMP VIEW jobs AS SELECT *, '' AS owner, NULL AS key FROM main.jobs;",
        change: "
            ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
            ALTER TABLE jobs ADD COLUMN key TEXT;
            CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;",
    },
    // Version 7 has a table of builds, and other tables name them by their ids. Until then a text is its own id.
    Step {
        show: "
            CREATE TEMP TABLE builds (id TEXT PRIMARY KEY, text TEXT NOT NULL);
            INSERT INTO temp.builds SELECT build, build FROM main.ranges
                UNION SELECT build, build FROM main.audits UNION SELECT build, build FROM main.disputes;
        ",
        change: "
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
        ",
    },
    // Version 8 tells an older copy of a ledger from a later one. Nothing that is shown depends on it.
    Step {
        show: "",
        change: "
            CREATE TABLE identity (
                ledger    TEXT NOT NULL,
                decisions INTEGER NOT NULL,
                is_closed INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX audit_policies_by_job ON audit_policies (job);
            ALTER TABLE openings ADD COLUMN nonce INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE openings ADD COLUMN decisions INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE openings ADD COLUMN gives_up INTEGER NOT NULL DEFAULT 0;",
    },
    // Version 9 has an archive of jobs, and a list of those that were removed.
    Step {
        show: "
            CREATE TEMP TABLE archive (job INTEGER PRIMARY KEY, returned_at INTEGER);
            CREATE TEMP TABLE removed (job INTEGER PRIMARY KEY);
        ",
        change: "
            DROP TABLE temp.archive;
            DROP TABLE temp.removed;
            CREATE TABLE archive (
                job           INTEGER PRIMARY KEY REFERENCES jobs (id),
                key           TEXT,
                tasks_done    INTEGER NOT NULL,
                counted       TEXT NOT NULL,
                audits_wanted INTEGER NOT NULL,
                audits_agreed INTEGER NOT NULL,
                archived_at   INTEGER NOT NULL,
                returned_at   INTEGER
            ) STRICT;
            CREATE TABLE removed (
                job        INTEGER PRIMARY KEY,
                owner      TEXT NOT NULL,
                problem    TEXT NOT NULL,
                n          INTEGER NOT NULL,
                method     TEXT NOT NULL,
                parameter  INTEGER,
                state      TEXT NOT NULL,
                total      TEXT,
                removed_at INTEGER NOT NULL
            ) STRICT;",
    },
    // Version 10 says how jobs were changed, and who asked for that. Of the changes before, only the ends are known. What
    // brought ledgers from version 8 to 9 gave them a second identity, which nobody has seen.
    Step {
        show: "",
        change: "
            ALTER TABLE audit_policies ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';
            CREATE TABLE changes (
                job        INTEGER NOT NULL REFERENCES jobs (id),
                state      TEXT,
                priority   INTEGER,
                asked_by   TEXT NOT NULL,
                changed_at INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX changes_by_job ON changes (job);
            INSERT INTO changes SELECT id, state, NULL, '', ended_at FROM jobs WHERE ended_at IS NOT NULL;
            DELETE FROM identity WHERE rowid > (SELECT min(rowid) FROM identity);",
    },
    // Version 11 has the signatures of counts. Before, nobody signed.
    Step {
        show: "
            CREATE TEMP TABLE signers (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
            CREATE TEMP VIEW ranges AS SELECT *, NULL AS signer, NULL AS signatures FROM main.ranges;
            CREATE TEMP VIEW audits AS SELECT *, NULL AS signer, NULL AS signatures FROM main.audits;
            CREATE TEMP VIEW disputes AS
                SELECT rowid, *, NULL AS signer, NULL AS signatures FROM main.disputes;
        ",
        change: "
            DROP TABLE temp.signers;
            CREATE TABLE signers (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
            ALTER TABLE ranges ADD COLUMN signer INTEGER;
            ALTER TABLE ranges ADD COLUMN signatures BLOB;
            ALTER TABLE audits ADD COLUMN signer INTEGER;
            ALTER TABLE audits ADD COLUMN signatures BLOB;
            ALTER TABLE disputes ADD COLUMN signer INTEGER;
            ALTER TABLE disputes ADD COLUMN signatures BLOB;",
    },
    // Version 12 says what was committed to, and which beacons drew audits. Before, nobody committed to anything.
    Step {
        show: "
            CREATE TEMP TABLE commitments (job INTEGER NOT NULL, root TEXT NOT NULL, committed_at INTEGER NOT NULL,
                broken_at INTEGER);
            CREATE TEMP VIEW audit_policies AS SELECT rowid, *, NULL AS root, NULL AS value FROM main.audit_policies;
        ",
        change: "
            DROP TABLE temp.commitments;
            CREATE TABLE commitments (
                job          INTEGER NOT NULL REFERENCES jobs (id),
                root         TEXT NOT NULL,
                asked_by     TEXT NOT NULL,
                committed_at INTEGER NOT NULL,
                broken_at    INTEGER
            ) STRICT;
            CREATE INDEX commitments_by_job ON commitments (job);
            ALTER TABLE audit_policies ADD COLUMN root TEXT;
            ALTER TABLE audit_policies ADD COLUMN value TEXT;",
    },
    // Version 13 says what single tasks count. Before, that was not told.
    Step {
        show: "CREATE TEMP TABLE task_counts (job INTEGER NOT NULL, first INTEGER NOT NULL, counts BLOB NOT NULL);",
        change: "
            DROP TABLE temp.task_counts;
            CREATE TABLE task_counts (
                job    INTEGER NOT NULL REFERENCES jobs (id),
                first  INTEGER NOT NULL,
                counts BLOB NOT NULL,
                PRIMARY KEY (job, first)
            ) STRICT;",
    },
    // Version 14 has seals of the tables of decisions. Before, nothing told whether the disk had altered these.
    Step {
        show: "",
        change: "CREATE TABLE seals (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
    },
];

/// Refuses databases that are not ledgers.
pub(super) fn check_application(db: &Connection) -> Result<(), LedgerFault> {
    let application: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    match application {
        APPLICATION_ID => Ok(()),
        _ => Err(LedgerFault::Content("it is a database, but not a ledger".into())),
    }
}

/// Lets an older ledger be read like one of this version. Writes nothing to it.
///
/// # Errors
///
/// [`LedgerFault::Version`], if its version is not among those that this program reads.
pub(super) fn show(db: &Connection) -> Result<(), LedgerFault> {
    for step in steps(db)? {
        db.execute_batch(step.show)?;
    }
    Ok(())
}

/// The version of a ledger that is older than this program's, which has to be brought up to date.
pub(super) fn older(db: &Connection) -> Result<Option<i32>, LedgerFault> {
    Ok(Some(version(db)?).filter(|&version| version < FORMAT))
}

/// Brings a ledger that is shown as one of this version up to date, within a transaction of the caller's.
pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), LedgerFault> {
    let steps = steps(db)?;
    if steps.is_empty() {
        return Ok(());
    }
    hide(db)?;
    for step in steps {
        db.execute_batch(step.change)?;
    }
    db.execute(history::NEW_IDENTITY, [])?;
    table_seals::begin(db)?;
    Ok(db.pragma_update(None, "user_version", FORMAT)?)
}

/// Takes the views away through which it was read: SQLite takes them for its tables when it copies them.
pub(super) fn hide(db: &Connection) -> Result<(), LedgerFault> {
    let views = "SELECT name FROM temp.sqlite_schema WHERE type = 'view'";
    let views: Vec<String> =
        db.prepare(views)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for view in views {
        db.execute_batch(&format!("DROP VIEW temp.{view}"))?;
    }
    Ok(())
}

/// What lies between a ledger's version and this program's.
fn steps(db: &Connection) -> Result<&'static [Step], LedgerFault> {
    match version(db)? {
        version @ OLDEST..=FORMAT => Ok(&STEPS[(version - OLDEST) as usize..]),
        newer if newer > FORMAT => Err(LedgerFault::Version(format!(
            "a newer version of this program has written it: its format is {newer}, and this program reads the \
             formats {OLDEST} to {FORMAT}"
        ))),
        other => Err(LedgerFault::Version(format!(
            "its format is {other}, and this program reads the formats {OLDEST} to {FORMAT}"
        ))),
    }
}

fn version(db: &Connection) -> Result<i32, LedgerFault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use farm::{
        JobChange, JobId, JobState, LedgerCommand, Method, Origin, Plan, Problem, RestoredJob,
        Slice,
    };
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckedLedger, Evidence, Happening, Look};

    /// Ledgers that programs with older formats have written, as SQL: two jobs that are done, of which one is certified
    /// across owners, one that rests and one that was cancelled; three credentials and a decision about trust.
    const GOLDEN: [Golden; 9] = [
        Golden {
            format: 5,
            sql: include_str!("golden/format-5.sql"),
            audits_agreed: 3,
            rows: 13,
            names: false,
        },
        Golden {
            format: 6,
            sql: include_str!("golden/format-6.sql"),
            audits_agreed: 1,
            rows: 18,
            names: true,
        },
        Golden {
            format: 7,
            sql: include_str!("golden/format-7.sql"),
            audits_agreed: 1,
            rows: 16,
            names: true,
        },
        Golden {
            format: 8,
            sql: include_str!("golden/format-8.sql"),
            audits_agreed: 1,
            rows: 16,
            names: true,
        },
        Golden {
            format: 9,
            sql: include_str!("golden/format-9.sql"),
            audits_agreed: 1,
            rows: 6,
            names: true,
        },
        Golden {
            format: 10,
            sql: include_str!("golden/format-10.sql"),
            audits_agreed: 1,
            rows: 6,
            names: true,
        },
        Golden {
            format: 11,
            sql: include_str!("golden/format-11.sql"),
            audits_agreed: 1,
            rows: 22,
            names: true,
        },
        Golden {
            format: 12,
            sql: include_str!("golden/format-12.sql"),
            audits_agreed: 1,
            rows: 16,
            names: true,
        },
        Golden {
            format: 13,
            sql: include_str!("golden/format-13.sql"),
            audits_agreed: 2,
            rows: 24,
            names: true,
        },
    ];

    struct Golden {
        format: i32,
        sql: &'static str,
        /// Ranges of the first job that were counted twice.
        audits_agreed: u64,
        /// The number of its accepted ranges, second counts and disputes. All are by one build.
        rows: u32,
        /// Whether it says who submitted a job, and by which name.
        names: bool,
    }

    impl Golden {
        fn write(&self) -> (TempDir, PathBuf) {
            let folder = TempDir::new().expect("a temporary directory");
            let path = folder.path().join("ledger.db");
            let db = Connection::open(&path).expect("it is new");
            db.execute_batch(self.sql).expect("it is a dump");
            (folder, path)
        }

        fn check(&self, jobs: &[RestoredJob]) {
            use JobState::{Cancelled, Done, Paused};
            let states: Vec<JobState> = jobs.iter().map(|job| job.state).collect();
            assert_eq!(states, [Done, Done, Paused, Cancelled], "format {}", self.format);
            let counts = [6, 8].map(vectors::total);
            assert_eq!([jobs[0].total, jobs[1].total], counts);
            assert_eq!((jobs[0].audits_agreed, jobs[1].priority), (self.audits_agreed, 3));
            let owners = jobs.iter().map(|job| job.origin.owner.as_str()).collect::<Vec<_>>();
            let names = jobs.iter().map(|job| job.origin.key.as_deref()).collect::<Vec<_>>();
            if self.names {
                assert_eq!(owners, ["admin", "admin", "lab", "admin"]);
                assert_eq!(names, [Some("six"), None, Some("nine"), Some("twelve")]);
            } else {
                assert_eq!((owners, names), (vec![""; 4], vec![None; 4]), "nobody knows whose");
            }
        }
    }

    /// The tables and indices of a ledger, in the words of SQLite; columns without what was said about them.
    fn tables(path: &Path) -> Vec<String> {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || c.pk \
                     FROM sqlite_schema t, pragma_table_info(t.name) c \
                     UNION SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY 1";
        let mut columns = db.prepare(query).expect("it is SQL");
        let columns = columns.query_map([], |row| row.get(0)).expect("it has columns");
        columns.collect::<Result<_, _>>().expect("they have names")
    }

    /// How many rows are by each build.
    fn builds(path: &Path) -> Vec<u32> {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT count(*) FROM builds JOIN \
                     (SELECT build FROM ranges UNION ALL SELECT build FROM audits UNION ALL \
                      SELECT build FROM disputes) ON build = id WHERE text LIKE '0.1.0%' GROUP BY id";
        let mut builds = db.prepare(query).expect("it is SQL");
        let builds = builds.query_map([], |row| row.get(0)).expect("it has rows");
        builds.collect::<Result<_, _>>().expect("they are numbers")
    }

    fn identities(path: &Path) -> u32 {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT count(*) FROM identity";
        db.query_row(query, [], |row| row.get(0)).expect("it has identities")
    }

    /// The jobs whose logs tell of their ends, and how they ended. One that was audited anew may have ended twice.
    fn ends(path: &Path) -> Vec<(u64, JobState)> {
        let look = Look::open(path).expect("it is there");
        let jobs = (1..=4).map(JobId);
        let ends = jobs.flat_map(|job| {
            let log = look.incidents(job).expect("it is in the ledger").into_iter();
            log.filter_map(move |incident| match incident.what {
                Happening::Changed { change: JobChange::State(state), .. } if state.is_over() => {
                    Some((job.0, state))
                }
                _ => None,
            })
        });
        let mut ends: Vec<_> = ends.collect();
        ends.dedup();
        ends
    }

    fn bytes(path: &Path) -> Vec<u8> {
        fs::read(path).expect("it is there")
    }

    #[test]
    fn a_ledger_of_an_older_format_is_read_as_it_is_without_changing_it() {
        for golden in GOLDEN {
            let (_folder, path) = golden.write();
            let before = bytes(&path);
            let checked = CheckedLedger::open(&path).expect("it is sound");
            golden.check(checked.jobs());
            drop(checked);
            let evidence = Evidence::open(&path).expect("it is sound");
            golden.check(evidence.jobs());
            drop(evidence);
            assert!(bytes(&path) == before, "not a byte has changed");
        }
    }

    #[test]
    fn a_ledger_of_an_older_format_is_copied_and_becomes_one_of_this_format_once() {
        use JobState::{Cancelled, Done};
        for golden in GOLDEN {
            let (_folder, path) = golden.write();
            let origin = Origin { owner: "lab".into(), key: Some("nightly".into()) };
            let begin = || CheckedLedger::open_again(&path).and_then(CheckedLedger::begin);
            let ledger = begin().expect("it opens");
            assert_eq!(ledger.credentials().expect("they are sound").len(), 3);
            let identity = ledger.history().ledger;
            let plan = Plan {
                problem: Problem::Total { n: 8 },
                method: Method::Rows { rows: 2 },
                tasks: 21,
            };
            let submit = |job| {
                let (origin, slice, priority, audit) = (origin.clone(), Slice::ALL, 0, None);
                let job = JobId(job);
                ledger.apply(&[LedgerCommand::CreateJob {
                    job,
                    origin,
                    plan,
                    slice,
                    priority,
                    audit,
                }])
            };
            submit(5).expect("it has room");
            submit(6).expect_err("the key is taken");
            drop(ledger);

            let reopened = CheckedLedger::open_again(&path).expect("it is sound");
            let (old, new) = reopened.jobs().split_at(4);
            golden.check(old);
            assert_eq!(new[0].origin, origin);
            let ledger = reopened.begin().expect("it opens");
            assert_eq!(ledger.history().ledger, identity);
            ledger.close().expect("it can be closed");

            // Its tables are those of a new ledger.
            let fresh = path.with_file_name("fresh.db");
            drop(CheckedLedger::open(&fresh).and_then(CheckedLedger::begin).expect("it opens"));
            assert_eq!(tables(&path), tables(&fresh));
            assert_eq!(builds(&path), [golden.rows], "no row has lost its build");
            assert_eq!(ends(&path), [(1, Done), (2, Done), (4, Cancelled)]);
            assert_eq!(identities(&path), 1);

            // The copy is what the older program left, and was made once.
            let copy = path.with_file_name(format!("ledger.db.format-{}", golden.format));
            let db = Connection::open(&copy).expect("it is there");
            assert_eq!(version(&db).expect("it is a ledger"), golden.format);
            drop(db);
            golden.check(CheckedLedger::open(&copy).expect("it is sound").jobs());
            let again = path.with_file_name(format!("ledger.db.format-{}-1", golden.format));
            assert!(!again.exists());
        }
    }

    #[test]
    fn a_second_identity_that_an_earlier_program_gave_a_ledger_is_forgotten() {
        let golden = &GOLDEN[4];
        let (_folder, path) = golden.write();
        let db = Connection::open(&path).expect("it is there");
        let insert = "INSERT INTO identity VALUES (lower(hex(randomblob(16))), 0, TRUE)";
        db.execute(insert, []).expect("it can be written");
        drop(db);
        let checked = CheckedLedger::open(&path).expect("it is sound");
        let ledger = checked.begin().expect("it opens").history().ledger;
        assert!(golden.sql.contains(&format!("INSERT INTO identity VALUES('{ledger}'")));
        assert_eq!(identities(&path), 1);
    }

    #[test]
    fn a_ledger_whose_copy_cannot_be_made_is_not_brought_up_to_date() {
        let [golden, ..] = GOLDEN;
        let (folder, path) = golden.write();
        let before = bytes(&path);
        let checked = CheckedLedger::open(&path).expect("it is sound");
        for number in 0..100 {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let taken = format!("ledger.db.format-5{suffix}");
            fs::write(folder.path().join(taken), "taken").expect("it can be written");
        }
        checked.begin().expect_err("there is no name left for the copy");
        assert!(bytes(&path) == before, "not a byte has changed");
    }

    #[test]
    fn a_ledger_of_a_newer_format_is_refused_by_name() {
        let (_folder, path) = GOLDEN[1].write();
        let db = Connection::open(&path).expect("it is there");
        db.pragma_update(None, "user_version", FORMAT + 1).expect("it can be written");
        drop(db);
        let fault = CheckedLedger::open(&path).expect_err("it is of another version").to_string();
        let format = format!("format is {}", FORMAT + 1);
        assert!(fault.contains("newer version") && fault.contains(&format), "{fault}");
    }
}
