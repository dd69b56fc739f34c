//! Reading a ledger back: every row is checked before anything rests on it.

use std::collections::BTreeSet;

use farm::{
    AuditPolicy, IntervalSet, JobId, JobState, Method, Plan, Problem, Range, RestoredDispute,
    RestoredJob, Slice, Spent, Vote,
};
use rusqlite::Row;

use super::entry::{ENTRY, Entry, Tiled, signed, unsigned};
use super::{Ledger, LedgerFault};

/// The columns that [`read_job`] wants to see.
const JOB: &str = "id, problem, n, method, parameter, tasks, fingerprint, priority, state, total, shard, \
                   shards";

impl Ledger {
    /// All jobs that the farm needs in order to go on.
    pub(crate) fn read_jobs(&self) -> Result<Vec<RestoredJob>, LedgerFault> {
        let mut statement = self.db.prepare(&format!("SELECT {JOB} FROM jobs ORDER BY id"))?;
        let rows = statement.query_and_then([], read_job)?;
        rows.map(|job| self.with_ranges(job?)).collect()
    }

    /// Workers that were proven wrong.
    pub(crate) fn read_distrusted(&self) -> Result<BTreeSet<String>, LedgerFault> {
        let mut statement = self.db.prepare("SELECT worker FROM distrusted")?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    fn with_ranges(
        &self,
        (mut job, total): (RestoredJob, Option<u128>),
    ) -> Result<RestoredJob, LedgerFault> {
        let sum = self.for_each_range(job.id, |entry| {
            job.accepted.insert(entry.range);
            job.spent.add(entry.range, entry.busy_us);
            Ok(())
        })?;
        let wanted = job.slice.ordinals(job.plan.tasks);
        if job.accepted.iter().any(|range| !wanted.contains(range)) {
            return Err(content(&job, "has ranges beyond its plan"));
        }
        if job.state == JobState::Done && job.accepted != wanted {
            return Err(content(&job, "is done, but not all of its ranges are there"));
        }
        if total.is_some_and(|total| total != sum) {
            return Err(content(&job, "has a total that is not the sum of its ranges"));
        }
        job.total = sum;
        job.disputes = self.disputes(job.id)?;
        job.audit = self.audit_policy(job.id)?;
        job.audits_wanted = self.audits(job.id, 1)?;
        job.audits_agreed = self.audits(job.id, 2)?;
        Ok(job)
    }

    /// Walks the accepted ranges of a job in ascending order and returns the sum of their counts.
    pub fn for_each_range(
        &self,
        job: JobId,
        mut see: impl FnMut(Entry) -> Result<(), LedgerFault>,
    ) -> Result<u128, LedgerFault> {
        let query = format!("SELECT {ENTRY} FROM ranges WHERE job = ? ORDER BY first");
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query([signed(job.0)])?;
        let (mut sum, mut end) = (0_u128, 0);
        while let Some(row) = rows.next()? {
            let entry = Entry::read(job, row)?;
            if entry.range.start() < end {
                let start = entry.range.start();
                let text = format!("job {job} has overlapping ranges at ordinal {start}");
                return Err(LedgerFault::Content(text));
            }
            end = entry.range.end();
            sum = sum.checked_add(entry.tally.count.into()).ok_or_else(|| past_128_bits(job))?;
            see(entry)?;
        }
        Ok(sum)
    }

    fn disputes(&self, job: JobId) -> Result<Vec<RestoredDispute>, LedgerFault> {
        let mut statement = self.db.prepare(&format!(
            "SELECT {ENTRY} FROM disputes WHERE job = ? AND state = 0 ORDER BY first, past, noted_at"
        ))?;
        let mut rows = statement.query([signed(job.0)])?;
        let mut disputes: Vec<RestoredDispute> = Vec::new();
        while let Some(row) = rows.next()? {
            let Entry { range, tally, author, .. } = Entry::read(job, row)?;
            let vote = Vote { worker: author.worker, claim: tally.claim() };
            match disputes.last_mut().filter(|dispute| dispute.range == range) {
                Some(dispute) => dispute.votes.push(vote),
                None => {
                    let stored = self.stored(job, range)?.ok_or_else(|| {
                        LedgerFault::Content(format!("job {job} disputes {range}, which it lacks"))
                    })?;
                    let Tiled { claim, worker, kernel } = stored;
                    let votes = vec![Vote { worker, claim }, vote];
                    disputes.push(RestoredDispute { range, votes, kernel });
                }
            }
        }
        Ok(disputes)
    }

    /// The one that holds for ranges to come.
    fn audit_policy(&self, job: JobId) -> Result<Option<AuditPolicy>, LedgerFault> {
        let mut statement = self.db.prepare(
            "SELECT share_ppm, seed, by_search FROM audit_policies WHERE job = ? \
             ORDER BY rowid DESC LIMIT 1",
        )?;
        let mut policies = statement.query_and_then([signed(job.0)], read_policy)?;
        policies.next().transpose()
    }

    /// How many of a job's ranges are in this state of being audited.
    pub(crate) fn audits(&self, job: JobId, state: i64) -> Result<u64, LedgerFault> {
        let query = "SELECT count(*) FROM ranges WHERE job = ? AND audit = ?";
        let mut statement = self.db.prepare_cached(query)?;
        let mut counts =
            statement.query_and_then((signed(job.0), state), |row| unsigned(row, 0))?;
        counts.next().expect("a count is one row")
    }

    /// How many claims are in open disputes of a job.
    pub(crate) fn open_disputes(&self, job: JobId) -> Result<u64, LedgerFault> {
        let query = "SELECT count(*) FROM disputes WHERE job = ? AND state = 0";
        let mut statement = self.db.prepare_cached(query)?;
        let mut counts = statement.query_and_then([signed(job.0)], |row| unsigned(row, 0))?;
        counts.next().expect("a count is one row")
    }

    /// What the rows say that tile `range` exactly; `None` if they do not.
    pub(crate) fn stored(&self, job: JobId, range: Range) -> Result<Option<Tiled>, LedgerFault> {
        let query = format!(
            "SELECT {ENTRY} FROM ranges WHERE job = ? AND first >= ? AND first < ? ORDER BY first"
        );
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows =
            statement.query([signed(job.0), signed(range.start()), signed(range.end())])?;
        let (mut stored, mut end) = (None::<Tiled>, range.start());
        while let Some(row) = rows.next()? {
            let part = Entry::read(job, row)?;
            if part.range.start() != end || part.range.end() > range.end() {
                return Ok(None);
            }
            end = part.range.end();
            stored = Some(match stored {
                None => Tiled::new(part),
                Some(tiled) => tiled.with(&part).ok_or_else(|| past_128_bits(job))?,
            });
        }
        Ok(stored.filter(|_| end == range.end()))
    }

    /// The plan of a job that is there.
    pub(crate) fn plan(&self, id: JobId) -> Result<Plan, LedgerFault> {
        let query = format!("SELECT {JOB} FROM jobs WHERE id = ?");
        let mut statement = self.db.prepare_cached(&query)?;
        let job = statement.query_and_then([signed(id.0)], read_job)?.next();
        let (job, _) = job.ok_or_else(|| LedgerFault::Content(format!("job {id} is gone")))??;
        Ok(job.plan)
    }
}

fn read_policy(row: &Row<'_>) -> Result<AuditPolicy, LedgerFault> {
    Ok(AuditPolicy { share_ppm: row.get(0)?, seed: unsigned(row, 1)?, by_search: row.get(2)? })
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
        slice: Slice::new(row.get(10)?, row.get(11)?).map_err(|_| fault("part of its plan"))?,
        priority: row.get(7)?,
        thread_memory: 0,
        state: JobState::named(&row.get::<_, String>(8)?).ok_or_else(|| fault("state"))?,
        accepted: IntervalSet::new(),
        total: 0,
        spent: Spent::new(plan.tasks),
        disputes: Vec::new(),
        audit: None,
        audits_wanted: 0,
        audits_agreed: 0,
    };
    Ok((job, total))
}

fn past_128_bits(job: JobId) -> LedgerFault {
    LedgerFault::Content(format!("job {job} has counts that pass 128 bits"))
}

fn content(job: &RestoredJob, what: &str) -> LedgerFault {
    LedgerFault::Content(format!("job {} {what}", job.id))
}
