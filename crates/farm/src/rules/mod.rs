//! The rules of the ledger: what each command does to the rows, whatever stores them.
//!
//! ```text
//!   Farm ──LedgerCommand──► execute ──reads and changes──► Store (SQLite, or memory)
//!        ◄──LedgerAnswer───
//! ```
//!
//! - An accepted range overlaps no other one. What its worker has counted beside it of one lease
//!   becomes one row with it.
//! - A second count confirms a range that waits for one, if another party made it with another kernel and
//!   it says the same.
//! - A settlement replaces the row of a range. What it said stays as evidence.
//! - A party that was proven wrong is distrusted, in all jobs that were not cancelled.
//! - What two machines of one owner counted alike waits again once second opinions lie between owners.
//! - A job that was done and is disputed, or loses rows, no longer is; while it only waits for second counts, it stays so. One
//!   that was suspended no longer is, either, when it is audited or loses confirmations.
//! - A job ends only if its rows themselves say so.
//! - A job that proved somebody wrong is not removed.
//!
//! The functions are pure but for the store that they are handed: no clock and no randomness.

mod join;
mod restore;
mod settle;
mod store;

use std::ops::ControlFlow;

pub use restore::restore;
pub use store::{Select, Store, StoredJob};

use crate::principal::is_second_opinion;
use crate::rows::{Check, Contradiction, CountedRange, Row, tiled};
use crate::{
    AuditPolicy, AuditScope, Distrusted, JobChange, JobId, JobState, LedgerAnswer, LedgerCommand,
    Provenance, Range, Report, TaskCounts,
};

/// What a rule finds or changes in a store, or why the store cannot be read or written.
type Done<S, T = ()> = Result<T, <S as Store>::Fault>;

/// The most rows that are read for a comparison. A worker may report a long lease in many small parts and then repeat it as
/// a whole: not all of them are read again each time.
const MOST_COMPARED: usize = 64;

/// The author of a change that follows from what was counted.
const NOBODY: &str = "";

/// Does what a command asks for. It fails as the store fails, and with a [`Contradiction`] if the command and the rows do not
/// fit together: then nothing of it may stay in the store.
pub fn execute<S: Store>(store: &mut S, command: &LedgerCommand) -> Done<S, LedgerAnswer> {
    match command {
        LedgerCommand::CreateJob { job, spec, audit } => {
            store.add_job(*job, spec)?;
            if let Some(policy) = audit {
                store.add_policy(*job, *policy, &spec.origin.owner)?;
            }
        }
        LedgerCommand::Change { job, change, by } => {
            change_job(store, *job, *change, by, |_| ())?;
        }
        LedgerCommand::RequestAudit { job, policy, by } => {
            request_audit(store, *job, *policy, by)?;
            return audit_noted(store, *job);
        }
        LedgerCommand::Doubt(report, _) => {
            // It is counted again if it is one row that nobody has checked.
            let first = first_rows(store, report.job, report.range, 1)?.pop();
            if first.is_some_and(|it| it.row.range == report.range && it.check == Check::NotChosen)
            {
                store.set_wanted(report.job, report.range, true)?;
            }
            return audit_noted(store, report.job);
        }
        LedgerCommand::Trust { party, trusted, reason } => {
            store.change_trust(party, *trusted, None, reason)?;
            let wrong = std::slice::from_ref(party);
            let withdrawn =
                if *trusted { Vec::new() } else { settle::take_back(store, wrong, None)? };
            return Ok(LedgerAnswer::Settled(withdrawn));
        }
        LedgerCommand::Finish { job, tasks, total, reason } => {
            check_complete(store, *job, *tasks, *total)?;
            let state = if reason.is_none() { JobState::Done } else { JobState::Suspended };
            change_job(store, *job, JobChange::State(state), NOBODY, |job| {
                (job.total, job.reason) = (reason.is_none().then_some(*total), reason.clone());
            })?;
        }
        LedgerCommand::Accept { report, provenance, audit } => {
            let check = if *audit { Check::Wanted } else { Check::NotChosen };
            let new = CountedRange { row: Row::new(report, provenance), check };
            let beside = beside(store, report.job, report.range)?;
            let reported = report.task_counts.clone();
            let (joined, reported, parts) = join::join(store, report.job, new, reported, beside)?;
            store.insert(report.job, &joined, &reported, &parts)?;
        }
        LedgerCommand::Confirm(report, provenance) => confirm(store, report, provenance)?,
        LedgerCommand::Dispute(report, provenance) => {
            store.add_claim(report.job, &Row::new(report, provenance))?;
            reopen(store, report.job)?;
        }
        LedgerCommand::Settle { report, provenance, wrong, ground } => {
            let withdrawn = settle::settle(store, report, provenance, wrong, *ground)?;
            return Ok(LedgerAnswer::Settled(withdrawn));
        }
        LedgerCommand::Remove(job) => remove(store, *job)?,
        LedgerCommand::Compare(report, _) => {
            let rows = first_rows(store, report.job, report.range, MOST_COMPARED)?;
            let found = tiled(rows.iter().map(|counted| &counted.row), report.range);
            return Ok(LedgerAnswer::Compared(found));
        }
        LedgerCommand::FindAudits { job, most } => {
            return Ok(LedgerAnswer::AuditsFound(find_audits(store, *job, *most)?));
        }
    }
    Ok(LedgerAnswer::Written)
}

/// Adds an accepted range, with the counts of its single tasks if they are reported. It fails with a
/// [`Contradiction`] if the range overlaps another one.
pub fn accept<S: Store>(
    store: &mut S,
    job: JobId,
    counted: &CountedRange,
    task_counts: &TaskCounts,
) -> Done<S> {
    beside(store, job, counted.row.range)?;
    store.insert(job, counted, task_counts, &[])
}

/// The rows on either side of a range that is about to be accepted. The farm does not let ranges overlap; this is the second
/// pair of eyes.
fn beside<S: Store>(store: &mut S, job: JobId, range: Range) -> Done<S, Vec<CountedRange>> {
    let around = Range::new(range.start().saturating_sub(1), range.end().saturating_add(1));
    let rows = first_rows(store, job, around.expect("it has the range"), 3)?;
    if rows.iter().any(|other| other.row.range.intersect(range).is_some()) {
        return Err(Contradiction::new(job, format!("was about to accept {range} twice")).into());
    }
    Ok(rows)
}

fn confirm<S: Store>(store: &mut S, report: &Report, provenance: &Provenance) -> Done<S> {
    let (job, range, second) = (report.job, report.range, Row::new(report, provenance));
    let across = across(store, job)?;
    let first = first_rows(store, job, range, 1)?.pop();
    let confirms = |CountedRange { row: first, check }: CountedRange| {
        check == Check::Wanted
            && first.range == range
            && first.checked_count.result() == second.checked_count.result()
            && is_second_opinion(
                (&first.provenance.principal, first.kernel),
                (&second.provenance.principal, second.kernel),
                across,
            )
    };
    if !first.is_some_and(confirms) {
        let what =
            format!("was about to confirm {range}, which is no row that this count can confirm");
        return Err(Contradiction::new(job, what).into());
    }
    // Different counts may have one digest: then nobody knows which are right, and there are draws that would find out.
    let first = store.task_counts(job, range)?;
    if !report.task_counts.are_omitted() && report.task_counts != first {
        store.forget_task_counts(job, range)?;
    }
    store.confirm(job, &second)
}

/// Between whom a second opinion about a job lies.
fn across<S: Store>(store: &mut S, job: JobId) -> Done<S, AuditScope> {
    Ok(stored_job(store, job)?.policy.map(|policy| policy.across).unwrap_or_default())
}

fn audit_noted<S: Store>(store: &mut S, job: JobId) -> Done<S, LedgerAnswer> {
    let (wanted, agreed) = (store.count(job, Check::Wanted)?, store.count(job, Check::Agreed)?);
    Ok(LedgerAnswer::AuditNoted { wanted, agreed })
}

/// Notes a policy, and marks the accepted ranges that wait under it. A job that is done stays so.
fn request_audit<S: Store>(store: &mut S, job: JobId, policy: AuditPolicy, by: &str) -> Done<S> {
    let StoredJob { spec, state, .. } = stored_job(store, job)?;
    let plan = spec.plan.fingerprint();
    store.add_policy(job, policy, by)?;
    let distrusted = distrusted(store)?;
    let mut changed = Vec::new();
    store.visit(job, Select::All, &mut |CountedRange { row, check }, second| {
        let (range, first) = (row.range, &row.provenance.principal);
        let wanted = match check {
            Check::NotChosen => policy.chooses(plan, range),
            // What is left of a worker that was wrong waits, whoever wants no audit any more.
            Check::Wanted => !policy.is_none() || distrusted.includes(first),
            Check::Agreed => second.is_some_and(|it| !it.is_apart_from(first, policy.across)),
        };
        changed.extend((wanted != (check == Check::Wanted)).then_some((range, wanted)));
        ControlFlow::Continue(())
    })?;
    for (range, wanted) in changed {
        store.set_wanted(job, range, wanted)?;
    }
    if state == JobState::Done { Ok(()) } else { reopen(store, job) }
}

/// The first ranges that wait for an audit and are in no dispute.
fn find_audits<S: Store>(store: &mut S, job: JobId, most: usize) -> Done<S, Vec<Row>> {
    let disputes = store.open_disputes(job)?;
    let mut found = Vec::new();
    store.visit(job, Select::Waiting, &mut |counted, _| {
        if found.len() == most {
            return ControlFlow::Break(());
        }
        let is_in = |range: Range| range.intersect(counted.row.range).is_some();
        if !disputes.iter().any(|dispute| is_in(dispute.range)) {
            found.push(counted.row);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// A job ends, or is suspended, only if its rows say so.
fn check_complete<S: Store>(store: &mut S, job: JobId, tasks: u64, total: u128) -> Done<S> {
    let mut covered = 0;
    let sum = for_each_row(store, job, |counted| covered += counted.row.range.len())?;
    let claims = store.open_disputes(job)?.iter().map(|dispute| dispute.claims.len() as u64).sum();
    let open: u64 = [store.count(job, Check::Wanted)?, claims].iter().sum();
    if (covered, sum, open) != (tasks, total, 0) {
        let what = format!(
            "should end with {tasks} tasks and the total {total}, but its rows have {covered} and {sum}, and {open} of them \
             wait for another count"
        );
        return Err(Contradiction::new(job, what).into());
    }
    Ok(())
}

/// Walks the accepted ranges of a job and returns the sum of their counts. It fails with a [`Contradiction`] if rows
/// overlap, or if the sum passes 128 bits.
pub fn for_each_row<S: Store>(
    store: &mut S,
    job: JobId,
    mut see: impl FnMut(CountedRange),
) -> Done<S, u128> {
    let (mut sum, mut end, mut fault) = (0_u128, 0, None);
    store.visit(job, Select::All, &mut |counted, _| {
        let row = &counted.row;
        if row.range.start() < end {
            let what = format!("has overlapping ranges at ordinal {}", row.range.start());
            fault = Some(Contradiction::new(job, what));
            return ControlFlow::Break(());
        }
        end = row.range.end();
        let Some(more) = sum.checked_add(row.checked_count.count.into()) else {
            fault = Some(Contradiction::new(job, "has counts that pass 128 bits"));
            return ControlFlow::Break(());
        };
        sum = more;
        see(counted);
        ControlFlow::Continue(())
    })?;
    fault.map_or(Ok(sum), |fault| Err(fault.into()))
}

/// The first `most` rows that have ordinals of a range.
fn first_rows<S: Store>(
    store: &mut S,
    id: JobId,
    range: Range,
    most: usize,
) -> Done<S, Vec<CountedRange>> {
    let mut rows = Vec::new();
    store.visit(id, Select::Overlapping(range), &mut |counted, _| {
        rows.push(counted);
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(rows)
}

/// Removes a job that is over, unless it is evidence of who counts wrong.
fn remove<S: Store>(store: &mut S, id: JobId) -> Done<S> {
    if !stored_job(store, id)?.state.is_over() {
        return Err(Contradiction::new(id, "was about to be removed, which is not over").into());
    }
    let mut proofs = store.trust_changes()?.into_iter().filter_map(|change| change.proof);
    if proofs.any(|(job, _)| job == id) {
        let what = "was about to be removed, which proved somebody wrong";
        return Err(Contradiction::new(id, what).into());
    }
    store.remove_job(id)
}

fn stored_job<S: Store>(store: &mut S, id: JobId) -> Done<S, StoredJob> {
    store.jobs(Some(id))?.pop().ok_or_else(|| Contradiction::new(id, "is gone").into())
}

/// Changes a job, and then what follows from where it stands now. Notes for people only what is another thing than before.
fn change_job<S: Store>(
    store: &mut S,
    id: JobId,
    change: JobChange,
    by: &str,
    then: impl FnOnce(&mut StoredJob),
) -> Done<S> {
    let mut job = stored_job(store, id)?;
    let is_news = match change {
        JobChange::State(state) => {
            (job.total, job.reason) = (None, None);
            std::mem::replace(&mut job.state, state) != state
        }
        JobChange::Begun | JobChange::TakenBack => true,
        JobChange::Counted => job.times.counted_at_ms.is_none(),
        JobChange::Priority(priority) => {
            std::mem::replace(&mut job.spec.priority, priority) != priority
        }
    };
    then(&mut job);
    store.change_job(&job, Some(change).filter(|_| is_news), by)
}

/// A job that was done or suspended no longer is.
fn reopen<S: Store>(store: &mut S, job: JobId) -> Done<S> {
    if matches!(stored_job(store, job)?.state, JobState::Done | JobState::Suspended) {
        change_job(store, job, JobChange::State(JobState::Running), NOBODY, |_| ())?;
    }
    Ok(())
}

fn distrusted<S: Store>(store: &mut S) -> Done<S, Distrusted> {
    Ok(Distrusted::after(&store.trust_changes()?))
}
