//! Reads a ledger as evidence, while its coordinator may go on writing it.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::path::Path;

use farm::{
    Check, CountedRange, Distrusted, EvidenceRecord, JobId, Plan, Range, RestoredJob, StoredJob,
    TaskCounts,
};
use rusqlite::{Connection, Row};

use super::entry::{ACCEPTED, SECOND, Standing, WIDTH, read_row};
use super::looking;
use super::place::{self, Place};
use super::planted::Use;
use super::restore::read_policy;
use super::store::Store;
use super::{CheckedLedger, Ledger, LedgerFault, LedgerLock, Result, format, queries, task_counts};

/// A ledger as it is at one moment. It is only read.
#[derive(Debug)]
pub struct Evidence(pub(crate) Ledger);

impl Evidence {
    /// Reads the ledger in `path`, which must exist.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the ledger cannot be read, or if it is damaged.
    pub fn open(path: &Path) -> Result<Evidence> {
        Ok(Evidence(Evidence::checked(path)?.ledger))
    }

    /// Opens a ledger for reading only, and reads all of it.
    pub(crate) fn checked(path: &Path) -> Result<CheckedLedger> {
        looking::check_header(path)?;
        Evidence::checked_by(looking::reader(path)?, path)
    }

    /// Reads all of the ledger in `path` by a connection that only reads.
    pub(crate) fn checked_by(db: Connection, path: &Path) -> Result<CheckedLedger> {
        // One transaction reads everything, so that it does not see what is written meanwhile.
        db.execute_batch("BEGIN")?;
        CheckedLedger::check(db, Some(Place::of(path)?), None)
    }

    /// Reads the ledger in `path`, which no process may hold. Its lock is only looked at, because
    /// taking it would make a file beside the ledger.
    pub fn at_rest(path: &Path) -> Result<Evidence> {
        place::check_name(path, Use::Reads)?;
        LedgerLock::refuse_held(path)?;
        Evidence::open(path)
    }

    /// Parties that are distrusted.
    pub fn distrusted(&self) -> &Distrusted {
        &self.0.restored.distrusted
    }

    /// All jobs.
    pub fn jobs(&self) -> &[RestoredJob] {
        &self.0.restored.jobs
    }

    /// Calls `see` for every record about one of the jobs, in the order of a bundle.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        job: JobId,
        see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let known = self.jobs().iter().find(|known| known.stored.id == job);
        known.map_or(Ok(()), |known| self.0.for_each_record(job, &known.stored.spec.plan, see))
    }
}

/// What one job has in a ledger, as it is at one moment, which the ledger's coordinator may go on
/// writing. The coordinator has checked the ledger when it opened it. So no other jobs are read,
/// and only the job and its records are checked again.
#[derive(Debug)]
pub struct JobEvidence {
    db: Connection,
    job: StoredJob,
}

impl JobEvidence {
    /// Reads the ledger in `path`. Returns `None` if it has no such job.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the ledger cannot be read, or if it is of another format.
    pub fn open(path: &Path, job: JobId) -> Result<Option<JobEvidence>> {
        let db = looking::reader(path)?;
        db.execute_batch("BEGIN")?;
        format::check(&db)?;
        let job = Store::of(&db).jobs(Some(job))?.pop();
        Ok(job.map(|job| JobEvidence { db, job }))
    }

    /// The job.
    pub fn job(&self) -> &StoredJob {
        &self.job
    }

    /// Calls `see` for every record about the job, in the order of a bundle.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        for_each_record(&self.db, self.job.id, &self.job.spec.plan, see)
    }
}

impl Ledger {
    /// Calls `see` for every record about a job of this plan, in the order of a bundle: policies,
    /// all changes of trust, each accepted range with its second count behind it, and disputes.
    pub fn for_each_record<E: From<LedgerFault>>(
        &self,
        job: JobId,
        plan: &Plan,
        see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        for_each_record(&self.db, job, plan, see)
    }
}

pub(crate) fn for_each_record<E: From<LedgerFault>>(
    db: &Connection,
    job: JobId,
    plan: &Plan,
    mut see: impl FnMut(EvidenceRecord) -> Result<(), E>,
) -> Result<(), E> {
    let policies = "SELECT * FROM audit_policies WHERE job = ? ORDER BY rowid";
    let policy = |row: &Row<'_>| {
        let (policy, at_ms) = (read_policy(row)?, row.get("asked_at")?);
        Ok(EvidenceRecord::Policy { policy, at_ms })
    };
    each(db, policies, job, policy, &mut see)?;
    let changes = Store::of(db).trust_changes()?;
    changes.into_iter().try_for_each(|change| see(EvidenceRecord::Trust(change)))?;
    let mut confirmed = None;
    let accepted = |columns: &Row<'_>| read_accepted(job, plan, columns, &mut confirmed);
    each(db, queries::ACCEPTED_AND_SECOND, job, accepted, &mut see)?;
    is_over(job, confirmed)?;
    let evidence = |columns: &Row<'_>| {
        let row = read_row(job, columns)?;
        match Standing::read(columns, WIDTH)? {
            Standing::Evidence(state) => {
                Ok(EvidenceRecord::Dispute { row, state, at_ms: columns.get(NOTED_AT)? })
            }
            other => Err(other.misplaced(job, row.range)),
        }
    };
    each(db, queries::EVIDENCE, job, evidence, see)
}

/// Calls `see` with what `read` makes of each row of a query about a job.
fn each<T, E: From<LedgerFault>>(
    db: &Connection,
    query: &str,
    job: JobId,
    read: impl FnMut(&Row<'_>) -> Result<T>,
    mut see: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = db.prepare_cached(query).map_err(LedgerFault::from)?;
    for read in statement.query_and_then([job.0], read).map_err(LedgerFault::from)? {
        see(read?)?;
    }
    Ok(())
}

/// The indices of the columns after the standing.
const NOTED_AT: usize = WIDTH + 1;
const TASK_COUNTS: usize = WIDTH + 2;
const PLACE: usize = WIDTH + 3;

/// A row of [`queries::ACCEPTED_AND_SECOND`]. Before the call, `confirmed` is the accepted row
/// before this one, if its second count has not been read yet. After the call, it is this row, if
/// the next row must be its second count.
fn read_accepted(
    job: JobId,
    plan: &Plan,
    columns: &Row<'_>,
    confirmed: &mut Option<farm::Row>,
) -> Result<EvidenceRecord> {
    let (row, at_ms) = (read_row(job, columns)?, columns.get(NOTED_AT)?);
    let check = match (columns.get(PLACE)?, Standing::read(columns, WIDTH)?) {
        (ACCEPTED, Standing::Accepted(check)) => check,
        (SECOND, Standing::Second) => {
            let is_second = |first: &mut farm::Row| {
                (first.range, first.checked_count) == (row.range, row.checked_count)
            };
            let first = confirmed.take_if(is_second);
            return match first {
                Some(_) => Ok(EvidenceRecord::Audit { row, at_ms }),
                None => Err(unconfirmed(job, row.range)),
            };
        }
        (_, other) => return Err(other.misplaced(job, row.range)),
    };
    is_over(job, confirmed.take())?;
    let counts = task_counts::read(columns, TASK_COUNTS, row.range)?;
    let is_sum =
        |counts: &TaskCounts| counts.add_up_to(plan.fingerprint(), row.range, row.checked_count);
    let task_counts = match plan.reports_tasks() {
        true => counts.filter(is_sum),
        false => counts.map(|_| TaskCounts::default()),
    };
    let Some(task_counts) = task_counts else {
        let text = format!("job {job}: the counts of the tasks {} were altered", row.range);
        return Err(LedgerFault::Content(text));
    };
    *confirmed = (check == Check::Agreed).then(|| row.clone());
    Ok(EvidenceRecord::Range { counted: CountedRange { row, check }, task_counts, at_ms })
}

/// Fails if an accepted row still lacks the second count that it is said to have.
fn is_over(job: JobId, confirmed: Option<farm::Row>) -> Result<()> {
    confirmed.map_or(Ok(()), |first| Err(unconfirmed(job, first.range)))
}

fn unconfirmed(job: JobId, range: Range) -> LedgerFault {
    LedgerFault::Content(format!("job {job}: {range} is said to be confirmed, and is not"))
}
