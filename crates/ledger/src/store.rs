//! The tables of a ledger: what the rules read and change. It decides nothing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use farm::{
    AuditPolicy, Check, CountedRange, DisputeState, Hours, JobChange, JobId, JobSpec, JobState,
    Party, Principal, Range, Row, TaskCounts, Times, TrustChange,
};
use rusqlite::{Connection, OptionalExtension, Params, ToSql};

use super::entry::{self, COLUMNS, STORED, WIDTH, insert, read_one, read_row};
use super::restore::{JOBS, read_job, read_trust};
use super::{Result, task_counts};

static ADD_RANGE: LazyLock<String> = LazyLock::new(|| insert("ranges", &["audit", "task_counts"]));
pub(super) static ADD_AUDIT: LazyLock<String> = LazyLock::new(|| insert("audits", &[]));
pub(super) static ADD_DISPUTE: LazyLock<String> = LazyLock::new(|| insert("disputes", &["state"]));

/// The tables of a ledger. They are changed only within a transaction. Accepted ranges of a job never overlap.
pub(crate) struct Store<'a> {
    pub(super) db: &'a Connection,
    /// The time that is noted with what changes.
    pub(super) now_ms: i64,
}

impl Store<'_> {
    /// The tables now.
    pub(super) fn of(db: &Connection) -> Store<'_> {
        Store { db, now_ms: unix_ms() }
    }

    fn change(&self, query: &str, params: impl Params) -> Result<()> {
        self.db.prepare_cached(query)?.execute(params)?;
        Ok(())
    }

    /// All that `read` makes of the rows of a query.
    pub(super) fn all<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.db.prepare_cached(query)?;
        statement.query_and_then(params, read)?.collect()
    }

    /// Adds a row and its time by what [`insert`] made for its table, with `own` in the columns of this table.
    pub(super) fn add(
        &self,
        insert: &str,
        job: JobId,
        row: &Row,
        at_ms: i64,
        own: &[&dyn ToSql],
    ) -> Result<()> {
        let text = &row.provenance.build;
        let mut find = self.db.prepare_cached("SELECT id FROM builds WHERE text = ?")?;
        let build = match find.query_row([text], |columns| columns.get(0)).optional()? {
            Some(id) => id,
            None => {
                self.change("INSERT INTO builds (text) VALUES (?)", [text])?;
                self.db.last_insert_rowid()
            }
        };
        let mut insert = self.db.prepare_cached(insert)?;
        Ok(entry::execute(&mut insert, job, row, build, at_ms, own)?)
    }

    /// The files in the folder of keys with which the ledger was served.
    pub(super) fn keys(&self) -> Result<Vec<String>> {
        self.all("SELECT name FROM keys ORDER BY name", [], |row| Ok(row.get(0)?))
    }

    /// Says whether an accepted range was counted a second time.
    fn set_check(&self, job: JobId, range: Range, check: Check) -> Result<()> {
        let query = "UPDATE ranges SET audit = ? WHERE job = ? AND first = ? AND past = ?";
        self.change(query, (check as i64, job.0, range.start(), range.end()))
    }

    pub(super) fn note_trust(&self, change: &TrustChange) -> Result<()> {
        let TrustChange { party, trusted, proof, reason, at_ms } = change;
        self.change(
            "INSERT INTO trust VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                &party.owner,
                &party.machine,
                trusted,
                proof.map(|(job, _)| job.0),
                proof.map(|(_, range)| range.start()),
                proof.map(|(_, range)| range.end()),
                reason,
                at_ms,
            ),
        )
    }

    /// Moves what a table has of a range to the evidence.
    fn move_to_disputes(
        &self,
        table: &str,
        job: JobId,
        range: Range,
        why: DisputeState,
    ) -> Result<()> {
        let query = format!(
            "INSERT INTO disputes ({STORED}, noted_at, state) \
             SELECT {STORED}, noted_at, ? FROM {table} WHERE job = ? AND first = ?"
        );
        self.change(&query, (why as i64, job.0, range.start()))?;
        let query = format!("DELETE FROM {table} WHERE job = ? AND first = ?");
        self.change(&query, (job.0, range.start()))
    }
}

/// Job, first and past.
pub(super) fn key(job: JobId, range: Range) -> (u64, u64, u64) {
    (job.0, range.start(), range.end())
}

impl Store<'_> {
    /// The job of this number, if it is there; without a number all jobs, the oldest first.
    pub(crate) fn jobs(&self, only: Option<JobId>) -> Result<Vec<StoredJob>> {
        match only {
            Some(id) => self.all(&format!("{JOBS} WHERE id = ?"), [id.0], read_job),
            None => self.all(&format!("{JOBS} ORDER BY id"), [], read_job),
        }
    }

    /// Adds a job that runs. No other one has its number, or its owner and its key.
    pub(crate) fn add_job(&self, job: JobId, spec: &JobSpec) -> Result<()> {
        let JobSpec { origin, plan, slice, priority } = spec;
        self.change(
            "INSERT INTO jobs (id, problem, n, method, parameter, tasks, fingerprint, shard, \
             shards, priority, state, submitted_at, owner, key) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                job.0,
                plan.problem.text(),
                plan.problem.n(),
                plan.method.name(),
                plan.method.parameter().map(|(_, value)| value),
                plan.tasks,
                plan.fingerprint().to_string(),
                slice.index(),
                slice.of(),
                priority,
                JobState::Running.name(),
                self.now_ms,
                &origin.owner,
                &origin.key,
            ),
        )
    }

    /// Writes where a job stands now, and its priority. Notes for people what has changed of these, if anything has, and the
    /// owner who asked for it; empty if nobody did.
    pub(crate) fn change_job(
        &self,
        job: &StoredJob,
        change: Option<JobChange>,
        by: &str,
    ) -> Result<()> {
        let (now, mut times) = (self.now_ms, job.times);
        if let Some(change) = change {
            times.note(change, now);
        }
        self.change(
            "UPDATE jobs SET state = ?, priority = ?, total = ?, reason = ?, begun_at = ?, counted_at = ?, \
             paused_at = ?, paused_ms = ?, ended_at = ? WHERE id = ?",
            (
                job.state.name(),
                job.spec.priority,
                job.total.map(|total| total.to_string()),
                &job.reason,
                times.begun_at_ms,
                times.counted_at_ms,
                times.paused_at_ms,
                times.paused_ms,
                times.ended_at_ms,
                job.id.0,
            ),
        )?;
        let (state, priority) = match change {
            Some(JobChange::State(state)) => (Some(state.name()), None),
            Some(JobChange::Begun) => (Some("begun"), None),
            Some(JobChange::Counted) => (Some("counted"), None),
            Some(JobChange::TakenBack) => (Some("taken_back"), None),
            Some(JobChange::Priority(priority)) => (None, Some(priority)),
            None => return Ok(()),
        };
        let query = "INSERT INTO changes VALUES (?, ?, ?, ?, ?)";
        self.change(query, (job.id.0, state, priority, by, now))
    }

    /// Removes a job with all that is known about it but its hours. Its number is not given again.
    pub(crate) fn remove_job(&self, job: JobId) -> Result<()> {
        self.change(
            "INSERT INTO removed_hours SELECT job, owner, counted_by, day, processor_us, gpu_us FROM accounting \
             WHERE job = ?",
            [job.0],
        )?;
        self.change(
            "INSERT INTO removed \
             SELECT id, owner, problem, n, method, parameter, state, total, ? FROM jobs WHERE id = ?",
            (self.now_ms, job.0),
        )?;
        for table in ["disputes", "audits", "ranges", "audit_policies", "changes"] {
            self.change(&format!("DELETE FROM {table} WHERE job = ?"), [job.0])?;
        }
        self.change("DELETE FROM jobs WHERE id = ?", [job.0])
    }

    /// Adds an audit policy to a job, and the owner who asked for it.
    pub(crate) fn add_policy(&self, job: JobId, policy: AuditPolicy, by: &str) -> Result<()> {
        let AuditPolicy { share_ppm, seed, by_reference, across } = policy;
        let query = "INSERT INTO audit_policies VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.change(query, (job.0, share_ppm, seed, by_reference, across.name(), self.now_ms, by))
    }

    /// Shows accepted ranges in ascending order until the visitor breaks off, each with the principal of its second count if it
    /// has one. A visitor must not change the store.
    pub(crate) fn visit(
        &self,
        job: JobId,
        which: Select<'_>,
        mut see: impl FnMut(CountedRange, Option<Principal>) -> ControlFlow<()>,
    ) -> Result<()> {
        const BY: &str = "owner = ?2 AND (?3 IS NULL OR machine = ?3)";
        let mut params: Vec<Box<dyn ToSql + '_>> = vec![Box::new(job.0)];
        let condition = match which {
            Select::All => String::new(),
            Select::Overlapping(range) => {
                params.extend([range.start(), range.end()].map(|at| Box::new(at) as _));
                // Rows do not overlap each other, so that at most one begins before the range.
                "AND past > ?2 AND first < ?3 AND first >= coalesce((SELECT max(first) FROM ranges \
                 WHERE job = ?1 AND first <= ?2), 0)"
                    .into()
            }
            Select::Waiting => format!("AND audit = {}", Check::Wanted as i64),
            Select::By(Party { owner, machine }) => {
                params.extend([Box::new(owner) as _, Box::new(machine) as _]);
                format!("AND ({BY} OR audit = 2 AND EXISTS (SELECT 1 {SECOND} AND {BY}))")
            }
        };
        // By itself, SQLite would read all rows of the job.
        let index = if which == Select::Waiting { "INDEXED BY ranges_to_audit" } else { "" };
        let query = format!(
            "SELECT {COLUMNS}, audit, CASE audit WHEN 2 THEN (SELECT owner {SECOND}) END, \
             CASE audit WHEN 2 THEN (SELECT machine {SECOND}) END \
             FROM ranges r {index} WHERE job = ?1 {condition} ORDER BY first"
        );
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(columns) = rows.next()? {
            let (row, check) = (read_row(job, columns)?, read_one(&Check::ALL, columns, WIDTH)?);
            let second = Option::zip(columns.get(WIDTH + 1)?, columns.get(WIDTH + 2)?);
            let second = second.map(|(owner, machine)| Principal { owner, machine });
            if see(CountedRange { row, check }, second).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How many accepted ranges have this check.
    pub(crate) fn count(&self, job: JobId, check: Check) -> Result<u64> {
        // A literal, so that SQLite counts those that wait by their index.
        let query =
            format!("SELECT count(*) FROM ranges WHERE job = ? AND audit = {}", check as i64);
        Ok(self.db.prepare_cached(&query)?.query_row([job.0], |row| row.get(0))?)
    }

    /// Adds an accepted range, with the counts of its single tasks if they are reported. It takes the place of accepted
    /// ranges within it, none of which was counted twice.
    pub(crate) fn insert(
        &self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
        instead_of: &[Range],
    ) -> Result<()> {
        for part in instead_of {
            let key = (job.0, part.start());
            self.change("DELETE FROM ranges WHERE job = ? AND first = ?", key)?;
        }
        let own: &[&dyn ToSql] = &[&(counted.check as i64), &task_counts::bytes(task_counts)];
        self.add(&ADD_RANGE, job, &counted.row, self.now_ms, own)
    }

    /// The counts of single tasks of an accepted range, if they were reported; none if the range is no row.
    pub(crate) fn task_counts(&self, job: JobId, range: Range) -> Result<TaskCounts> {
        let query = "SELECT task_counts FROM ranges WHERE job = ? AND first = ? AND past = ?";
        let counts = self.all(query, key(job, range), |row| task_counts::read(row, 0, range))?;
        let counts = counts.into_iter().next().unwrap_or_else(|| Some(TaskCounts::default()));
        Ok(counts.unwrap_or_else(|| {
            tracing::warn!(
                %job, %range,
                "the counts of these tasks were altered and are left out; the sum of their row is sound"
            );
            TaskCounts::default()
        }))
    }

    /// Forgets what each task of an accepted range counts.
    pub(crate) fn forget_task_counts(&self, job: JobId, range: Range) -> Result<()> {
        let query = "UPDATE ranges SET task_counts = NULL WHERE job = ? AND first = ? AND past = ?";
        self.change(query, key(job, range))
    }

    /// An accepted range waits for a second count from now on, or no longer. One that it has becomes evidence that was taken
    /// back.
    pub(crate) fn set_wanted(&self, job: JobId, range: Range, wanted: bool) -> Result<()> {
        self.move_to_disputes("audits", job, range, DisputeState::TakenBack)?;
        self.set_check(job, range, if wanted { Check::Wanted } else { Check::NotChosen })
    }

    /// Adds the second count of an accepted range, which agrees.
    pub(crate) fn confirm(&self, job: JobId, second: &Row) -> Result<()> {
        self.set_check(job, second.range, Check::Agreed)?;
        self.add(&ADD_AUDIT, job, second, self.now_ms, &[])
    }

    /// Makes an accepted range, and its second count if there is one, evidence. What each of its tasks counts is forgotten.
    pub(crate) fn retire(&self, job: JobId, range: Range, why: DisputeState) -> Result<()> {
        self.move_to_disputes("audits", job, range, why)?;
        self.move_to_disputes("ranges", job, range, why)
    }

    /// The open disputes of a job, in ascending order of their ranges.
    pub(crate) fn open_disputes(&self, job: JobId) -> Result<Vec<OpenDispute>> {
        let claims = self.all(
            &format!(
                "SELECT {COLUMNS} FROM disputes WHERE job = ? AND state = 0 \
                 ORDER BY first, past, rowid"
            ),
            [job.0],
            |columns| read_row(job, columns),
        )?;
        let mut disputes: Vec<OpenDispute> = Vec::new();
        for claim in claims {
            match disputes.last_mut().filter(|dispute| dispute.range == claim.range) {
                Some(dispute) => dispute.claims.push(claim),
                None => disputes.push(OpenDispute { range: claim.range, claims: vec![claim] }),
            }
        }
        Ok(disputes)
    }

    /// Adds a claim that contradicts accepted rows.
    pub(crate) fn add_claim(&self, job: JobId, row: &Row) -> Result<()> {
        self.add(&ADD_DISPUTE, job, row, self.now_ms, &[&(DisputeState::Open as i64)])
    }

    /// Settles all open claims about exactly this range.
    pub(crate) fn close_dispute(&self, job: JobId, range: Range) -> Result<()> {
        let query =
            "UPDATE disputes SET state = 1 WHERE job = ? AND first = ? AND past = ? AND state = 0";
        self.change(query, key(job, range))
    }

    /// Notes that a party is distrusted, or trusted again, and why: by which range of which job, if by one.
    pub(crate) fn change_trust(
        &self,
        party: &Party,
        trusted: bool,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<()> {
        let (party, reason) = (party.clone(), reason.into());
        self.note_trust(&TrustChange { party, trusted, proof, reason, at_ms: self.now_ms })
    }

    /// For each job that has or had counts, its owner and the thread time of all counts that are or were kept of it.
    pub(crate) fn hours(&self) -> Result<BTreeMap<JobId, (String, Hours)>> {
        let query = "SELECT job, owner, CAST(min(total(processor_us), 4e18) AS INTEGER), \
             CAST(min(total(gpu_us), 4e18) AS INTEGER) FROM accounting GROUP BY 1, 2";
        let all = self.all(query, [], |row| {
            let hours = Hours { processor_us: row.get(2)?, gpu_us: row.get(3)? };
            Ok((JobId(row.get(0)?), (row.get(1)?, hours)))
        })?;
        Ok(all.into_iter().collect())
    }

    /// All changes of trust, the oldest first.
    pub(crate) fn trust_changes(&self) -> Result<Vec<TrustChange>> {
        self.all("SELECT * FROM trust ORDER BY rowid", [], read_trust)
    }
}

/// The open claims about one range that contradict its rows.
pub(crate) struct OpenDispute {
    /// The disputed range.
    pub(crate) range: Range,
    /// Each claim, the oldest first.
    pub(crate) claims: Vec<Row>,
}

/// Which accepted ranges of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select<'a> {
    /// All of them.
    All,
    /// Those that have ordinals of a range.
    Overlapping(Range),
    /// Those that wait for a second count.
    Waiting,
    /// Those that a party has counted, first or second.
    By(&'a Party),
}

/// A job as it is stored, without its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredJob {
    /// Its number.
    pub id: JobId,
    /// What was submitted, with its latest priority.
    pub spec: JobSpec,
    /// Where it stands.
    pub state: JobState,
    /// Why it is suspended, if it is.
    pub reason: Option<String>,
    /// When it was submitted and when it ended, as far as the store knows.
    pub times: Times,
    /// Its total, once it is done.
    pub total: Option<u128>,
    /// Its newest audit policy, if it has any.
    pub policy: Option<AuditPolicy>,
}

/// The second count of the row of a range `r`, in SQL.
const SECOND: &str = "FROM audits a WHERE a.job = r.job AND a.first = r.first";

/// The wall clock, in milliseconds since 1970. It only informs people.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
