//! Reads back and checks the store, from which a farm continues.

#![allow(clippy::arithmetic_side_effects, reason = "records are counted, and hours saturate")]

use std::collections::BTreeMap;

use farm::{
    Check, Dispute, Distrusted, EvidenceRecord, Hours, IntervalSet, JobState, Restored,
    RestoredJob, Row, Spent, StoredJob, Vote,
};

use super::{Tiling, contradiction, first_rows};
use crate::evidence::for_each_record;
use crate::store::{OpenDispute, Store};
use crate::{Contents, LedgerFault, Result};

/// Reads the jobs and all records about them, and returns what the farm needs to know of them, and
/// how many there are. The caller sets the epoch and the number of the last job. This function
/// fails if rows, totals and states contradict each other.
pub(crate) fn restore(store: &Store<'_>) -> Result<(Restored, Contents)> {
    let (mut hours, mut of_jobs) = (BTreeMap::<String, Hours>::new(), BTreeMap::new());
    for (job, owner, taken) in store.hours()? {
        *hours.entry(owner).or_default() += taken;
        of_jobs.extend(job.map(|job| (job, taken)));
    }
    let (mut jobs, mut contents) = (Vec::new(), Contents::default());
    for job in store.jobs(None)? {
        let hours = of_jobs.get(&job.id).copied().unwrap_or_default();
        jobs.push(restore_job(store, job, hours, &mut contents)?);
    }
    contents.jobs = jobs.len() as u64;
    let changes = store.trust_changes()?;
    let restored = Restored {
        jobs,
        proofs: changes.iter().filter_map(|change| change.proof).map(|(job, _)| job).collect(),
        distrusted: Distrusted::after(&changes),
        hours,
        ..Restored::default()
    };
    Ok((restored, contents))
}

fn restore_job(
    store: &Store<'_>,
    job: StoredJob,
    hours: Hours,
    contents: &mut Contents,
) -> Result<RestoredJob> {
    let StoredJob { id, state, total, .. } = job;
    let (mut accepted, mut spent) = (IntervalSet::new(), Spent::default());
    let wanted = job.spec.plan.ordinals(job.spec.shard);
    let (mut audits_wanted, mut audits_agreed) = (0, 0);
    let (mut is_within, mut tiling) = (true, Tiling::default());
    // One pass over the rows: a job may have millions.
    for_each_record(store.db, id, &job.spec.plan, |record| {
        match record {
            EvidenceRecord::Range { counted, .. } => {
                let row = counted.row;
                tiling.add(id, &row)?;
                match counted.check {
                    Check::NotChosen => {}
                    Check::Wanted => audits_wanted += 1,
                    Check::Agreed => audits_agreed += 1,
                }
                contents.ranges += 1;
                is_within &= wanted.contains(row.range);
                if is_within {
                    accepted.insert(row.range);
                    spent.add(row.range.len(), row.busy_us);
                }
            }
            EvidenceRecord::Audit { .. } => contents.audits += 1,
            EvidenceRecord::Dispute { .. } => contents.disputes += 1,
            EvidenceRecord::Policy { .. } | EvidenceRecord::Trust(_) => {}
        }
        Ok::<(), LedgerFault>(())
    })?;
    if !is_within {
        return Err(contradiction(id, "has ranges beyond its plan"));
    }
    if matches!(state, JobState::Done | JobState::Suspended) && accepted != wanted {
        let what = "is done or suspended, but not all of its ranges are there";
        return Err(contradiction(id, what));
    }
    if total.is_some_and(|total| total != tiling.sum) {
        return Err(contradiction(id, "has a total that is not the sum of its ranges"));
    }
    let mut disputes = BTreeMap::new();
    for OpenDispute { range, claims } in store.open_disputes(id)? {
        let stored = first_rows(store, id, range, 1)?.pop().map(|counted| counted.row);
        let stored = stored.filter(|stored| stored.range == range);
        let stored =
            stored.ok_or_else(|| contradiction(id, format!("disputes {range}, which it lacks")))?;
        let kernel = stored.kernel;
        let vote = |row: Row| Vote {
            principal: row.provenance.principal,
            result: row.checked_count.result(),
        };
        let votes = std::iter::once(stored).chain(claims).map(vote).collect();
        disputes.insert(range, Dispute::new(kernel, votes));
    }
    Ok(RestoredJob {
        stored: job,
        hours,
        accepted,
        counted: tiling.sum,
        spent,
        disputes,
        audits_wanted,
        audits_agreed,
    })
}
