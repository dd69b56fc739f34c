//! Reads jobs, policies and changes of trust back. They are checked before they are used.

use farm::rules::StoredJob;
use farm::{
    AuditPolicy, AuditScope, JobId, JobSpec, JobState, Method, Origin, Party, Plan, Problem, Range,
    Slice, Times, TrustChange,
};

use super::entry::unsigned;
use super::{LedgerFault, Result};

/// Reads all jobs, each with its newest policy, as [`read_job`] wants to see them.
pub(super) const JOBS: &str = "SELECT id, problem, n, method, parameter, tasks, fingerprint, priority, state, \
     total, shard, shards, reason, owner, key, share_ppm, seed, by_search, across, \
     submitted_at, ended_at, begun_at FROM jobs \
     LEFT JOIN audit_policies p ON p.rowid = (SELECT max(rowid) FROM audit_policies WHERE job = id)";

/// The value of `changes.state` that notes that the first range of a job was leased.
pub(super) const BEGUN: &str = "begun";

/// A job from the columns of [`JOBS`].
pub(super) fn read_job(row: &rusqlite::Row<'_>) -> Result<StoredJob> {
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
    if !plan.method.cuts(plan.problem) {
        return Err(fault("board or cut of it"));
    }
    if row.get::<_, String>(6)? != plan.fingerprint().to_string() {
        let text = format!("job {id} ({plan}) numbers its tasks in another way than this program");
        return Err(LedgerFault::Version(text));
    }
    let total: Option<String> = row.get(9)?;
    let has_policy = row.get::<_, Option<u32>>(15)?.is_some();
    Ok(StoredJob {
        id,
        spec: JobSpec {
            origin: Origin { owner: row.get(13)?, key: row.get(14)? },
            plan,
            slice: Slice::new(row.get(10)?, row.get(11)?).map_err(|_| fault("part of its plan"))?,
            priority: row.get(7)?,
        },
        state: JobState::named(&row.get::<_, String>(8)?).ok_or_else(|| fault("state"))?,
        reason: row.get(12)?,
        times: Times {
            submitted_at_ms: row.get(19)?,
            begun_at_ms: row.get(21)?,
            ended_at_ms: row.get(20)?,
        },
        policy: has_policy.then(|| read_policy(row, 15)).transpose()?,
        total: total.map(|total| total.parse().map_err(|_| fault("total"))).transpose()?,
    })
}

/// The columns that [`read_trust`] wants to see.
pub(super) const TRUST: &str = "owner, machine, trusted, job, first, past, reason, noted_at";

/// A change of trust from the columns [`TRUST`].
pub(super) fn read_trust(columns: &rusqlite::Row<'_>) -> Result<TrustChange> {
    let job: Option<i64> = columns.get(3)?;
    let proof = job.map(|_| {
        let range = Range::new(unsigned(columns, 4)?, unsigned(columns, 5)?);
        let fault = || LedgerFault::Content("a party was wrong about nothing".into());
        Ok::<_, LedgerFault>((JobId(unsigned(columns, 3)?), range.ok_or_else(fault)?))
    });
    Ok(TrustChange {
        party: Party { owner: columns.get(0)?, machine: columns.get(1)? },
        trusted: columns.get(2)?,
        proof: proof.transpose()?,
        reason: columns.get(6)?,
        at_ms: columns.get(7)?,
    })
}

/// The columns that [`read_policy`] wants to see.
pub(super) const POLICY: &str = "share_ppm, seed, by_search, across";

/// How many columns [`POLICY`] names.
pub(super) const POLICY_WIDTH: usize = 4;

/// A policy from the columns [`POLICY`], the first of which has the number `at`.
pub(super) fn read_policy(columns: &rusqlite::Row<'_>, at: usize) -> Result<AuditPolicy> {
    let (share_ppm, by_search) = (columns.get(at)?, columns.get(at + 2)?);
    let name: String = columns.get(at + 3)?;
    let fault = || LedgerFault::Content(format!("an audit is across unknown {name:?}"));
    let across = AuditScope::named(&name).ok_or_else(fault)?;
    let seed = unsigned(columns, at + 1)?;
    Ok(AuditPolicy { share_ppm, seed, by_search, across })
}
