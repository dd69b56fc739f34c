//! Reading a ledger as evidence, while its coordinator goes on.

use std::path::Path;

use farm::rules::Store;
use farm::{
    CountedRange, Distrusted, EvidenceRecord, JobId, Plan, Restored, RestoredJob, TaskCounts,
    TrustChange,
};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};

use super::entry::{
    COLUMNS, WIDTH, columns_of, read_check, read_row, read_row_at, read_state, signed,
};
use super::place::{self, Place};
use super::restore::{POLICY, POLICY_WIDTH, read_policy};
use super::store::SqlStore;
use super::{CheckedLedger, Ledger, LedgerFault, LedgerLock, format, task_counts};

/// A ledger as it is at one moment. It is only read.
#[derive(Debug)]
pub struct Evidence {
    ledger: Ledger,
    jobs: Vec<RestoredJob>,
    distrusted: Distrusted,
}

impl Evidence {
    /// The ledger in `path`, which has to be there.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read, or it is damaged.
    pub fn open(path: &Path) -> Result<Evidence, LedgerFault> {
        place::check_name(path)?;
        place::warn_of_missing_log(path)?;
        let db = format::reader(path)?;
        // One transaction: whatever is written meanwhile is not seen.
        db.execute_batch("BEGIN")?;
        let ledger = CheckedLedger::check(db, Some(Place::of(path)?), None)?;
        Ok(Evidence::new(ledger))
    }

    /// The ledger in `path`, locked by this process; where nothing may be written, nobody can lock it.
    pub fn locked(path: &Path) -> Result<Evidence, LedgerFault> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match CheckedLedger::open(path) {
            Err(LedgerFault::File(error))
                if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Evidence::open(path)
            }
            opened => Ok(Evidence::new(opened?)),
        }
    }

    fn new(ledger: CheckedLedger) -> Evidence {
        let (ledger, Restored { jobs, distrusted, .. }) = ledger.into_evidence();
        Evidence { ledger, jobs, distrusted }
    }

    /// All changes of trust, the oldest first; a job of theirs that proves something is called `job`.
    pub(crate) fn trust_changes(&self, job: JobId) -> Result<Vec<TrustChange>, LedgerFault> {
        let mut changes = SqlStore(&self.ledger.db).trust_changes()?;
        for change in &mut changes {
            change.proof = change.proof.map(|(_, range)| (job, range));
        }
        Ok(changes)
    }

    /// Parties that are distrusted.
    pub fn distrusted(&self) -> &Distrusted {
        &self.distrusted
    }

    /// Closes it, with everything in the one file, and keeps it for this process. `None` if it is not
    /// held.
    pub fn close(self) -> Result<Option<LedgerLock>, LedgerFault> {
        self.ledger.close()
    }

    /// All jobs.
    pub fn jobs(&self) -> &[RestoredJob] {
        &self.jobs
    }

    /// A hash over where the job's ranges begin and end.
    pub(crate) fn outline(&self, job: JobId) -> Result<[u8; 32], LedgerFault> {
        let query = "SELECT first, past FROM ranges WHERE job = ? ORDER BY first";
        let mut statement = self.ledger.db.prepare(query)?;
        let mut rows = statement.query([signed(job.0)])?;
        let mut hasher = blake3::Hasher::new();
        while let Some(row) = rows.next()? {
            let bounds: [i64; 2] = [row.get(0)?, row.get(1)?];
            bounds.iter().for_each(|bound| {
                hasher.update(&bound.to_le_bytes());
            });
        }
        Ok(hasher.finalize().into())
    }

    /// Everything there is about a job, in the order of a bundle: policies, all changes of trust, each accepted range with its
    /// second count behind it, and disputes. A second count of what is no row is left out.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        job: JobId,
        mut see: impl FnMut(EvidenceRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let db = &self.ledger.db;
        let query =
            format!("SELECT {POLICY}, asked_at FROM audit_policies WHERE job = ? ORDER BY rowid");
        each(db, &query, job, |columns| {
            let (policy, at_ms) = (read_policy(columns, 0)?, get(columns, POLICY_WIDTH)?);
            see(EvidenceRecord::Policy { policy, at_ms })
        })?;
        let changes = SqlStore(db).trust_changes()?;
        changes.into_iter().try_for_each(|change| see(EvidenceRecord::Trust(change)))?;
        let plan = self.plan_with_task_counts(job);
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
                    let row = read_row_at(job, columns, WIDTH + 4)?;
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
            let (row, state) = (read_row(job, columns)?, read_state(columns, WIDTH + 1)?);
            see(EvidenceRecord::Dispute { row, at_ms: get(columns, WIDTH)?, state })
        })
    }

    /// A job's plan, if counts of single tasks are published for it.
    fn plan_with_task_counts(&self, job: JobId) -> Option<&Plan> {
        let job = self.jobs.iter().find(|restored| restored.id == job)?;
        job.spec.plan.reports_tasks().then_some(&job.spec.plan)
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

fn get<T: FromSql>(columns: &Row<'_>, at: usize) -> Result<T, LedgerFault> {
    Ok(columns.get(at)?)
}

/// An accepted range, with the counts of its tasks if `plan` is given. Counts that were altered are omitted, because the sum is
/// sound; a scrub reports them.
fn read_range(
    job: JobId,
    plan: Option<&Plan>,
    columns: &Row<'_>,
) -> Result<EvidenceRecord, LedgerFault> {
    let check = read_check(columns, WIDTH + 1)?;
    let counted = CountedRange { row: read_row(job, columns)?, check };
    let reported = plan.map(|plan| {
        let counts = task_counts::read(columns, WIDTH + 2, job, counted.row.range)?;
        task_counts::of_row(counts, job, plan, &counted.row)
    });
    let task_counts = match reported.transpose() {
        Err(LedgerFault::Content(damage)) => {
            tracing::warn!(damage, "the counts of single tasks are left out");
            TaskCounts::default()
        }
        reported => reported?.unwrap_or_default(),
    };
    Ok(EvidenceRecord::Range { counted, task_counts, at_ms: columns.get(WIDTH)? })
}
