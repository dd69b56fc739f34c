//! Reading a ledger back: every row is checked before anything rests on it.

use farm::rules::{self, StoredJob};
use farm::{JobId, JobState, Method, Origin, Plan, Problem, Restored, Row, Slice};

use super::entry::unsigned;
use super::store::SqlStore;
use super::{Ledger, LedgerFault};

/// The columns that [`read_job`] wants to see.
pub(super) const JOB: &str = "id, problem, n, method, parameter, tasks, fingerprint, priority, state, \
                              total, shard, shards, reason, seed_told, owner, key";

impl Ledger {
    /// Everything that the farm needs in order to go on, but for the epoch.
    pub fn read_back(&self) -> Result<Restored, LedgerFault> {
        rules::restore(&mut SqlStore(&self.db))
    }

    /// Walks the accepted ranges of a job in ascending order and returns the sum of their counts.
    pub fn for_each_row(&self, job: JobId, see: impl FnMut(Row)) -> Result<u128, LedgerFault> {
        rules::for_each_row(&mut SqlStore(&self.db), job, see)
    }
}

pub(super) fn read_job(row: &rusqlite::Row<'_>) -> Result<StoredJob, LedgerFault> {
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
    Ok(StoredJob {
        id,
        origin: Origin { owner: row.get(14)?, key: row.get(15)? },
        plan,
        slice: Slice::new(row.get(10)?, row.get(11)?).map_err(|_| fault("part of its plan"))?,
        priority: row.get(7)?,
        state: JobState::named(&row.get::<_, String>(8)?).ok_or_else(|| fault("state"))?,
        reason: row.get(12)?,
        seed_told: row.get(13)?,
        total: total.map(|total| total.parse().map_err(|_| fault("total"))).transpose()?,
    })
}
