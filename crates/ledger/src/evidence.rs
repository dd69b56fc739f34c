//! Reading a ledger as evidence, while its coordinator goes on.

use std::collections::BTreeSet;
use std::path::Path;

use farm::{AuditPolicy, JobId, Range, Restored, RestoredJob};
use rusqlite::{Connection, OpenFlags, Row};

use super::entry::{ENTRY, Entry, signed, unsigned};
use super::{CheckedLedger, Ledger, LedgerFault, LedgerLock};

/// A ledger as it is at one moment. It is only read, and needs no lock.
#[derive(Debug)]
pub struct Evidence {
    ledger: Ledger,
    jobs: Vec<RestoredJob>,
    distrusted: BTreeSet<String>,
}

/// A job's line of evidence.
#[derive(Clone, Debug)]
pub enum Fact {
    /// What was to be counted twice, and since when.
    Policy(AuditPolicy, i64),
    /// An accepted range, when it was, and whether it is to be (1) or was (2) counted twice.
    Range(Entry, i64, i64),
    /// A second count, and when.
    Audit(Entry, i64),
    /// A count that does not count, since when, and whether its dispute is open (0), settled (1), or it
    /// was taken back (2).
    Dispute(Entry, i64, i64),
    /// A worker that was proven wrong, by which range of some job, and when.
    Distrusted(String, Range, i64),
}

impl Evidence {
    /// The ledger in `path`, which has to be there.
    pub fn open(path: &Path) -> Result<Evidence, LedgerFault> {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // One transaction: whatever is written meanwhile is not seen.
        db.execute_batch("BEGIN")?;
        let ledger = CheckedLedger::check(db, Some(path.to_path_buf()), None)?;
        Ok(Evidence::new(ledger))
    }

    /// The same, held by this process alone.
    pub fn held(path: &Path) -> Result<Evidence, LedgerFault> {
        Ok(Evidence::new(CheckedLedger::open(path)?))
    }

    fn new(ledger: CheckedLedger) -> Evidence {
        let (ledger, Restored { jobs, distrusted, .. }) = ledger.into_evidence();
        Evidence { ledger, jobs, distrusted }
    }

    /// Workers that were proven wrong.
    pub fn distrusted(&self) -> &BTreeSet<String> {
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

    /// Everything there is about a job, in the order of a bundle.
    pub fn for_each<E: From<LedgerFault>>(
        &self,
        job: JobId,
        mut see: impl FnMut(Fact) -> Result<(), E>,
    ) -> Result<(), E> {
        self.rows(
            job,
            "SELECT share_ppm, seed, by_search, asked_at FROM audit_policies WHERE job = ? \
             ORDER BY rowid",
            |row| {
                let (share_ppm, by_search) = (row.get(0)?, row.get(2)?);
                let policy = AuditPolicy { share_ppm, seed: unsigned(row, 1)?, by_search };
                Ok(Fact::Policy(policy, row.get(3)?))
            },
            &mut see,
        )?;
        self.rows(
            job,
            &format!("SELECT {ENTRY}, accepted_at, audit FROM ranges WHERE job = ? ORDER BY first"),
            |row| Ok(Fact::Range(Entry::read(job, row)?, row.get(11)?, row.get(12)?)),
            &mut see,
        )?;
        self.rows(
            job,
            &format!("SELECT {ENTRY}, counted_at FROM audits WHERE job = ? ORDER BY first"),
            |row| Ok(Fact::Audit(Entry::read(job, row)?, row.get(11)?)),
            &mut see,
        )?;
        self.rows(
            job,
            &format!(
                "SELECT {ENTRY}, noted_at, state FROM disputes WHERE job = ? \
                 ORDER BY first, past, noted_at, rowid"
            ),
            |row| Ok(Fact::Dispute(Entry::read(job, row)?, row.get(11)?, row.get(12)?)),
            &mut see,
        )?;
        self.rows(
            job,
            "SELECT first, past, worker, noted_at FROM distrusted WHERE ?1 = ?1 \
             ORDER BY noted_at, worker",
            |row| {
                let range = Range::new(unsigned(row, 0)?, unsigned(row, 1)?);
                let fault = || LedgerFault::Content("a worker was wrong about nothing".into());
                Ok(Fact::Distrusted(row.get(2)?, range.ok_or_else(fault)?, row.get(3)?))
            },
            &mut see,
        )
    }

    fn rows<E: From<LedgerFault>>(
        &self,
        job: JobId,
        query: &str,
        read: impl Fn(&Row<'_>) -> Result<Fact, LedgerFault>,
        see: &mut impl FnMut(Fact) -> Result<(), E>,
    ) -> Result<(), E> {
        let fault = |error: rusqlite::Error| E::from(LedgerFault::from(error));
        let mut statement = self.ledger.db.prepare(query).map_err(fault)?;
        let mut rows = statement.query([signed(job.0)]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            see(read(row)?)?;
        }
        Ok(())
    }
}
