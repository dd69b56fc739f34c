//! Reads back jobs, policies and changes of trust, and checks them before they are used.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use farm::{
    AuditPolicy, AuditScope, JobId, JobSpec, JobState, Method, Origin, Party, Plan, Problem, Range,
    Shard, StoredJob, Times, TrustChange,
};

use super::{LedgerFault, Result};

/// A job of [`queries::JOBS`](super::queries::JOBS).
pub(super) fn read_job(row: &rusqlite::Row<'_>) -> Result<StoredJob> {
    let id = JobId(row.get("id")?);
    let fault = |what: &str| LedgerFault::Content(format!("job {id} has an unknown {what}"));
    let text = |column: &str| row.get::<_, String>(column);
    let problem = Problem::from_text(&text("problem")?, row.get("n")?);
    let method = Method::from_name(&text("method")?, row.get("parameter")?);
    let plan = Plan {
        problem: problem.ok_or_else(|| fault("problem"))?,
        method: method.ok_or_else(|| fault("method or parameter of it"))?,
        tasks: row.get("tasks")?,
    };
    if !plan.method.cuts(plan.problem) {
        return Err(fault("board or cut of it"));
    }
    if text("fingerprint")? != plan.fingerprint().to_string() {
        let text = format!("job {id} ({plan}) numbers its tasks in another way than this program");
        return Err(LedgerFault::Version(text));
    }
    let shard = Shard::new(row.get("shard")?, row.get("shards")?);
    let total: Option<String> = row.get("total")?;
    let has_policy = row.get::<_, Option<u32>>("share_ppm")?.is_some();
    Ok(StoredJob {
        id,
        spec: JobSpec {
            origin: Origin { owner: row.get("owner")?, key: row.get("key")? },
            plan,
            shard: shard.map_err(|_| fault("shard of its plan"))?,
            priority: row.get("priority")?,
        },
        state: JobState::named(&text("state")?).ok_or_else(|| fault("state"))?,
        reason: row.get("reason")?,
        times: Times {
            submitted_at_ms: row.get("submitted_at")?,
            begun_at_ms: row.get("begun_at")?,
            counted_at_ms: row.get("counted_at")?,
            paused_at_ms: row.get("paused_at")?,
            paused_ms: row.get("paused_ms")?,
            ended_at_ms: row.get("ended_at")?,
        },
        policy: has_policy.then(|| read_policy(row)).transpose()?,
        total: total.map(|total| total.parse().map_err(|_| fault("total"))).transpose()?,
    })
}

/// Reads a change of trust from a row of the table `trust`.
pub(super) fn read_trust(row: &rusqlite::Row<'_>) -> Result<TrustChange> {
    let proof = match row.get("job")? {
        None => None,
        Some(job) => {
            let range = Range::new(row.get("first")?, row.get("past")?);
            let fault = || LedgerFault::Content("a party was wrong about nothing".into());
            Some((JobId(job), range.ok_or_else(fault)?))
        }
    };
    Ok(TrustChange {
        party: Party { owner: row.get("owner")?, machine: row.get("machine")? },
        trusted: row.get("trusted")?,
        proof,
        reason: row.get("reason")?,
        at_ms: row.get("noted_at")?,
    })
}

/// Reads a policy from a row that has the columns of the table `audit_policies`.
pub(super) fn read_policy(row: &rusqlite::Row<'_>) -> Result<AuditPolicy> {
    let name: String = row.get("across")?;
    let fault = || LedgerFault::Content(format!("an audit is across unknown {name:?}"));
    Ok(AuditPolicy {
        share_ppm: row.get("share_ppm")?,
        seed: row.get("seed")?,
        by_reference: row.get("by_reference")?,
        across: AuditScope::named(&name).ok_or_else(fault)?,
    })
}
