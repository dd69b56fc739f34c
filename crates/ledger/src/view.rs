//! Reads a ledger for the pages while its coordinator goes on.
//!
//! The pages show what is read here, and no decision rests on it. Therefore it is not checked like
//! evidence, and costs little more than reading its rows.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::ops::ControlFlow;
use std::path::Path;

use farm::{Credit, CreditOf, Incident, JobId, Principal, Range};
use rusqlite::Connection;

use super::store::Store;
use super::{Result, looking, queries};

/// A ledger that is only read. Every method fails with a
/// [`LedgerFault`](crate::LedgerFault) if it cannot be read.
#[derive(Debug)]
pub struct LedgerView {
    pub(super) db: Connection,
}

impl LedgerView {
    /// The largest number of incidents of one kind in the log of a job. The log keeps the latest.
    pub const INCIDENTS: u32 = 50;

    /// Opens the ledger in `path`, which must exist.
    pub fn open(path: &Path) -> Result<LedgerView> {
        Ok(LedgerView { db: looking::reader(path)? })
    }

    /// The files in the folder of keys beside it with which it was served.
    pub fn keys(&self) -> Result<Vec<String>> {
        Store::of(&self.db).keys()
    }

    /// Calls `see` for every accepted range of a job, in the order of the ordinals, until it breaks
    /// off: with the range, the name of the worker that counted it, and whether two parties counted
    /// it alike.
    pub fn ranges(
        &self,
        job: JobId,
        mut see: impl FnMut(Range, &str, bool) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut statement = self.db.prepare(queries::MAP)?;
        let mut rows = statement.query([job.0])?;
        while let Some(row) = rows.next()? {
            let worker = row.get_ref(2)?.as_str().unwrap_or_default();
            if let Some(range) = Range::new(row.get(0)?, row.get(1)?)
                && see(range, worker, row.get(3)?).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    /// What happened to a job, the latest first.
    pub fn incidents(&self, job: JobId) -> Result<Vec<Incident>> {
        let incidents =
            Store::of(&self.db).all(INCIDENTS, (job.0, LedgerView::INCIDENTS), |row| {
                Ok(Incident { at_ms: row.get(0)?, text: row.get(1)? })
            })?;
        if incidents.is_empty() {
            return Err(rusqlite::Error::QueryReturnedNoRows.into());
        }
        Ok(incidents)
    }

    /// Who has counted what, the most placements first; at most [`Credit::MOST`] entries. This
    /// reads all rows once.
    pub fn credits(&self, of: &CreditOf) -> Result<Vec<Credit>> {
        let [owner, machine, worker]: [Option<&str>; 3] = match of {
            CreditOf::Owners => [None; 3],
            CreditOf::Workers(owner) => [Some(owner), None, None],
            CreditOf::Jobs(Principal { owner, machine }, worker) => {
                [owner, machine, worker].map(|name| Some(&**name))
            }
        };
        let params = (owner, machine, worker, Credit::MOST);
        Store::of(&self.db).all(queries::CREDITS, params, |row| {
            Ok(Credit {
                owner: row.get(0)?,
                machine: row.get(1)?,
                worker: row.get(2)?,
                job: row.get::<_, Option<u64>>(3)?.map(JobId),
                kernels: row.get(4)?,
                tasks: row.get(5)?,
                placements: row.get(6)?,
                busy_us: row.get(7)?,
                agreed: row.get(8)?,
                contradicted: row.get(9)?,
                last_ms: row.get(10)?,
            })
        })
    }
}

/// The incidents of a job, the latest first. The second parameter is the largest number of
/// incidents of one kind.
const INCIDENTS: &str = "
    WITH incidents (kind, at, text, asked_by) AS (
        SELECT 1, submitted_at, 'submitted', owner FROM jobs WHERE id = ?1
        UNION ALL
        SELECT 2, asked_at, printf('an audit of %g%% of the ranges was ordered', share_ppm / 10000.0), asked_by
        FROM audit_policies WHERE job = ?1
        UNION ALL
        SELECT 3, changed_at, CASE state
            WHEN 'begun' THEN 'its first tasks were leased'
            WHEN 'counted' THEN 'all its tasks were counted'
            WHEN 'taken_back' THEN 'counts of it were taken back'
            WHEN 'running' THEN iif(asked_by = '', 'it runs again', 'resumed')
            WHEN 'suspended' THEN 'suspended: its total contradicts what is known of it'
            ELSE coalesce(state, 'given the priority ' || priority)
        END, asked_by
        FROM (SELECT * FROM changes WHERE job = ?1 ORDER BY rowid DESC LIMIT ?2)
        UNION ALL
        SELECT 4, noted_at, printf(
            'the count of [%d, %d) by %s (%s/%s) is kept as evidence: it contradicts another, or is distrusted',
            first, past, worker, owner, machine
        ), ''
        FROM (SELECT * FROM counts INDEXED BY counts_evidence WHERE job = ?1 AND place > 1 ORDER BY noted_at DESC, first DESC, place DESC LIMIT ?2)
        UNION ALL
        SELECT 5, noted_at, owner || coalesce('/' || machine, '') || ' was proven wrong, and is distrusted', ''
        FROM trust WHERE job = ?1 AND NOT trusted
        UNION ALL
        SELECT 6, opened_at, 'a coordinator was started', '' FROM epochs JOIN jobs ON id = ?1
        WHERE opened_at > submitted_at AND opened_at <= coalesce(ended_at, opened_at)
    )
    SELECT at, text || iif(asked_by = '', '', ' by ' || asked_by)
    FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY at DESC) AS place FROM incidents)
    WHERE place <= ?2 ORDER BY at DESC, kind, place";
