//! Reading a ledger as evidence, while its coordinator goes on.

use std::path::Path;

use farm::{
    Check, CountedRange, DisputeState, Distrusted, EvidenceRecord, JobId, Plan, RestoredJob,
    TaskCounts,
};
use rusqlite::{Connection, Row};

use super::entry::{COLUMNS, WIDTH, read_one, read_row};
use super::place::{self, Place};
use super::restore::read_policy;
use super::store::{Store, key};
use super::{CheckedLedger, Ledger, LedgerFault, Result, format, task_counts};

/// A ledger as it is at one moment. It is only read.
#[derive(Debug)]
pub struct Evidence(pub(crate) Ledger);

impl Evidence {
    /// The ledger in `path`, which has to be there.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read, or it is damaged.
    pub fn open(path: &Path) -> Result<Evidence> {
        place::check_name(path)?;
        place::warn_of_missing_log(path)?;
        let db = format::reader(path)?;
        // One transaction: whatever is written meanwhile is not seen.
        db.execute_batch("BEGIN")?;
        Ok(Evidence(CheckedLedger::check(db, Some(Place::of(path)?), None)?.ledger))
    }

    /// The ledger in `path`, locked by this process. Where nothing may be written, or the lock would be beside one of several
    /// names, it is read without a lock.
    pub fn locked(path: &Path) -> Result<Evidence> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match CheckedLedger::open(path) {
            Err(LedgerFault::File(error))
                if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Evidence::open(path)
            }
            Err(LedgerFault::Linked) => Evidence::open(path),
            opened => Ok(Evidence(opened?.ledger)),
        }
    }

    /// Parties that are distrusted.
    pub fn distrusted(&self) -> &Distrusted {
        &self.0.restored.distrusted
    }

    /// All jobs.
    pub fn jobs(&self) -> &[RestoredJob] {
        &self.0.restored.jobs
    }

    /// Everything there is about one of its jobs, in the order of a bundle.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        job: JobId,
        see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let known = self.jobs().iter().find(|known| known.id == job);
        known.map_or(Ok(()), |known| self.0.for_each_record(job, &known.spec.plan, see))
    }
}

impl Ledger {
    /// Everything there is about a job of this plan, in the order of a bundle: policies, all changes of trust, each accepted
    /// range with its second count behind it, and disputes.
    pub fn for_each_record<E: From<LedgerFault>>(
        &self,
        job: JobId,
        plan: &Plan,
        mut see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let db = &self.db;
        let policies = "SELECT * FROM audit_policies WHERE job = ? ORDER BY rowid";
        let policy = |row: &Row<'_>| {
            let (policy, at_ms) = (read_policy(row)?, row.get("asked_at")?);
            Ok(EvidenceRecord::Policy { policy, at_ms })
        };
        each(db, policies, job, policy, &mut see)?;
        let changes = Store::of(db).trust_changes()?;
        changes.into_iter().try_for_each(|change| see(EvidenceRecord::Trust(change)))?;
        let ranges = format!(
            "SELECT {COLUMNS}, noted_at, audit, task_counts FROM ranges WHERE job = ? ORDER BY first"
        );
        let range = |columns: &Row<'_>| read_range(job, plan, columns);
        each(db, &ranges, job, range, |(counted, task_counts, at_ms)| {
            let is_confirmed = counted.check == Check::Agreed;
            let second = is_confirmed.then(|| self.second(job, &counted.row)).transpose()?;
            see(EvidenceRecord::Range { counted, task_counts, at_ms })?;
            second.map_or(Ok(()), &mut see)
        })?;
        let disputes = format!(
            "SELECT {COLUMNS}, noted_at, state FROM disputes WHERE job = ? \
             ORDER BY first, past, noted_at, rowid"
        );
        let dispute = |columns: &Row<'_>| {
            let (row, state) =
                (read_row(job, columns)?, read_one(&DisputeState::ALL, columns, WIDTH + 1)?);
            Ok(EvidenceRecord::Dispute { row, state, at_ms: columns.get(WIDTH)? })
        };
        each(db, &disputes, job, dispute, see)
    }

    /// The second count of an accepted range that is said to be confirmed.
    fn second(&self, job: JobId, first: &farm::Row) -> Result<EvidenceRecord> {
        let range = first.range;
        let query = format!(
            "SELECT {COLUMNS}, noted_at FROM audits WHERE job = ? AND first = ? AND past = ?"
        );
        let seconds = Store::of(&self.db).all(&query, key(job, range), |columns| {
            Ok((read_row(job, columns)?, columns.get(WIDTH)?))
        })?;
        match seconds.into_iter().next() {
            Some((row, at_ms)) if row.checked_count == first.checked_count => {
                Ok(EvidenceRecord::Audit { row, at_ms })
            }
            _ => {
                let text = format!("job {job}: {range} is said to be confirmed, and is not");
                Err(LedgerFault::Content(text))
            }
        }
    }
}

/// Calls `see` with what `read` makes of each row of a query about a job.
fn each<T, E: From<LedgerFault>>(
    db: &Connection,
    query: &str,
    job: JobId,
    read: impl FnMut(&Row<'_>) -> Result<T>,
    mut see: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = db.prepare(query).map_err(LedgerFault::from)?;
    for read in statement.query_and_then([job.0], read).map_err(LedgerFault::from)? {
        see(read?)?;
    }
    Ok(())
}

/// An accepted range, with the counts of its tasks if `plan` says that they are published, and its time.
fn read_range(
    job: JobId,
    plan: &Plan,
    columns: &Row<'_>,
) -> Result<(CountedRange, TaskCounts, i64)> {
    let row = read_row(job, columns)?;
    let (range, sum) = (row.range, row.checked_count);
    let counts = task_counts::read(columns, WIDTH + 2, range)?;
    let task_counts = match plan.reports_tasks() {
        true => counts.filter(|counts| counts.add_up_to(plan.fingerprint(), range, sum)),
        false => counts.map(|_| TaskCounts::default()),
    };
    let altered =
        || LedgerFault::Content(format!("job {job}: the counts of the tasks {range} were altered"));
    let counted = CountedRange { row, check: read_one(&Check::ALL, columns, WIDTH + 1)? };
    Ok((counted, task_counts.ok_or_else(altered)?, columns.get(WIDTH)?))
}
