//! Joins several ledgers of one plan.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use farm::{
    Distrusted, IntervalSet, JobId, JobSpec, JobState, Known, LedgerCommand, Origin, Plan,
    RestoredJob, Shard, TrustChange,
};

use crate::backup::Unfinished;
use crate::place;
use crate::planted::Use;
use crate::store::Store;
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
    /// The shard of the plan that each ledger is for, in the order in which they were given.
    pub shards: Vec<Shard>,
    /// What each ledger contributed, in the order in which they were taken in.
    pub parts: Vec<Absorbed>,
    /// Number of tasks that have a count.
    pub tasks_done: u64,
    /// The sum over the whole plan; `None` if tasks are missing, or if the sum contradicts what is
    /// known.
    pub total: Option<u128>,
    /// What the sum contradicts, if it does. The joined ledger keeps its job as suspended.
    pub suspended: Option<String>,
    /// Ordinals without a count.
    pub missing: IntervalSet,
}

/// Joins the ledgers in `parts`, at least one, into a new ledger `into`. If `into` exists already,
/// it is the first part and is replaced. A ledger that is named twice is one part. If anything goes
/// wrong, no file changes.
///
/// # Errors
///
/// [`LedgerError`], if a ledger cannot be read or written, holds another plan than the first one,
/// or has ranges that wait for another machine.
pub fn join_ledgers(parts: &[PathBuf], into: &Path) -> Result<Joined, LedgerError> {
    // These checks come before the lock, because taking the lock makes a file.
    place::check_name(into, Use::Writes).map_err(|fault| fault.at(Some(into)))?;
    for path in parts {
        place::check_name(path, Use::Reads)
            .and_then(|()| Ok(fs::metadata(path)?))
            .map_err(|fault| fault.at(Some(path)))?;
    }
    let earlier = fs::canonicalize(into).ok();
    // If `into` does not exist, this lock keeps other processes from making a ledger there
    // meanwhile. If it exists, it is locked as a part.
    let at_into = |fault: LedgerFault| fault.at(Some(into));
    if earlier.is_none() {
        place::refuse_log(into).map_err(|error| at_into(error.into()))?;
    }
    let new = earlier.is_none().then(|| LedgerLock::of(into)).transpose().map_err(at_into)?;
    let mut files: BTreeSet<PathBuf> = earlier.iter().cloned().collect();
    let is_other = |path: &&PathBuf| fs::canonicalize(path).map_or(true, |file| files.insert(file));
    let others = parts.iter().filter(is_other).cloned();
    let paths: Vec<PathBuf> = earlier.clone().into_iter().chain(others).collect();
    let open_at = |path: &PathBuf| {
        // Only the file that is replaced is locked and changed.
        let evidence = match Some(path) == earlier.as_ref() {
            true => CheckedLedger::open(path).map(|checked| Evidence(checked.ledger)),
            false => Evidence::at_rest(path),
        };
        evidence.and_then(open).map_err(|fault| fault.at(Some(path)))
    };
    let mut parts: Vec<Part> = paths.iter().map(open_at).collect::<Result<_, _>>()?;
    let plan = parts.first().expect("a ledger is named").job.stored.spec.plan;
    if let Some(other) = parts.iter().find(|part| part.job.stored.spec.plan != plan) {
        let wanted = format!("{plan} like {}", paths[0].display());
        let holds = other.job.stored.spec.plan.to_string();
        return Err(LedgerFault::AnotherPlan { holds, wanted }.at(other.path()));
    }

    let temp = Unfinished::new(place::with_suffix(into, ".merging")).map_err(at_into)?;
    let at_temp = |fault: LedgerFault| fault.at(Some(&temp.0));
    let ledger = CheckedLedger::open(&temp.0).and_then(CheckedLedger::begin).map_err(at_temp)?;
    let merged = join(&ledger, plan, &parts)?;
    ledger.close().map_err(at_temp)?;
    let lock = match new {
        Some(lock) => Some(lock),
        None => parts.swap_remove(0).evidence.0.close().map_err(at_into)?,
    };
    fs::rename(&temp.0, into).map_err(|error| at_into(error.into()))?;
    // The temporary name is freed before the lock, because another merge may use that name once it
    // has the lock.
    drop(temp);
    drop(lock);
    Ok(merged)
}

/// A ledger to join.
struct Part {
    evidence: Evidence,
    /// Its only job that was not cancelled.
    job: RestoredJob,
    /// Its changes of trust. Where the job of the part proves a change, the job of the joined
    /// ledger is named as the proof.
    trust: Vec<TrustChange>,
}

impl Part {
    fn path(&self) -> Option<&Path> {
        self.evidence.0.path()
    }
}

fn open(evidence: Evidence) -> Result<Part> {
    let live = evidence.jobs().iter().filter(|job| job.stored.state != JobState::Cancelled);
    let jobs: Vec<&RestoredJob> = live.collect();
    let [job] = jobs[..] else {
        let holds = format!("{} jobs", jobs.len());
        return Err(LedgerFault::AnotherPlan { holds, wanted: "one".into() });
    };
    let open = job.disputes.len() as u64 + job.audits_wanted;
    if open > 0 {
        return Err(LedgerFault::Unsettled(open));
    }
    let job = job.clone();
    let mut trust = Store::of(&evidence.0.db).trust_changes()?;
    for change in &mut trust {
        change.proof = change.proof.map(|(_, range)| (JOB, range));
    }
    Ok(Part { evidence, job, trust })
}

fn join(ledger: &Ledger, plan: Plan, parts: &[Part]) -> Result<Joined, LedgerError> {
    let at_ledger = |fault: LedgerFault| fault.at(ledger.path());
    let (job, shard) = (JOB, Shard::ALL);
    let spec = JobSpec { origin: Origin::default(), plan, shard, priority: 0 };
    ledger.apply(&[LedgerCommand::CreateJob { job, spec, audit: None }]).map_err(at_ledger)?;
    let verdicts = verdicts(parts);
    note(ledger, &verdicts, parts).map_err(at_ledger)?;
    // If ranges of two parts overlap without matching, the ranges of the part that was taken in
    // first stay. Therefore complete parts come first, and then the parts with more tasks.
    let mut in_order: Vec<&Part> = parts.iter().collect();
    in_order.sort_by_key(|Part { job, .. }| {
        let JobSpec { plan, shard, .. } = &job.stored.spec;
        let is_complete = job.accepted.len() == plan.ordinals(*shard).len();
        Reverse((is_complete, job.accepted.len()))
    });
    let mut absorbed = Vec::new();
    for part in in_order {
        // This part does not know these verdicts, so it still has the counts of these parties.
        let unknown = verdicts.iter().filter(|verdict| !part.trust.contains(verdict));
        let wrong = Distrusted(unknown.map(|verdict| verdict.party.clone()).collect());
        let taken =
            ledger.in_one_go(|| ledger.absorb(JOB, &part.evidence, part.job.stored.id, &wrong));
        absorbed.push(taken.map_err(|fault| fault.between(part.path(), ledger.path()))?);
    }
    let mut missing = plan.ordinals(shard);
    let total = ledger.for_each_row(JOB, |row| drop(missing.remove(row.range)));
    let total = total.map_err(at_ledger)?;
    let (tasks, is_complete) = (plan.tasks, missing.is_empty());
    let suspended = Known::of(&plan, shard).contradiction(total).filter(|_| is_complete);
    if is_complete {
        let finish = LedgerCommand::Finish { job, tasks, total, reason: suspended.clone() };
        ledger.apply(&[finish]).map_err(at_ledger)?;
    }
    Ok(Joined {
        plan,
        shards: parts.iter().map(|part| part.job.stored.spec.shard).collect(),
        parts: absorbed,
        tasks_done: plan.tasks - missing.len(),
        total: (is_complete && suspended.is_none()).then_some(total),
        suspended,
        missing,
    })
}

/// The verdicts of all ledgers about parties that were wrong, each once. A reinstatement does not
/// undo a verdict here, because a ledger without the verdict still has the counts of that party.
fn verdicts(parts: &[Part]) -> Vec<TrustChange> {
    let mut verdicts: Vec<TrustChange> = Vec::new();
    for change in parts.iter().flat_map(|part| &part.trust) {
        if !change.trusted && !verdicts.contains(change) {
            verdicts.push(change.clone());
        }
    }
    verdicts
}

/// Notes the verdicts in the joined ledger, so that a later merge knows them. A party that all
/// ledgers trust again is then noted as trusted again.
fn note(ledger: &Ledger, verdicts: &[TrustChange], parts: &[Part]) -> Result<()> {
    let is_trusted = |verdict: &&TrustChange| {
        !parts.iter().any(|part| part.evidence.distrusted().0.contains(&verdict.party))
    };
    let reinstatements: BTreeSet<_> =
        verdicts.iter().filter(is_trusted).map(|it| &it.party).collect();
    ledger.in_one_go(|| {
        let store = Store::of(&ledger.db);
        verdicts.iter().try_for_each(|verdict| store.note_trust(verdict))?;
        let why = "in all ledgers merged here";
        reinstatements.into_iter().try_for_each(|party| store.change_trust(party, true, None, why))
    })
}
