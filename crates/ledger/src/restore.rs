//! Reading a job back: its row is checked before anything rests on it.

use farm::rules::StoredJob;
use farm::{JobId, JobSpec, JobState, Method, Origin, Plan, Problem, Slice};

use super::LedgerFault;
use super::entry::unsigned;
use super::store::read_policy;

/// Reads all jobs, each with its newest policy, as [`read_job`] wants to see them.
pub(super) const JOBS: &str = "SELECT id, problem, n, method, parameter, tasks, fingerprint, priority, state, \
     total, shard, shards, reason, seed_told, owner, key, share_ppm, seed, by_search, salt, across FROM jobs \
     LEFT JOIN audit_policies p ON p.rowid = (SELECT max(rowid) FROM audit_policies WHERE job = id)";

/// A job from the columns of [`JOBS`].
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
    let has_policy = row.get::<_, Option<u32>>(16)?.is_some();
    Ok(StoredJob {
        id,
        spec: JobSpec {
            origin: Origin { owner: row.get(14)?, key: row.get(15)? },
            plan,
            slice: Slice::new(row.get(10)?, row.get(11)?).map_err(|_| fault("part of its plan"))?,
            priority: row.get(7)?,
        },
        state: JobState::named(&row.get::<_, String>(8)?).ok_or_else(|| fault("state"))?,
        reason: row.get(12)?,
        policy: has_policy.then(|| read_policy(row, 16)).transpose()?,
        seed_told: row.get(13)?,
        total: total.map(|total| total.parse().map_err(|_| fault("total"))).transpose()?,
    })
}
