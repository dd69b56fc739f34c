//! Reading a ledger as evidence, while its coordinator goes on.

use std::path::Path;

use farm::rules::Store;
use farm::{CountedRange, Distrusted, EvidenceRecord, JobId, Plan, RestoredJob, TrustChange};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};

use super::entry::{CHECKS, COLUMNS, STATES, WIDTH, columns_of, read_one, read_row, signed};
use super::place::{self, Place};
use super::restore::{POLICY, POLICY_WIDTH, read_policy};
use super::store::SqlStore;
use super::{CheckedLedger, Ledger, LedgerFault, LedgerLock, Result, format, task_counts};

/// A ledger as it is at one moment. It is only read.
#[derive(Debug)]
pub struct Evidence(Ledger);

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

    /// The ledger in `path`, locked by this process; where nothing may be written, nobody can lock it.
    pub fn locked(path: &Path) -> Result<Evidence> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match CheckedLedger::open(path) {
            Err(LedgerFault::File(error))
                if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Evidence::open(path)
            }
            opened => Ok(Evidence(opened?.ledger)),
        }
    }

    /// All changes of trust, the oldest first; a job of theirs that proves something is called `job`.
    pub(crate) fn trust_changes(&self, job: JobId) -> Result<Vec<TrustChange>> {
        let mut changes = SqlStore(&self.0.db).trust_changes()?;
        for change in &mut changes {
            change.proof = change.proof.map(|(_, range)| (job, range));
        }
        Ok(changes)
    }

    /// Lets SQLite check the structure of the whole file.
    pub(crate) fn check_integrity(&self) -> Result<()> {
        let db = &self.0.db;
        let verdict: String = db.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
        if verdict == "ok" { Ok(()) } else { Err(LedgerFault::Content(verdict)) }
    }

    /// Parties that are distrusted.
    pub fn distrusted(&self) -> &Distrusted {
        &self.0.restored.distrusted
    }

    /// Closes it, with everything in the one file, and keeps it for this process. `None` if it is not
    /// held.
    pub fn close(self) -> Result<Option<LedgerLock>> {
        self.0.close()
    }

    /// All jobs.
    pub fn jobs(&self) -> &[RestoredJob] {
        &self.0.restored.jobs
    }

    /// Everything there is about a job, in the order of a bundle: policies, all changes of trust, each accepted range with its
    /// second count behind it, and disputes. A second count of what is no row is left out.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        job: JobId,
        mut see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let db = &self.0.db;
        let query =
            format!("SELECT {POLICY}, asked_at FROM audit_policies WHERE job = ? ORDER BY rowid");
        each(db, &query, job, |columns| {
            let (policy, at_ms) = (read_policy(columns, 0)?, get(columns, POLICY_WIDTH)?);
            see(EvidenceRecord::Policy { policy, at_ms })
        })?;
        let changes = SqlStore(db).trust_changes()?;
        changes.into_iter().try_for_each(|change| see(EvidenceRecord::Trust(change)))?;
        let plan = self.jobs().iter().find(|known| known.id == job).map(|job| &job.spec.plan);
        let query = format!(
            "SELECT {}, r.accepted_at, r.audit, r.task_counts, a.counted_at, {} FROM ranges r \
             LEFT JOIN audits a ON a.job = r.job AND a.first = r.first AND a.past = r.past \
             WHERE r.job = ? ORDER BY r.first",
            columns_of("r"),
            columns_of("a")
        );
        each(db, &query, job, |columns| {
            see(read_range(job, plan, columns)?)?;
            match get(columns, WIDTH + 3)? {
                Some(at_ms) => {
                    let row = read_row(job, columns, WIDTH + 4)?;
                    see(EvidenceRecord::Audit { row, at_ms })
                }
                None => Ok(()),
            }
        })?;
        let query = format!(
            "SELECT {COLUMNS}, noted_at, state FROM disputes WHERE job = ? \
             ORDER BY first, past, noted_at, rowid"
        );
        each(db, &query, job, |columns| {
            let (row, state) = (read_row(job, columns, 0)?, read_one(&STATES, columns, WIDTH + 1)?);
            see(EvidenceRecord::Dispute { row, state, at_ms: get(columns, WIDTH)? })
        })
    }
}

/// Calls `see` with each row of a query about a job.
fn each<E: From<LedgerFault>>(
    db: &Connection,
    query: &str,
    job: JobId,
    mut see: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = db.prepare(query).map_err(LedgerFault::from)?;
    let mut rows = statement.query([signed(job.0)]).map_err(LedgerFault::from)?;
    while let Some(columns) = rows.next().map_err(LedgerFault::from)? {
        see(columns)?;
    }
    Ok(())
}

fn get<T: FromSql>(columns: &Row<'_>, at: usize) -> Result<T> {
    Ok(columns.get(at)?)
}

/// An accepted range, with the counts of its tasks if `plan` is given.
fn read_range(job: JobId, plan: Option<&Plan>, columns: &Row<'_>) -> Result<EvidenceRecord> {
    let check = read_one(&CHECKS, columns, WIDTH + 1)?;
    let counted = CountedRange { row: read_row(job, columns, 0)?, check };
    let counts = task_counts::read(columns, WIDTH + 2, job, counted.row.range)?;
    let task_counts = task_counts::of_row(counts, job, plan, &counted.row)?;
    Ok(EvidenceRecord::Range { counted, task_counts, at_ms: columns.get(WIDTH)? })
}
