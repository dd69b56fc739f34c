//! The tables of a ledger, which the rules read and change. This module decides nothing.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use farm::{
    AuditPolicy, Check, CountedRange, DisputeState, Hours, JobId, JobSpec, JobState, Milestone,
    Party, Principal, Range, Row, StoredJob, TaskCounts, TrustChange,
};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::entry::{ACCEPTED, SECOND, Standing, WIDTH, checksum, read_row};
use super::queries;
use super::restore::{read_job, read_trust};
use super::{Result, task_counts};

/// The tables of a ledger. They are changed only within a transaction. Accepted ranges of a job
/// never overlap.
pub(crate) struct Store<'a> {
    pub(super) db: &'a Connection,
    /// The time that is noted with what changes.
    pub(super) now_ms: i64,
}

impl Store<'_> {
    /// The tables, with the current time.
    pub(super) fn of(db: &Connection) -> Store<'_> {
        Store { db, now_ms: unix_ms() }
    }

    fn change(&self, query: &str, params: impl Params) -> Result<()> {
        self.db.prepare_cached(query)?.execute(params)?;
        Ok(())
    }

    /// Returns what `read` makes of each row of a query.
    pub(super) fn all<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.db.prepare_cached(query)?;
        statement.query_and_then(params, read)?.collect()
    }

    /// Adds a count and its time.
    pub(super) fn add(
        &self,
        job: JobId,
        row: &Row,
        at_ms: i64,
        standing: Standing,
        task_counts: &TaskCounts,
    ) -> Result<()> {
        let Row { range, checked_count, kernel, provenance, lease, busy_us } = row;
        self.change(
            queries::ADD_COUNT,
            params![
                job.0,
                range.start(),
                range.end(),
                standing.place(),
                checked_count.count.to_string(),
                checked_count.residue,
                checked_count.digest.to_string(),
                kernel.as_str(),
                provenance.principal.owner,
                provenance.principal.machine,
                provenance.worker,
                self.build(&provenance.build)?,
                lease.0,
                i64::try_from(*busy_us).unwrap_or(i64::MAX),
                at_ms,
                checksum(job, row),
                standing.name(),
                task_counts::bytes(task_counts),
            ],
        )
    }

    /// The id of a build, which is noted if it is new.
    fn build(&self, text: &str) -> Result<i64> {
        let mut find = self.db.prepare_cached("SELECT id FROM builds WHERE text = ?")?;
        if let Some(id) = find.query_row([text], |columns| columns.get(0)).optional()? {
            return Ok(id);
        }
        self.change("INSERT INTO builds (text) VALUES (?)", [text])?;
        Ok(self.db.last_insert_rowid())
    }

    /// The names of the files in the folder of keys with which the ledger was served.
    pub(super) fn keys(&self) -> Result<Vec<String>> {
        self.all("SELECT name FROM keys ORDER BY name", [], |row| Ok(row.get(0)?))
    }

    /// Says whether an accepted range was counted a second time.
    fn set_check(&self, job: JobId, range: Range, check: Check) -> Result<()> {
        let (first, past) = (range.start(), range.end());
        self.change(queries::SET_STANDING, (job.0, first, past, Standing::Accepted(check).name()))
    }

    /// Makes the count of a range at `place` evidence, if there is one: the accepted count or the
    /// second count.
    fn make_evidence(&self, job: JobId, range: Range, place: u64, why: DisputeState) -> Result<()> {
        let standing = Standing::Evidence(why).name();
        self.change(queries::MAKE_EVIDENCE, (job.0, range.start(), place, standing))
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

    /// The job of this number, if it is there; without a number all jobs, the oldest first.
    pub(crate) fn jobs(&self, only: Option<JobId>) -> Result<Vec<StoredJob>> {
        match only {
            Some(id) => self.all(queries::JOB, [id.0], read_job),
            None => self.all(queries::JOBS, [], read_job),
        }
    }

    /// Adds a running job. No other job may have its number, or both its owner and its key.
    pub(crate) fn add_job(&self, job: JobId, spec: &JobSpec) -> Result<()> {
        let JobSpec { origin, plan, shard, priority } = spec;
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
                shard.index(),
                shard.of(),
                priority,
                JobState::Running.name(),
                self.now_ms,
                &origin.owner,
                &origin.key,
            ),
        )
    }

    /// Writes the new state of a job and its times. Notes the milestone for people, with the owner
    /// who requested it, or with an empty text if nobody did.
    pub(crate) fn change_job(&self, job: &StoredJob, milestone: Milestone, by: &str) -> Result<()> {
        let (now, mut times) = (self.now_ms, job.times);
        times.note(milestone, now);
        self.change(
            "UPDATE jobs SET state = ?, total = ?, reason = ?, begun_at = ?, counted_at = ?, paused_at = ?, \
             paused_ms = ?, ended_at = ? WHERE id = ?",
            (
                job.state.name(),
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
        self.change(
            "INSERT INTO changes VALUES (?, ?, NULL, ?, ?)",
            (job.id.0, milestone.name(), by, now),
        )
    }

    /// Adds to the time that a job rested.
    pub(crate) fn add_wait(&self, job: JobId, ms: u64) -> Result<()> {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let query = "UPDATE jobs SET paused_ms = min(paused_ms, 9223372036854775807 - ?1) + ?1 WHERE id = ?2";
        self.change(query, (ms, job.0))
    }

    /// Writes the priority of a job. If it differs from the old one, notes the change for people.
    pub(crate) fn set_priority(&self, job: JobId, priority: i32, by: &str) -> Result<()> {
        self.change(
            "INSERT INTO changes SELECT id, NULL, ?2, ?3, ?4 FROM jobs WHERE id = ?1 AND priority != ?2",
            (job.0, priority, by, self.now_ms),
        )?;
        self.change("UPDATE jobs SET priority = ? WHERE id = ?", (priority, job.0))
    }

    /// Removes a job with everything about it, except for a short note, its hours and the credit of
    /// those who counted. No other job gets its number.
    pub(crate) fn remove_job(&self, job: JobId) -> Result<()> {
        self.change(queries::KEEP_HOURS, [job.0])?;
        self.change(queries::KEEP_CREDITS, [job.0])?;
        self.change(
            "INSERT INTO removed \
             SELECT id, owner, problem, n, method, parameter, state, total, ? FROM jobs WHERE id = ?",
            (self.now_ms, job.0),
        )?;
        for query in [
            "DELETE FROM counts WHERE job = ?",
            "DELETE FROM audit_policies WHERE job = ?",
            "DELETE FROM changes WHERE job = ?",
            "DELETE FROM jobs WHERE id = ?",
        ] {
            self.change(query, [job.0])?;
        }
        Ok(())
    }

    /// Adds an audit policy to a job, with the owner who requested it.
    pub(crate) fn add_policy(&self, job: JobId, policy: AuditPolicy, by: &str) -> Result<()> {
        let AuditPolicy { share_ppm, seed, by_reference, across } = policy;
        let query = "INSERT INTO audit_policies VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.change(query, (job.0, share_ppm, seed, by_reference, across.name(), self.now_ms, by))
    }

    /// Shows accepted ranges in ascending order until the visitor breaks off, each with the
    /// principal of its second count if it has one. A visitor must not change the store.
    pub(crate) fn visit(
        &self,
        job: JobId,
        which: Select<'_>,
        mut see: impl FnMut(CountedRange, Option<Principal>) -> ControlFlow<()>,
    ) -> Result<()> {
        let query = match which {
            Select::All => queries::ACCEPTED,
            Select::Overlapping(_) => queries::ACCEPTED_IN,
            Select::Waiting => queries::ACCEPTED_WAITING,
            Select::By(_) => queries::ACCEPTED_BY,
        };
        let mut statement = self.db.prepare_cached(query)?;
        let mut rows = match which {
            Select::All | Select::Waiting => statement.query([job.0])?,
            Select::Overlapping(range) => statement.query(key(job, range))?,
            Select::By(Party { owner, machine }) => statement.query((job.0, owner, machine))?,
        };
        while let Some(columns) = rows.next()? {
            let row = read_row(job, columns)?;
            let check = match Standing::read(columns, WIDTH)? {
                Standing::Accepted(check) => check,
                other => return Err(other.misplaced(job, row.range)),
            };
            let second = Option::zip(columns.get(WIDTH + 1)?, columns.get(WIDTH + 2)?);
            let second = second.map(|(owner, machine)| Principal { owner, machine });
            if see(CountedRange { row, check }, second).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How many accepted ranges wait for a second count.
    pub(crate) fn count_waiting(&self, job: JobId) -> Result<u64> {
        let mut count = self.db.prepare_cached(queries::COUNT_WAITING)?;
        Ok(count.query_row([job.0], |row| row.get(0))?)
    }

    /// How many accepted ranges have a second count.
    pub(crate) fn count_seconds(&self, job: JobId) -> Result<u64> {
        let mut count = self.db.prepare_cached(queries::COUNT_SECONDS)?;
        Ok(count.query_row([job.0], |row| row.get(0))?)
    }

    /// Adds an accepted range, with the counts of its single tasks if they are reported. It takes
    /// the place of accepted ranges within it, none of which was counted twice.
    pub(crate) fn insert(
        &self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
        instead_of: &[Range],
    ) -> Result<()> {
        for part in instead_of {
            self.change(queries::REMOVE_ACCEPTED, (job.0, part.start()))?;
        }
        let standing = Standing::Accepted(counted.check);
        self.add(job, &counted.row, self.now_ms, standing, task_counts)
    }

    /// The counts of single tasks of an accepted range, if they were reported; none if the range is
    /// no row.
    pub(crate) fn task_counts(&self, job: JobId, range: Range) -> Result<TaskCounts> {
        let read = |row: &rusqlite::Row<'_>| task_counts::read(row, 0, range);
        let counts = self.all(queries::TASK_COUNTS, key(job, range), read)?;
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
        self.change(queries::FORGET_TASK_COUNTS, key(job, range))
    }

    /// Makes an accepted range wait for a second count, or stop waiting. A second count that it has
    /// already becomes evidence that was taken back.
    pub(crate) fn set_wanted(&self, job: JobId, range: Range, wanted: bool) -> Result<()> {
        self.make_evidence(job, range, SECOND, DisputeState::TakenBack)?;
        self.set_check(job, range, if wanted { Check::Wanted } else { Check::NotChosen })
    }

    /// Adds the second count of an accepted range, which agrees.
    pub(crate) fn confirm(&self, job: JobId, second: &Row) -> Result<()> {
        self.set_check(job, second.range, Check::Agreed)?;
        self.add(job, second, self.now_ms, Standing::Second, &TaskCounts::default())
    }

    /// Makes an accepted range, and its second count if there is one, evidence. What each of its
    /// tasks counts is forgotten.
    pub(crate) fn retire(&self, job: JobId, range: Range, why: DisputeState) -> Result<()> {
        self.make_evidence(job, range, SECOND, why)?;
        self.make_evidence(job, range, ACCEPTED, why)
    }

    /// The open disputes of a job, in ascending order of their ranges.
    pub(crate) fn open_disputes(&self, job: JobId) -> Result<Vec<OpenDispute>> {
        let claims = self.all(queries::OPEN_CLAIMS, [job.0], |columns| read_row(job, columns))?;
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
        let standing = Standing::Evidence(DisputeState::Open);
        self.add(job, row, self.now_ms, standing, &TaskCounts::default())
    }

    /// Settles all open claims about exactly this range.
    pub(crate) fn close_dispute(&self, job: JobId, range: Range) -> Result<()> {
        self.change(queries::CLOSE_DISPUTE, key(job, range))
    }

    /// Notes that a party is distrusted or trusted again, and the reason. `proof` names the job and
    /// the range that proved it, if there is such a range.
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

    /// The thread time of all counts of each job that has counts, and of all removed jobs of each
    /// owner together, with the owner.
    pub(crate) fn hours(&self) -> Result<Vec<(Option<JobId>, String, Hours)>> {
        let query = "SELECT job, owner, CAST(min(total(processor_us), 4e18) AS INTEGER), \
             CAST(min(total(gpu_us), 4e18) AS INTEGER) FROM accounting GROUP BY 1, 2";
        self.all(query, [], |row| {
            let hours = Hours { processor_us: row.get(2)?, gpu_us: row.get(3)? };
            Ok((row.get::<_, Option<u64>>(0)?.map(JobId), row.get(1)?, hours))
        })
    }

    /// All changes of trust, the oldest first.
    pub(crate) fn trust_changes(&self) -> Result<Vec<TrustChange>> {
        self.all("SELECT * FROM trust ORDER BY rowid", [], read_trust)
    }
}

/// The job, the first ordinal of the range, and the first ordinal after it.
fn key(job: JobId, range: Range) -> (u64, u64, u64) {
    (job.0, range.start(), range.end())
}

/// The open claims about one range that contradict its rows.
pub(crate) struct OpenDispute {
    /// The disputed range.
    pub(crate) range: Range,
    /// Each claim, the oldest first.
    pub(crate) claims: Vec<Row>,
}

/// Selects accepted ranges of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select<'a> {
    /// All of them.
    All,
    /// Those that overlap a range.
    Overlapping(Range),
    /// Those that wait for a second count.
    Waiting,
    /// Those that a party has counted or confirmed.
    By(&'a Party),
}

/// The wall clock, in milliseconds since 1970. It only informs people.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
