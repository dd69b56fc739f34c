//! Audits, and what a worker that was proven wrong leaves behind.

use std::collections::BTreeSet;

use farm::{
    AuditPolicy, Author, IntervalSet, JobId, JobState, KernelName, Range, Report, Unaudited,
    Withdrawn,
};

use super::entry::{ENTRY, Entry, signed, unsigned};
use super::open::unix_ms;
use super::{Ledger, LedgerFault};

/// Rows of workers that were wrong, of jobs that still count for something, until they are moved.
const DOOMED: i64 = 3;

/// The jobs that were not cancelled.
const LIVE: &str = "SELECT id FROM jobs WHERE state <> 'cancelled'";

impl Ledger {
    /// Writes a policy down, and marks what it chooses of the accepted ranges. Returns how many ranges
    /// of the job wait for an audit now.
    pub(crate) fn ask_for_audit(
        &self,
        job: JobId,
        policy: AuditPolicy,
    ) -> Result<u64, LedgerFault> {
        let fingerprint = self.plan(job)?.fingerprint();
        self.insert_policy(job, policy)?;
        let mut statement =
            self.db.prepare("SELECT first, past FROM ranges WHERE job = ? AND audit = 0")?;
        let mut rows = statement.query([signed(job.0)])?;
        let mut chosen = Vec::new();
        while let Some(row) = rows.next()? {
            let (first, past) = (unsigned(row, 0)?, unsigned(row, 1)?);
            let range = Range::new(first, past).expect("the table checks that");
            if policy.chooses(fingerprint, range) {
                chosen.push(signed(first));
            }
        }
        let mut mark =
            self.db.prepare("UPDATE ranges SET audit = 1 WHERE job = ? AND first = ?")?;
        for first in chosen {
            mark.execute([signed(job.0), first])?;
        }
        self.reopen(job)?;
        self.audits(job, 1)
    }

    pub(crate) fn insert_policy(&self, job: JobId, policy: AuditPolicy) -> Result<(), LedgerFault> {
        let AuditPolicy { share_ppm, seed, by_search } = policy;
        self.db.execute(
            "INSERT INTO audit_policies VALUES (?, ?, ?, ?, ?)",
            (signed(job.0), share_ppm, signed(seed), by_search, unix_ms()),
        )?;
        Ok(())
    }

    /// A job that was done is no longer.
    pub(crate) fn reopen(&self, job: JobId) -> Result<(), LedgerFault> {
        self.db.execute(
            "UPDATE jobs SET state = ?, total = NULL, ended_at = NULL WHERE id = ? AND state = ?",
            (JobState::Running.name(), signed(job.0), JobState::Done.name()),
        )?;
        Ok(())
    }

    /// The first ranges that wait for an audit and are in no dispute.
    pub(crate) fn unaudited(&self, job: JobId, most: usize) -> Result<Vec<Unaudited>, LedgerFault> {
        let mut statement = self.db.prepare_cached(
            "SELECT first, past, worker, kernel FROM ranges r WHERE job = ? AND audit = 1 \
             AND NOT EXISTS (SELECT 1 FROM disputes d WHERE d.job = r.job AND d.state = 0 \
             AND d.first < r.past AND d.past > r.first) ORDER BY first LIMIT ?",
        )?;
        let rows = statement.query_and_then((signed(job.0), signed(most as u64)), |row| {
            let range = Range::new(unsigned(row, 0)?, unsigned(row, 1)?);
            let kernel = KernelName::new(&row.get::<_, String>(3)?);
            let fault = || LedgerFault::Content(format!("job {job} has a row that is no range"));
            Ok(Unaudited {
                range: range.ok_or_else(fault)?,
                worker: row.get(2)?,
                kernel: kernel.ok_or_else(fault)?,
            })
        })?;
        rows.collect()
    }

    pub(crate) fn confirm(&self, report: &Report, author: &Author) -> Result<(), LedgerFault> {
        let job = report.job;
        let entry = Entry::new(report, author);
        let key = (signed(job.0), signed(report.range.start()), signed(report.range.end()));
        let marked = self.db.execute(
            "UPDATE ranges SET audit = 2 WHERE job = ? AND first = ? AND past = ? AND audit = 1",
            key,
        )?;
        if marked != 1 {
            let text = format!("job {job} was about to confirm {}, which is no row", report.range);
            return Err(LedgerFault::Content(text));
        }
        self.insert("audits", "counted_at", job, &entry, None)
    }

    /// Replaces the rows of a disputed range by the count that two workers agree on; what the rows said
    /// stays as evidence. Then what the `wrong` workers have counted is taken back.
    pub(crate) fn settle(
        &self,
        report: &Report,
        author: &Author,
        wrong: &[String],
    ) -> Result<Vec<Withdrawn>, LedgerFault> {
        let (job, start, end) = (report.job.0, report.range.start(), report.range.end());
        let range = (signed(job), signed(start), signed(end));
        self.move_to_disputes("ranges", 1, "job = ? AND first >= ? AND first < ?", range)?;
        self.move_to_disputes("audits", 1, "job = ? AND first >= ? AND first < ?", range)?;
        self.db.execute(
            "UPDATE disputes SET state = 1 WHERE job = ? AND first = ? AND past = ? AND state = 0",
            range,
        )?;
        self.insert_range(&Entry::new(report, author), report.job, 2)?;
        self.keep_the_second_vote(report, author)?;
        for worker in wrong {
            self.db.execute(
                "INSERT INTO distrusted VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (worker, range.0, range.1, range.2, unix_ms()),
            )?;
        }
        let mut touched = BTreeSet::from([report.job]);
        for worker in wrong {
            touched.extend(self.void_confirmations(worker)?);
        }
        for worker in wrong {
            touched.extend(self.doom(worker)?);
        }
        touched.into_iter().map(|job| self.withdraw(job)).collect()
    }

    /// Who agreed with the count that settled a dispute confirms it from now on, if it was one count. If
    /// that worker is proven wrong later, the range waits for an audit again.
    fn keep_the_second_vote(&self, report: &Report, author: &Author) -> Result<(), LedgerFault> {
        let Report { job, range, tally, .. } = report;
        self.db.execute(
            &format!(
                "INSERT INTO audits (job, {ENTRY}, counted_at) SELECT job, {ENTRY}, noted_at \
                 FROM disputes WHERE job = ? AND first = ? AND past = ? AND count = ? AND digest = ? \
                 AND worker <> ? AND state = 1 AND worker NOT IN (SELECT worker FROM distrusted) \
                 ORDER BY rowid DESC LIMIT 1"
            ),
            (
                signed(job.0),
                signed(range.start()),
                signed(range.end()),
                tally.count.to_string(),
                tally.digest.to_string(),
                &author.worker,
            ),
        )?;
        Ok(())
    }

    /// What a worker has confirmed of others' counts waits for an audit again. Returns the jobs that
    /// this concerns.
    fn void_confirmations(&self, worker: &str) -> Result<Vec<JobId>, LedgerFault> {
        let jobs = self.jobs_with("SELECT job FROM audits WHERE worker = ?1", worker)?;
        for job in &jobs {
            let of_worker = (signed(job.0), worker);
            self.db.execute(
                "UPDATE ranges SET audit = 1 WHERE job = ?1 AND first IN \
                 (SELECT first FROM audits WHERE job = ?1 AND worker = ?2)",
                of_worker,
            )?;
            self.move_to_disputes("audits", 2, "job = ? AND worker = ?", of_worker)?;
        }
        Ok(jobs)
    }

    /// Marks what nobody has confirmed of a worker's, and all rows of open disputes in which it counted
    /// rows or voted, which end. Returns the jobs that this concerns.
    fn doom(&self, worker: &str) -> Result<Vec<JobId>, LedgerFault> {
        let jobs = self.jobs_with(
            "SELECT job FROM ranges WHERE worker = ?1 \
             UNION SELECT job FROM disputes WHERE worker = ?1 AND state = 0",
            worker,
        )?;
        for &job in &jobs {
            let disputes = self.disputes_with(job, worker)?;
            self.db.execute(
                "UPDATE ranges SET audit = ?3 WHERE job = ?1 AND worker = ?2 AND audit <> 2",
                (signed(job.0), worker, DOOMED),
            )?;
            for range in disputes {
                let range = (signed(job.0), signed(range.start()), signed(range.end()));
                self.db.execute(
                    "UPDATE ranges SET audit = ?4 WHERE job = ?1 AND first >= ?2 AND first < ?3",
                    (range.0, range.1, range.2, DOOMED),
                )?;
                self.db.execute(
                    "UPDATE disputes SET state = 1 \
                     WHERE job = ? AND first = ? AND past = ? AND state = 0",
                    range,
                )?;
            }
        }
        Ok(jobs)
    }

    /// Those that a query names for a worker, and that were not cancelled.
    fn jobs_with(&self, query: &str, worker: &str) -> Result<Vec<JobId>, LedgerFault> {
        let query = format!("SELECT DISTINCT job FROM ({query}) WHERE job IN ({LIVE})");
        let mut statement = self.db.prepare(&query)?;
        let jobs = statement.query_and_then([worker], |row| unsigned(row, 0).map(JobId))?;
        jobs.collect()
    }

    /// Open disputes in which a worker counted rows or voted.
    fn disputes_with(&self, job: JobId, worker: &str) -> Result<Vec<Range>, LedgerFault> {
        let mut statement = self.db.prepare(
            "SELECT DISTINCT first, past FROM disputes d WHERE job = ?1 AND state = 0 AND (EXISTS \
             (SELECT 1 FROM disputes v WHERE v.job = ?1 AND v.state = 0 AND v.first = d.first \
             AND v.past = d.past AND v.worker = ?2) OR EXISTS (SELECT 1 FROM ranges r WHERE r.job = ?1 \
             AND r.worker = ?2 AND r.first >= d.first AND r.first < d.past))",
        )?;
        let ranges = statement.query_and_then((signed(job.0), worker), |row| {
            let range = Range::new(unsigned(row, 0)?, unsigned(row, 1)?);
            Ok(range.expect("the table checks that"))
        })?;
        ranges.collect()
    }

    /// Takes the doomed rows of a job back.
    fn withdraw(&self, job: JobId) -> Result<Withdrawn, LedgerFault> {
        let doomed = (signed(job.0), DOOMED);
        let (mut ranges, mut total) = (IntervalSet::new(), 0_u128);
        let query = format!("SELECT {ENTRY} FROM ranges WHERE job = ? AND audit = ?");
        let mut statement = self.db.prepare(&query)?;
        let mut rows = statement.query(doomed)?;
        while let Some(row) = rows.next()? {
            let entry = Entry::read(job, row)?;
            ranges.insert(entry.range);
            total += u128::from(entry.tally.count);
        }
        drop(rows);
        self.move_to_disputes(
            "audits",
            2,
            "job = ?1 AND first IN (SELECT first FROM ranges WHERE job = ?1 AND audit = ?2)",
            doomed,
        )?;
        self.move_to_disputes("ranges", 2, "job = ? AND audit = ?", doomed)?;
        let (audits_wanted, audits_agreed) = (self.audits(job, 1)?, self.audits(job, 2)?);
        if !ranges.is_empty() || audits_wanted > 0 {
            self.reopen(job)?;
        }
        Ok(Withdrawn { job, ranges, total, audits_wanted, audits_agreed })
    }

    /// What counted once stays as evidence.
    fn move_to_disputes<P: rusqlite::Params + Copy>(
        &self,
        table: &str,
        state: i64,
        which: &str,
        params: P,
    ) -> Result<(), LedgerFault> {
        let time = if table == "ranges" { "accepted_at" } else { "counted_at" };
        self.db.execute(
            &format!(
                "INSERT INTO disputes (job, {ENTRY}, noted_at, state) \
                 SELECT job, {ENTRY}, {time}, {state} FROM {table} WHERE {which}"
            ),
            params,
        )?;
        self.db.execute(&format!("DELETE FROM {table} WHERE {which}"), params)?;
        Ok(())
    }
}
