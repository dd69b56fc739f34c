//! The end of a dispute, and what becomes of the other counts of parties that are distrusted.
//!
//! ```text
//!   a row that the wrong party counted
//!     nobody has counted it again ─────────────────────────────► taken back
//!     a party that is trusted has confirmed it ───────────────► stays
//!     a party that is wrong itself has confirmed it ───────────► taken back, whichever of the two was found out first
//!   a row of another party that the wrong party has confirmed ────► waits for an audit again, unless a machine was wrong
//!                                                                   and the row is another owner's ([`Party::voids`])
//!   an open dispute in which the wrong party has a part ──────────► over; its row waits for an audit, or is taken back
//!                                                                   if the wrong party has counted it
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use farm::{
    Check, CountedRange, DisputeState, Distrusted, Ground, IntervalSet, JobId, JobState, Milestone,
    Party, Principal, Provenance, Range, Report, Row, Withdrawn,
};

use super::{accept, across, contradiction, first_rows, reopen, stored_job};
use crate::Result;
use crate::store::{OpenDispute, Select, Store};

/// Replaces the row of a disputed range by the count that is right. Then takes back what the
/// `wrong` parties have counted and nobody has confirmed.
pub(super) fn settle(
    store: &Store<'_>,
    report: &Report,
    provenance: &Provenance,
    wrong: &[Party],
    ground: Ground,
) -> Result<Vec<Withdrawn>> {
    for party in wrong {
        let proof = Some((report.job, report.range));
        store.change_trust(party, false, proof, ground.name())?;
    }
    replace(store, report, provenance)?;
    reopen(store, report.job)?;
    take_back(store, wrong, Some(report.job))
}

/// Takes back what these parties have counted and nobody has confirmed. The answer includes the job
/// `changed`, even if it loses no rows.
pub(super) fn take_back(
    store: &Store<'_>,
    wrong: &[Party],
    changed: Option<JobId>,
) -> Result<Vec<Withdrawn>> {
    let mut withdrawn = Vec::new();
    let distrusted = super::distrusted(store)?;
    for job in store.jobs(None)?.into_iter().filter(|job| job.state != JobState::Cancelled) {
        let fates = fates(store, job.id, wrong, &distrusted)?;
        if fates.is_empty() && Some(job.id) != changed {
            continue;
        }
        withdrawn.push(withdraw(store, job.id, &fates)?);
    }
    Ok(withdrawn)
}

/// Replaces the row of a range by the count that is right.
fn replace(store: &Store<'_>, report: &Report, provenance: &Provenance) -> Result<()> {
    let (job, range, right) = (report.job, report.range, Row::new(report, provenance));
    let mut rows = first_rows(store, job, range, 1)?;
    let Some(stored) = rows.pop().filter(|stored| stored.row.range == range) else {
        let what = format!("was about to settle {range}, which is no row");
        return Err(contradiction(job, what));
    };
    let (distrusted, across) = (super::distrusted(store)?, across(store, job)?);
    // There is no dispute if a worker that the operator trusts was the first to contradict.
    let dispute = store.open_disputes(job)?.into_iter().find(|dispute| dispute.range == range);
    let mut claims = dispute.iter().flat_map(|dispute| &dispute.claims).chain([&stored.row]);
    let agrees = |row: &&Row| {
        let principal = &row.provenance.principal;
        row.range == range
            && row.checked_count.result() == right.checked_count.result()
            && principal.is_apart_from(&right.provenance.principal, across)
            && !distrusted.includes(principal)
    };
    // There is no second count if no trusted party agrees with the right count. An example is a
    // worker that contradicted itself.
    let second = claims.rfind(agrees).cloned();
    store.retire(job, range, DisputeState::Settled)?;
    store.close_dispute(job, range)?;
    let counted = CountedRange { row: right, check: Check::Wanted };
    accept(store, job, &counted, &report.task_counts)?;
    // The second count confirms the new row. If its principal is proven wrong later, the row waits
    // for an audit again. The thread time stays with the vote in the evidence, so it is 0 here.
    second.map_or(Ok(()), |row| store.confirm(job, &Row { busy_us: 0, ..row }))
}

/// What becomes of a row that does not stay as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    WaitsAgain,
    TakenBack,
}

fn is_of(wrong: &[Party], principal: &Principal) -> bool {
    wrong.iter().any(|party| party.includes(principal))
}

/// What becomes of a row when the parties in `wrong` are proven wrong, if they have no part in a
/// dispute about it; `None` if it stays. `distrusted` includes these parties and all that were
/// distrusted before, perhaps the principal of the row.
fn fate(
    counted: &CountedRange,
    second: Option<&Principal>,
    wrong: &[Party],
    distrusted: &Distrusted,
) -> Option<Fate> {
    let first = &counted.row.provenance.principal;
    let is_void =
        second.is_some_and(|principal| wrong.iter().any(|party| party.voids(first, principal)));
    let is_trusted = |principal: &Principal| !distrusted.includes(principal);
    let is_confirmed = counted.check == Check::Agreed && !is_void && second.is_none_or(is_trusted);
    match distrusted.includes(first) {
        true if !is_confirmed => Some(Fate::TakenBack),
        false if is_void => Some(Fate::WaitsAgain),
        true | false => None,
    }
}

/// The rows of a job that do not stay as they are, with their counts. Closes the open disputes in
/// which a party of `wrong` has a part. Deletes the counts of single tasks that these parties have
/// reported.
fn fates(
    store: &Store<'_>,
    job: JobId,
    wrong: &[Party],
    distrusted: &Distrusted,
) -> Result<BTreeMap<Range, (Fate, u64)>> {
    let mut fates = BTreeMap::new();
    for OpenDispute { range, claims } in store.open_disputes(job)? {
        let rows = first_rows(store, job, range, usize::MAX)?;
        let mut counts = claims.iter().chain(rows.iter().map(|counted| &counted.row));
        if counts.any(|row| is_of(wrong, &row.provenance.principal)) {
            store.close_dispute(job, range)?;
            fates.extend(rows.iter().map(|CountedRange { row, .. }| {
                let is_gone = distrusted.includes(&row.provenance.principal);
                let fate = if is_gone { Fate::TakenBack } else { Fate::WaitsAgain };
                (row.range, (fate, row.checked_count.count))
            }));
        }
    }
    let mut reported = Vec::new();
    for party in wrong {
        store.visit(job, Select::By(party), |counted, second| {
            let row = &counted.row;
            if let Some(fate) = fate(&counted, second.as_ref(), wrong, distrusted) {
                fates.entry(row.range).or_insert((fate, row.checked_count.count));
            } else if is_of(wrong, &row.provenance.principal) {
                reported.push(row.range);
            }
            ControlFlow::Continue(())
        })?;
    }
    // Another party has confirmed the sum of such a row, but not the counts of its single tasks.
    for range in reported {
        store.forget_task_counts(job, range)?;
    }
    Ok(fates)
}

fn withdraw(
    store: &Store<'_>,
    job: JobId,
    fates: &BTreeMap<Range, (Fate, u64)>,
) -> Result<Withdrawn> {
    let (mut ranges, mut total) = (IntervalSet::new(), 0_u128);
    for (&range, &(fate, count)) in fates {
        match fate {
            Fate::TakenBack => {
                store.retire(job, range, DisputeState::TakenBack)?;
                ranges.insert(range);
                let sum = total.checked_add(count.into());
                total = sum.ok_or_else(|| contradiction(job, "has counts that pass 128 bits"))?;
            }
            Fate::WaitsAgain => store.set_wanted(job, range, true)?,
        }
    }
    let audits_wanted = store.count_waiting(job)?;
    let is_done = stored_job(store, job)?.state == JobState::Done;
    if !ranges.is_empty() || audits_wanted > 0 && !is_done {
        reopen(store, job)?;
    }
    if !ranges.is_empty() {
        super::reach(store, job, Milestone::TakenBack, super::NOBODY)?;
    }
    let audits_agreed = store.count_seconds(job)?;
    Ok(Withdrawn { job, ranges, total, audits_wanted, audits_agreed })
}
