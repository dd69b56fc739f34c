//! Joins several ledgers of one plan.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use farm::rules::Store;
use farm::{
    Distrusted, IntervalSet, JobId, JobSpec, JobState, LedgerCommand, Origin, Plan, RestoredJob,
    Slice, TrustChange,
};

use crate::backup::Unfinished;
use crate::place;
use crate::store::SqlStore;
use crate::{
    Absorbed, CheckedLedger, Evidence, Ledger, LedgerError, LedgerFault, LedgerLock, Result,
};

/// The only job of a ledger that was joined.
const JOB: JobId = JobId(1);

/// The result of joining ledgers.
#[derive(Debug)]
pub struct Joined {
    /// The plan that all ledgers count.
    pub plan: Plan,
    /// The part of the plan that each ledger is for, in the order in which they were given.
    pub slices: Vec<Slice>,
    /// What each ledger contributed, in the order in which they were taken in.
    pub parts: Vec<Absorbed>,
    /// Number of tasks that have a count.
    pub tasks_done: u64,
    /// The sum over the whole plan; `None` if tasks are missing, or if the sum contradicts what is known.
    pub total: Option<u128>,
    /// What the sum contradicts, if it does. The joined ledger keeps its job as suspended.
    pub suspended: Option<String>,
    /// Ordinals without a count.
    pub missing: IntervalSet,
}

/// Joins the ledgers in `parts` into a new ledger `into`. If `into` exists already, it is the first part
/// and is replaced. A ledger that is named twice is one part. If anything goes wrong, no file changes.
///
/// # Errors
///
/// [`LedgerError`], if a ledger cannot be read or written, holds another plan than the first one, or
/// has ranges that wait for another machine.
///
/// # Panics
///
/// Panics if there is no ledger to join.
pub fn join_ledgers(parts: &[PathBuf], into: &Path) -> Result<Joined, LedgerError> {
    // Before the lock, of which a file is left.
    place::check_name(into).map_err(|fault| fault.at(Some(into)))?;
    for path in parts {
        place::check_name(path)
            .and_then(|()| Ok(fs::metadata(path)?))
            .map_err(|fault| fault.at(Some(path)))?;
    }
    let earlier = fs::canonicalize(into).ok();
    // The lock keeps others from making a ledger there meanwhile. An existing one is locked as a part.
    let at_into = |fault: LedgerFault| fault.at(Some(into));
    let new = earlier.is_none().then(|| LedgerLock::of(into)).transpose().map_err(at_into)?;
    let mut files: BTreeSet<PathBuf> = earlier.iter().cloned().collect();
    let is_other = |path: &&PathBuf| fs::canonicalize(path).map_or(true, |file| files.insert(file));
    let others = parts.iter().filter(is_other).cloned();
    let paths: Vec<PathBuf> = earlier.clone().into_iter().chain(others).collect();
    let mut parts: Vec<Part<'_>> = paths.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let (first, _, job) = parts.first().expect("a ledger is named");
    let plan = job.spec.plan;
    if let Some((path, _, job)) = parts.iter().find(|(.., job)| job.spec.plan != plan) {
        let wanted = format!("{plan} like {}", first.display());
        let holds = job.spec.plan.to_string();
        return Err(LedgerFault::AnotherPlan { holds, wanted }.at(Some(path)));
    }

    let temp = Unfinished::new(place::with_suffix(into, ".merging"));
    let at_temp = |fault: LedgerFault| fault.at(Some(&temp.0));
    let ledger = CheckedLedger::open(&temp.0).and_then(CheckedLedger::begin).map_err(at_temp)?;
    let merged = join(&ledger, plan, &parts)?;
    ledger.close().map_err(at_temp)?;
    let lock = match new {
        Some(lock) => Some(lock),
        None => parts.swap_remove(0).1.close().map_err(at_into)?,
    };
    fs::rename(&temp.0, into).map_err(|error| at_into(error.into()))?;
    // Its name is free again before the lock is: another merge may use it then.
    drop(temp);
    drop(lock);
    Ok(merged)
}

fn open(path: &PathBuf) -> Result<Part<'_>, LedgerError> {
    let at_part = |fault: LedgerFault| fault.at(Some(path));
    let evidence = Evidence::locked(path).map_err(at_part)?;
    let live = evidence.jobs().iter().filter(|job| job.state != JobState::Cancelled);
    let jobs: Vec<&RestoredJob> = live.collect();
    let [job] = jobs.as_slice() else {
        let holds = format!("{} jobs", jobs.len());
        return Err(at_part(LedgerFault::AnotherPlan { holds, wanted: "one".into() }));
    };
    let open = job.disputes.len() as u64 + job.audits_wanted;
    if open > 0 {
        return Err(at_part(LedgerFault::Unsettled(open)));
    }
    let job = (*job).clone();
    Ok((path, evidence, job))
}

/// A ledger to join, and its job.
type Part<'a> = (&'a PathBuf, Evidence, RestoredJob);

fn join(ledger: &Ledger, plan: Plan, parts: &[Part<'_>]) -> Result<Joined, LedgerError> {
    let write = |command| ledger.apply(&[command]).map_err(|fault| fault.at(ledger.path()));
    let (job, slice) = (JOB, Slice::ALL);
    let origin = Origin::default();
    write(LedgerCommand::CreateJob {
        job,
        spec: JobSpec { origin, plan, slice, priority: 0 },
        audit: None,
    })?;
    let verdicts = verdicts(parts)?;
    note(ledger, &verdicts, parts).map_err(|fault| fault.at(ledger.path()))?;
    // Where the ranges of two parts begin and end within each other, those of the first one stay, so complete parts come
    // first, and then those with more tasks.
    let mut in_order: Vec<&Part<'_>> = parts.iter().collect();
    in_order.sort_by_key(|(.., job)| {
        let JobSpec { plan, slice, .. } = &job.spec;
        let is_complete = job.accepted.len() == slice.ordinals(plan.tasks).len();
        Reverse((is_complete, job.accepted.len()))
    });
    let mut absorbed = Vec::new();
    for (path, evidence, job) in in_order {
        let own = evidence.trust_changes(JOB).map_err(|fault| fault.at(Some(path)))?;
        // This part still has what these have counted, because it does not know of the verdict.
        let unknown = verdicts.iter().filter(|verdict| !own.contains(verdict));
        let wrong = Distrusted(unknown.map(|verdict| verdict.party.clone()).collect());
        let part = ledger.in_one_go(|| ledger.absorb(JOB, evidence, job.id, &wrong));
        absorbed.push(part.map_err(|fault| fault.at(Some(path)))?);
    }
    let mut missing: IntervalSet = Slice::ALL.ordinals(plan.tasks);
    let total = ledger.for_each_row(JOB, |row| drop(missing.remove(row.range)));
    let total = total.map_err(|fault| fault.at(ledger.path()))?;
    let (tasks, is_complete) = (plan.tasks, missing.is_empty());
    let suspended = known::of(&plan, slice).contradiction(total).filter(|_| is_complete);
    if is_complete {
        write(LedgerCommand::Finish { job, tasks, total, reason: suspended.clone() })?;
    }
    Ok(Joined {
        plan,
        slices: parts.iter().map(|(.., job)| job.spec.slice).collect(),
        parts: absorbed,
        tasks_done: plan.tasks - missing.len(),
        total: (is_complete && suspended.is_none()).then_some(total),
        suspended,
        missing,
    })
}

/// The verdicts of all parts about parties that were wrong, once each. A reinstatement does not undo one here, because a part
/// without the verdict still has what that party counted.
fn verdicts(parts: &[Part<'_>]) -> Result<Vec<TrustChange>, LedgerError> {
    let mut verdicts = Vec::new();
    for (path, evidence, _) in parts {
        let changes = evidence.trust_changes(JOB).map_err(|fault| fault.at(Some(path)))?;
        for change in changes.into_iter().filter(|change| !change.trusted) {
            if !verdicts.contains(&change) {
                verdicts.push(change);
            }
        }
    }
    Ok(verdicts)
}

/// Notes the verdicts, so that a later merge knows of them. A party that all parts trust again is
/// trusted.
fn note(ledger: &Ledger, verdicts: &[TrustChange], parts: &[Part<'_>]) -> Result<()> {
    let is_trusted = |verdict: &&TrustChange| {
        !parts.iter().any(|(_, evidence, _)| evidence.distrusted().0.contains(&verdict.party))
    };
    let reinstatements: BTreeSet<_> =
        verdicts.iter().filter(is_trusted).map(|it| &it.party).collect();
    ledger.in_one_go(|| {
        let mut store = SqlStore(&ledger.db);
        verdicts.iter().try_for_each(|verdict| store.note_trust(verdict))?;
        let why = "in all ledgers merged here";
        reinstatements.into_iter().try_for_each(|party| store.change_trust(party, true, None, why))
    })
}
