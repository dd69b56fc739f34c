//! Reading a ledger back: every row is checked before anything rests on it.

use farm::{
    IntervalSet, JobId, JobState, Method, Plan, Problem, Range, RestoredDispute, RestoredJob, Vote,
};
use rusqlite::Row;

use super::seal::seal;
use super::{Ledger, LedgerFault};
use crate::memory::thread_memory;

/// What [`read_accepted`] wants to see of an accepted range.
const ACCEPTED: &str = "first, past, count, worker, lease, seal";

impl Ledger {
    /// All that the farm needs in order to go on. `parameter` is the column of a method's.
    pub(super) fn read_jobs(&self, parameter: &str) -> Result<Vec<RestoredJob>, LedgerFault> {
        let mut statement = self.db.prepare(&format!(
            "SELECT id, problem, n, method, {parameter}, tasks, fingerprint, priority, state, \
             total FROM jobs ORDER BY id"
        ))?;
        let rows = statement.query_and_then([], read_job)?;
        rows.map(|job| self.with_ranges(job?)).collect()
    }

    fn with_ranges(
        &self,
        (mut job, total): (RestoredJob, Option<u128>),
    ) -> Result<RestoredJob, LedgerFault> {
        let sum = self.for_each_range(job.id, |range| {
            job.accepted.insert(range);
            Ok(())
        })?;
        if Range::new(job.plan.tasks, u64::MAX).is_some_and(|past| job.accepted.intersects(past)) {
            return Err(content(&job, "has ranges beyond its plan"));
        }
        if job.state == JobState::Done && job.accepted.len() != job.plan.tasks {
            return Err(content(&job, "is done, but not all of its ranges are there"));
        }
        if total.is_some_and(|total| total != sum) {
            return Err(content(&job, "has a total that is not the sum of its ranges"));
        }
        job.total = sum;
        job.disputes = self.disputes(job.id)?;
        Ok(job)
    }

    /// Walks the accepted ranges of a job in ascending order and returns the sum of their counts.
    pub(super) fn for_each_range(
        &self,
        job: JobId,
        mut see: impl FnMut(Range) -> Result<(), LedgerFault>,
    ) -> Result<u128, LedgerFault> {
        let query = format!("SELECT {ACCEPTED} FROM ranges WHERE job = ? ORDER BY first");
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query([signed(job.0)])?;
        let (mut sum, mut end) = (0_u128, 0);
        while let Some(row) = rows.next()? {
            let (range, Vote { count, .. }) = read_accepted(job, row)?;
            if range.start() < end {
                let text = format!("job {job} has overlapping ranges at ordinal {}", range.start());
                return Err(LedgerFault::Content(text));
            }
            end = range.end();
            sum = sum.checked_add(count).ok_or_else(|| {
                LedgerFault::Content(format!("job {job} has counts that pass 128 bits"))
            })?;
            see(range)?;
        }
        Ok(sum)
    }

    fn disputes(&self, job: JobId) -> Result<Vec<RestoredDispute>, LedgerFault> {
        let mut statement = self.db.prepare(
            "SELECT first, past, count, worker FROM disputes WHERE job = ? AND NOT settled \
             ORDER BY first, past, noted_at",
        )?;
        let mut rows = statement.query([signed(job.0)])?;
        let mut disputes: Vec<RestoredDispute> = Vec::new();
        while let Some(row) = rows.next()? {
            let (range, count) = read_range(row)?;
            let vote = Vote { worker: row.get(3)?, count };
            match disputes.last_mut().filter(|dispute| dispute.range == range) {
                Some(dispute) => dispute.votes.push(vote),
                None => {
                    let stored = self.stored(job, range)?.ok_or_else(|| {
                        LedgerFault::Content(format!("job {job} disputes {range}, which it lacks"))
                    })?;
                    disputes.push(RestoredDispute { range, votes: vec![stored, vote] });
                }
            }
        }
        Ok(disputes)
    }

    /// What the rows say that tile `range` exactly, and who, if it was one worker alone; `None` if
    /// they do not.
    pub(super) fn stored(&self, job: JobId, range: Range) -> Result<Option<Vote>, LedgerFault> {
        let query = format!(
            "SELECT {ACCEPTED} FROM ranges WHERE job = ? AND first >= ? AND first < ? \
             ORDER BY first"
        );
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows =
            statement.query([signed(job.0), signed(range.start()), signed(range.end())])?;
        let (mut stored, mut end) = (None, range.start());
        while let Some(row) = rows.next()? {
            let (part, vote) = read_accepted(job, row)?;
            if part.start() != end || part.end() > range.end() {
                return Ok(None);
            }
            end = part.end();
            stored = Some(stored.map_or(vote.clone(), |sum| add(sum, vote)));
        }
        Ok(stored.filter(|_| end == range.end()))
    }
}

fn add(sum: Vote, part: Vote) -> Vote {
    let worker = if sum.worker == part.worker { part.worker } else { String::new() };
    Vote { worker, count: sum.count + part.count }
}

fn read_job(row: &Row<'_>) -> Result<(RestoredJob, Option<u128>), LedgerFault> {
    let id = JobId(unsigned(row, 0)?);
    let fault = |what: &str| LedgerFault::Content(format!("job {id} has an unknown {what}"));
    let problem: String = row.get(1)?;
    let method: String = row.get(3)?;
    let n = row.get(2)?;
    let plan = Plan {
        problem: Problem::from_text(&problem, n).ok_or_else(|| fault("problem"))?,
        method: Method::from_name(&method, row.get(4)?).ok_or_else(|| fault("method"))?,
        tasks: unsigned(row, 5)?,
    };
    if !plan.problem.suits(plan.method) {
        return Err(fault("board or cut of it"));
    }
    if row.get::<_, String>(6)? != plan.fingerprint().to_string() {
        let text = format!("job {id} ({plan}) numbers its tasks in another way than this program");
        return Err(LedgerFault::Version(text));
    }
    let total: Option<String> = row.get(9)?;
    let total = total.map(|total| total.parse().map_err(|_| fault("total"))).transpose()?;
    let job = RestoredJob {
        id,
        plan,
        priority: row.get(7)?,
        thread_memory: thread_memory(&plan),
        state: JobState::named(&row.get::<_, String>(8)?).ok_or_else(|| fault("state"))?,
        accepted: IntervalSet::new(),
        total: 0,
        disputes: Vec::new(),
    };
    Ok((job, total))
}

/// An accepted range, the columns of [`ACCEPTED`]: what the row says, if it still says what was
/// written.
fn read_accepted(job: JobId, row: &Row<'_>) -> Result<(Range, Vote), LedgerFault> {
    let (range, count) = read_range(row)?;
    let worker: String = row.get(3)?;
    if row.get::<_, i64>(5)? != seal(job, range, count, unsigned(row, 4)?, &worker) {
        let text = format!("job {job} has a row at ordinal {} that was altered", range.start());
        return Err(LedgerFault::Content(text));
    }
    Ok((range, Vote { worker, count }))
}

/// Columns `first`, `past`, `count`.
fn read_range(row: &Row<'_>) -> Result<(Range, u128), LedgerFault> {
    let (first, past) = (unsigned(row, 0)?, unsigned(row, 1)?);
    let count: String = row.get(2)?;
    let range = Range::new(first, past);
    let fault = || LedgerFault::Content(format!("the row [{first}, {past}) = {count} is no count"));
    Ok((range.ok_or_else(fault)?, count.parse().map_err(|_| fault())?))
}

fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, LedgerFault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value)
        .map_err(|_| LedgerFault::Content(format!("{value} where no negative number can be")))
}

/// Ids and ordinals as SQLite stores them; all of ours are far below 2^63.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).expect("ids and ordinals stay below 2^63")
}

fn content(job: &RestoredJob, what: &str) -> LedgerFault {
    LedgerFault::Content(format!("job {} {what}", job.id))
}
