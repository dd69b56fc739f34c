//! Reads a ledger with SQLite, while the coordinator runs or afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use farm::{IntervalSet, Range};
use rusqlite::{Connection, OpenFlags};

/// Everything that is durable at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The number of times that the ledger was opened.
    pub(crate) epoch: u64,
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) disputes: u64,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) n: u32,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) tasks: u64,
    pub(crate) state: String,
    pub(crate) total: Option<String>,
    /// The rows by their first ordinals.
    pub(crate) rows: BTreeMap<u64, Row>,
}

/// An accepted partial count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) range: Range,
    pub(crate) count: u128,
    pub(crate) lease: u64,
    pub(crate) worker: String,
    pub(crate) accepted_at: i64,
}

impl Snapshot {
    /// Reads a ledger without changing it.
    pub(crate) fn read(path: &Path) -> Snapshot {
        Snapshot::try_read(path).expect("the ledger can be read")
    }

    /// Reads a ledger without changing it. Fails while the ledger is being created.
    pub(crate) fn try_read(path: &Path) -> rusqlite::Result<Snapshot> {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let db = db.unchecked_transaction()?;
        let number = |query: &str| db.query_row(query, [], |row| row.get::<_, i64>(0));
        let mut jobs = BTreeMap::new();
        let mut statement =
            db.prepare("SELECT id, n, tasks, state, total, unhex(fingerprint) FROM jobs")?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let id: i64 = row.get(0)?;
            let job = Job {
                n: row.get(1)?,
                fingerprint: row.get(5)?,
                tasks: row.get::<_, i64>(2)? as u64,
                state: row.get(3)?,
                total: row.get(4)?,
                rows: rows(&db, id)?,
            };
            jobs.insert(id as u64, job);
        }
        Ok(Snapshot {
            epoch: number("SELECT max(epoch) FROM epochs")? as u64,
            disputes: number("SELECT count(*) FROM counts WHERE place > 1")? as u64,
            jobs,
        })
    }

    /// The number of unfinished jobs.
    pub(crate) fn running(&self) -> usize {
        self.jobs.values().filter(|job| job.state == "running").count()
    }

    /// The number of tasks whose counts were accepted, in all jobs.
    pub(crate) fn accepted(&self) -> u64 {
        self.jobs.values().flat_map(|job| job.rows.values()).map(|row| row.range.len()).sum()
    }
}

fn rows(db: &Connection, job: i64) -> rusqlite::Result<BTreeMap<u64, Row>> {
    let mut statement = db.prepare(
        "SELECT first, past, count, lease, worker, noted_at FROM counts WHERE job = ? AND place = 0",
    )?;
    let rows = statement.query_map([job], |row| {
        let [first, past, lease] = [0, 1, 3].map(|column| row.get::<_, i64>(column));
        let count: String = row.get(2)?;
        Ok(Row {
            range: Range::new(first? as u64, past? as u64).expect("the table checks that"),
            count: count.parse().expect("counts are decimal"),
            lease: lease? as u64,
            worker: row.get(4)?,
            accepted_at: row.get(5)?,
        })
    })?;
    rows.map(|row| row.map(|row| (row.range.start(), row))).collect()
}

impl Job {
    /// The sum of all accepted counts.
    pub(crate) fn sum(&self) -> u128 {
        self.rows.values().map(|row| row.count).sum()
    }

    /// Whether every ordinal of the plan is in exactly one row.
    pub(crate) fn is_tiled(&self) -> bool {
        let mut end = 0;
        let follows = |row: &Row| {
            let expected = std::mem::replace(&mut end, row.range.end());
            row.range.start() == expected
        };
        self.rows.values().all(follows) && end == self.tasks
    }

    /// Asserts that everything that was accepted at an earlier time is still accepted under the
    /// same lease. A row may have become a part of a longer row of the same worker.
    #[track_caller]
    pub(crate) fn assert_keeps(&self, earlier: &Job) {
        for row in earlier.rows.values() {
            let (_, now) = self.rows.range(..=row.range.start()).next_back().expect("it was there");
            let is_part = now.range.intersect(row.range) == Some(row.range);
            let is_its = (now.lease, &now.worker) == (row.lease, &row.worker);
            assert!(is_part && is_its && now.count >= row.count, "{row:?} has become {now:?}");
            assert!(now.range != row.range || now == row, "{row:?} has become {now:?}");
        }
    }

    /// The accepted ordinals.
    pub(crate) fn accepted(&self) -> IntervalSet {
        self.rows.values().map(|row| row.range).collect()
    }
}
