//! The rules of the ledger: what each command does to the rows.
//!
//! ```text
//!   Farm ──LedgerCommand──► execute ──reads and changes──► Store, the tables in SQLite
//!        ◄──LedgerAnswer───
//! ```
//!
//! - An accepted range overlaps no other one. Neighbouring ranges that a worker counted in one
//!   lease become one row.
//! - A second count confirms a range that waits for one, if another party made it with another
//!   kernel and the counts are equal.
//! - A settlement replaces the row of a range. The replaced count stays as evidence.
//! - A party that was proven wrong is distrusted, in all jobs that were not cancelled.
//! - A range that two machines of one owner counted alike waits again once the policy demands a
//!   second count by another owner.
//! - A job that is done runs again if it is disputed or loses rows. It stays done while it only
//!   waits for second counts. A suspended job runs again also if it is audited or loses
//!   confirmations.
//! - A job ends only if its rows cover its tasks, add up to its total, and wait for no other count.
//! - A job that proved somebody wrong is not removed.
//!
//! The functions use only the store that they are given: no clock and no randomness. They fail if
//! the store fails, if rows contradict each other, or if a command contradicts the rows.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod join;
mod restore;
mod settle;

use std::ops::ControlFlow;

use farm::{
    AuditPolicy, AuditScope, Change, Check, CountedRange, Distrusted, JobId, JobState,
    LedgerAnswer, LedgerCommand, Milestone, Provenance, Range, Report, Row, StoredJob, TaskCounts,
    is_second_opinion, tiled,
};

pub(crate) use restore::restore;

use crate::store::{Select, Store};
use crate::{LedgerFault, Result};

/// The largest number of rows that are read for a comparison. A worker may report a long lease in
/// many small parts and then repeat it as a whole. This bound keeps a repetition from reading all
/// of these parts each time.
const MOST_COMPARED: usize = 64;

/// The author of a change that follows from the counts, and that no client requested.
const NOBODY: &str = "";

/// Does what a command asks for. If it fails, nothing of it may stay in the store.
pub(crate) fn execute(store: &Store<'_>, command: &LedgerCommand) -> Result<LedgerAnswer> {
    match command {
        LedgerCommand::CreateJob { job, spec, audit } => {
            store.add_job(*job, spec)?;
            if let Some(policy) = audit {
                store.add_policy(*job, *policy, &spec.origin.owner)?;
            }
        }
        LedgerCommand::NoteBegun(job) => reach(store, *job, Milestone::Begun, NOBODY)?,
        LedgerCommand::NoteCounted(job) => {
            if stored_job(store, *job)?.times.counted_at_ms.is_none() {
                reach(store, *job, Milestone::Counted, NOBODY)?;
            }
        }
        LedgerCommand::NoteWaited(job, ms) => store.add_wait(*job, *ms)?,
        LedgerCommand::Change { job, change, by } => match *change {
            Change::Cancel => stand(store, *job, JobState::Cancelled, by)?,
            Change::Pause => stand(store, *job, JobState::Paused, by)?,
            Change::Resume => stand(store, *job, JobState::Running, by)?,
            Change::Priority(priority) => store.set_priority(*job, priority, by)?,
            Change::Audit { policy, narrows: _ } => {
                request_audit(store, *job, policy, by)?;
                return audit_noted(store, *job);
            }
        },
        LedgerCommand::Doubt(report, _) => {
            // The range is counted again if it is a single row and nobody asked for a second count
            // of it.
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
            let end = (reason.is_none().then_some(*total), reason.clone());
            stand_with(store, *job, state, end, NOBODY)?;
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

/// Adds an accepted range, with the counts of its single tasks if they are reported. It fails if
/// the range overlaps another one.
pub(crate) fn accept(
    store: &Store<'_>,
    job: JobId,
    counted: &CountedRange,
    task_counts: &TaskCounts,
) -> Result<()> {
    beside(store, job, counted.row.range)?;
    store.insert(job, counted, task_counts, &[])
}

/// The rows on either side of a range that is about to be accepted. Fails if the range overlaps a
/// row. The farm prevents overlaps already, and this function checks that.
fn beside(store: &Store<'_>, job: JobId, range: Range) -> Result<Vec<CountedRange>> {
    let around = Range::new(range.start().saturating_sub(1), range.end().saturating_add(1));
    let rows = first_rows(store, job, around.expect("it has the range"), 3)?;
    if rows.iter().any(|other| other.row.range.intersect(range).is_some()) {
        return Err(contradiction(job, format!("was about to accept {range} twice")));
    }
    Ok(rows)
}

fn confirm(store: &Store<'_>, report: &Report, provenance: &Provenance) -> Result<()> {
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
        return Err(contradiction(job, what));
    }
    // Different lists of task counts may have the same digest. Then nobody knows which list is
    // right, so the ledger deletes its list.
    let first = store.task_counts(job, range)?;
    if !report.task_counts.are_omitted() && report.task_counts != first {
        store.forget_task_counts(job, range)?;
    }
    store.confirm(job, &second)
}

/// The scope of the audits of a job: whether a second count must be by another machine or by
/// another owner.
fn across(store: &Store<'_>, job: JobId) -> Result<AuditScope> {
    Ok(stored_job(store, job)?.policy.map(|policy| policy.across).unwrap_or_default())
}

fn audit_noted(store: &Store<'_>, job: JobId) -> Result<LedgerAnswer> {
    let (wanted, agreed) = (store.count_waiting(job)?, store.count_seconds(job)?);
    Ok(LedgerAnswer::AuditNoted { wanted, agreed })
}

/// Notes a policy, and marks the accepted ranges that wait for a second count under it. A job that
/// is done stays done.
fn request_audit(store: &Store<'_>, job: JobId, policy: AuditPolicy, by: &str) -> Result<()> {
    let StoredJob { spec, state, .. } = stored_job(store, job)?;
    let plan = spec.plan.fingerprint();
    store.add_policy(job, policy, by)?;
    let distrusted = distrusted(store)?;
    let mut changed = Vec::new();
    store.visit(job, Select::All, |CountedRange { row, check }, second| {
        let (range, first) = (row.range, &row.provenance.principal);
        let wanted = match check {
            Check::NotChosen => policy.chooses(plan, range),
            // A remaining range of a distrusted principal waits even if the policy demands no
            // audits.
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
fn find_audits(store: &Store<'_>, job: JobId, most: usize) -> Result<Vec<Row>> {
    let disputes = store.open_disputes(job)?;
    let mut found = Vec::new();
    store.visit(job, Select::Waiting, |counted, _| {
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

/// Fails unless the rows of a job cover `tasks` tasks and add up to `total`, and none of them waits
/// for another count. Otherwise the job must not end or be suspended.
fn check_complete(store: &Store<'_>, job: JobId, tasks: u64, total: u128) -> Result<()> {
    let mut covered = 0_u64;
    let mut cover = |range: Range| covered = covered.saturating_add(range.len());
    let sum = for_each_row(store, job, |counted| cover(counted.row.range))?;
    let claims = store.open_disputes(job)?.iter().map(|dispute| dispute.claims.len() as u64).sum();
    let open: u64 = [store.count_waiting(job)?, claims].iter().sum();
    if (covered, sum, open) != (tasks, total, 0) {
        let what = format!(
            "should end with {tasks} tasks and the total {total}, but its rows have {covered} and {sum}, and {open} of them \
             wait for another count"
        );
        return Err(contradiction(job, what));
    }
    Ok(())
}

/// The accepted ranges of a job so far, in ascending order.
#[derive(Default)]
pub(crate) struct Tiling {
    end: u64,
    /// The sum of their counts.
    pub(crate) sum: u128,
}

impl Tiling {
    /// Adds the next range. It fails if it overlaps one before, or if the sum passes 128 bits.
    fn add(&mut self, job: JobId, row: &Row) -> Result<()> {
        if row.range.start() < self.end {
            let what = format!("has overlapping ranges at ordinal {}", row.range.start());
            return Err(contradiction(job, what));
        }
        self.end = row.range.end();
        let sum = self.sum.checked_add(row.checked_count.count.into());
        self.sum = sum.ok_or_else(|| contradiction(job, "has counts that pass 128 bits"))?;
        Ok(())
    }
}

/// Walks the accepted ranges of a job and returns the sum of their counts.
pub(crate) fn for_each_row(
    store: &Store<'_>,
    job: JobId,
    mut see: impl FnMut(CountedRange),
) -> Result<u128> {
    let (mut tiling, mut added) = (Tiling::default(), Ok(()));
    store.visit(job, Select::All, |counted, _| {
        added = tiling.add(job, &counted.row);
        if added.is_err() {
            return ControlFlow::Break(());
        }
        see(counted);
        ControlFlow::Continue(())
    })?;
    added.map(|()| tiling.sum)
}

/// The first `most` accepted rows that overlap a range.
pub(crate) fn first_rows(
    store: &Store<'_>,
    id: JobId,
    range: Range,
    most: usize,
) -> Result<Vec<CountedRange>> {
    let mut rows = Vec::new();
    store.visit(id, Select::Overlapping(range), |counted, _| {
        rows.push(counted);
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(rows)
}

/// Removes a job that is over. It fails if the job proves that a party was wrong.
fn remove(store: &Store<'_>, id: JobId) -> Result<()> {
    if !stored_job(store, id)?.state.is_over() {
        return Err(contradiction(id, "was about to be removed, which is not over"));
    }
    let mut proofs = store.trust_changes()?.into_iter().filter_map(|change| change.proof);
    if proofs.any(|(job, _)| job == id) {
        let what = "was about to be removed, which proved somebody wrong";
        return Err(contradiction(id, what));
    }
    store.remove_job(id)
}

pub(crate) fn stored_job(store: &Store<'_>, id: JobId) -> Result<StoredJob> {
    store.jobs(Some(id))?.pop().ok_or_else(|| contradiction(id, "is gone"))
}

/// Notes that a job has reached a milestone.
fn reach(store: &Store<'_>, id: JobId, milestone: Milestone, by: &str) -> Result<()> {
    store.change_job(&stored_job(store, id)?, milestone, by)
}

/// Brings a job into a state that has neither a total nor a reason.
fn stand(store: &Store<'_>, id: JobId, state: JobState, by: &str) -> Result<()> {
    stand_with(store, id, state, (None, None), by)
}

/// Brings a job into a state, with its total if it has one then, and the reason why it is
/// suspended. A job that is in this state already stays as it is.
fn stand_with(
    store: &Store<'_>,
    id: JobId,
    state: JobState,
    (total, reason): (Option<u128>, Option<String>),
    by: &str,
) -> Result<()> {
    let job = stored_job(store, id)?;
    if job.state == state {
        return Ok(());
    }
    store.change_job(&StoredJob { state, total, reason, ..job }, Milestone::State(state), by)
}

/// Lets a job run again that was done or suspended.
fn reopen(store: &Store<'_>, job: JobId) -> Result<()> {
    if matches!(stored_job(store, job)?.state, JobState::Done | JobState::Suspended) {
        stand(store, job, JobState::Running, NOBODY)?;
    }
    Ok(())
}

fn distrusted(store: &Store<'_>) -> Result<Distrusted> {
    Ok(Distrusted::after(&store.trust_changes()?))
}

/// The fault for rows of a job that contradict each other, or for a command that contradicts them.
/// Only a person can resolve it. `what` ends a sentence that begins with the job.
fn contradiction(job: JobId, what: impl std::fmt::Display) -> LedgerFault {
    LedgerFault::Content(format!("job {job} {what}"))
}
