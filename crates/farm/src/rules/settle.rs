//! The end of a dispute, and what becomes of the other counts of workers that it proved wrong.
//!
//! ```text
//!   a row that the wrong worker counted
//!     nobody has counted it again ─────────────────────────────► taken back
//!     a worker that is believed has confirmed it ──────────────► stays
//!     a worker that is wrong itself has confirmed it ──────────► taken back
//!   a row of another worker that the wrong worker has confirmed ──► waits for an audit again
//!   an open dispute in which the wrong worker has a part ─────────► over; all of its rows are taken back
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{Select, Store, accept, reopen};
use crate::rows::{Check, Contradiction, CountedRange, DisputeState, OpenDispute, Row, Tiled};
use crate::{Author, IntervalSet, JobId, JobState, Range, Report, Withdrawn};

/// Replaces the rows of a disputed range by the count that two workers agree on. Then takes back what the
/// `wrong` workers have counted and nobody has confirmed.
pub(super) fn settle<S: Store>(
    store: &mut S,
    report: &Report,
    author: &Author,
    wrong: &[String],
) -> Result<Vec<Withdrawn>, S::Fault> {
    for worker in wrong {
        store.distrust(worker, report.job, report.range)?;
    }
    replace(store, report.job, Row::new(report, author))?;
    let mut withdrawn = Vec::new();
    for job in store.jobs()?.into_iter().filter(|job| job.state != JobState::Cancelled) {
        let fates = fates(store, job.id, wrong)?;
        if !fates.is_empty() || job.id == report.job {
            withdrawn.push(withdraw(store, job.id, &fates)?);
        }
    }
    Ok(withdrawn)
}

/// A row that a settlement replaces, with its second count if it had one.
type Replaced = (Row, Option<Row>);

/// Exchanges the rows of a range for the count that is right.
fn replace<S: Store>(store: &mut S, job: JobId, right: Row) -> Result<(), S::Fault> {
    let range = right.range;
    let disputes = store.open_disputes(job)?;
    let Some(dispute) = disputes.into_iter().find(|dispute| dispute.range == range) else {
        return Err(Contradiction::NotDisputed(job, range).into());
    };
    let mut rows = Vec::new();
    store.visit(job, Select::BeginningIn(range), &mut |counted| {
        rows.push(counted.row);
        ControlFlow::Continue(())
    })?;
    let mut replaced: Vec<Replaced> = Vec::new();
    for row in rows {
        let second = store.second(job, row.range)?;
        replaced.push((row, second));
    }
    let second = second_vote(&right, &replaced, &dispute, &store.distrusted()?);
    for (row, _) in &replaced {
        store.retire(job, row.range, DisputeState::Settled)?;
    }
    store.close_dispute(job, range)?;
    let check = match second {
        SecondVote::None => Check::Wanted,
        SecondVote::Count(_) | SecondVote::Sum => Check::Agreed,
    };
    accept(store, job, &CountedRange { row: right, check })?;
    if let SecondVote::Count(row) = second {
        store.keep_as_second(job, &row)?;
    }
    Ok(())
}

/// The other vote for the count that settled a dispute.
enum SecondVote {
    /// One count of the whole range. It confirms the new row from now on, so that the row waits for an
    /// audit again if this worker is proven wrong later.
    Count(Row),
    /// The sum of one worker's counts of parts.
    Sum,
    /// Only workers that are not believed, such as one that contradicted itself.
    None,
}

/// The newest vote for the `right` count by another worker that is believed.
fn second_vote(
    right: &Row,
    replaced: &[Replaced],
    dispute: &OpenDispute,
    distrusted: &BTreeSet<String>,
) -> SecondVote {
    let is_believed = |worker: &str| worker != right.author.worker && !distrusted.contains(worker);
    let agrees = |row: &&Row| {
        row.range == right.range
            && row.tally.claim() == right.tally.claim()
            && is_believed(&row.author.worker)
    };
    let rows = replaced.iter().flat_map(|(row, second)| [Some(row), second.as_ref()]).flatten();
    if let Some(row) = dispute.claims.iter().chain(rows).rfind(agrees) {
        return SecondVote::Count(row.clone());
    }
    match Tiled::of(replaced.iter().map(|(row, _)| row), right.range) {
        Ok(Some(Tiled { claim, worker, .. }))
            if claim == right.tally.claim() && !worker.is_empty() && is_believed(&worker) =>
        {
            SecondVote::Sum
        }
        _ => SecondVote::None,
    }
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    WaitsAgain,
    TakenBack,
}

/// What becomes of a row when these workers turn out to be wrong, if it is in no dispute of theirs.
fn fate(counted: &CountedRange, second: Option<&str>, wrong: &[String]) -> Fate {
    let is_wrong = |worker: &str| wrong.iter().any(|name| name == worker);
    let is_void = second.is_some_and(is_wrong);
    let is_confirmed = counted.check == Check::Agreed && !is_void;
    match is_wrong(&counted.row.author.worker) {
        true if !is_confirmed => Fate::TakenBack,
        false if is_void => Fate::WaitsAgain,
        true | false => Fate::Stays,
    }
}

/// The rows of a job that do not stay as they are, with what they count. Closes the open disputes in which
/// one of the workers has a part.
fn fates<S: Store>(
    store: &mut S,
    job: JobId,
    wrong: &[String],
) -> Result<BTreeMap<Range, (Fate, u64)>, S::Fault> {
    let mut fates = BTreeMap::new();
    for OpenDispute { range, claims } in store.open_disputes(job)? {
        let mut rows = Vec::new();
        let mut has_part = claims.iter().any(|claim| wrong.contains(&claim.author.worker));
        store.visit(job, Select::BeginningIn(range), &mut |CountedRange { row, .. }| {
            has_part |= wrong.contains(&row.author.worker);
            rows.push((row.range, (Fate::TakenBack, row.tally.count)));
            ControlFlow::Continue(())
        })?;
        if has_part {
            store.close_dispute(job, range)?;
            fates.extend(rows);
        }
    }
    for worker in wrong {
        store.visit_of_worker(job, worker, &mut |counted, second| {
            let fate = fate(&counted, second.as_deref(), wrong);
            if fate != Fate::Stays {
                let row = &counted.row;
                fates.entry(row.range).or_insert((fate, row.tally.count));
            }
        })?;
    }
    Ok(fates)
}

/// Makes the rows of a job what their fates say.
fn withdraw<S: Store>(
    store: &mut S,
    job: JobId,
    fates: &BTreeMap<Range, (Fate, u64)>,
) -> Result<Withdrawn, S::Fault> {
    let (mut ranges, mut total) = (IntervalSet::new(), 0_u128);
    for (&range, &(fate, count)) in fates {
        match fate {
            Fate::TakenBack => {
                store.retire(job, range, DisputeState::TakenBack)?;
                ranges.insert(range);
                total += u128::from(count);
            }
            Fate::WaitsAgain => {
                store.set_check(job, range, Check::Wanted)?;
                store.retire_second(job, range, DisputeState::TakenBack)?;
            }
            Fate::Stays => {}
        }
    }
    let audits_wanted = store.count(job, Check::Wanted)?;
    if !ranges.is_empty() || audits_wanted > 0 {
        reopen(store, job)?;
    }
    let audits_agreed = store.count(job, Check::Agreed)?;
    Ok(Withdrawn { job, ranges, total, audits_wanted, audits_agreed })
}
