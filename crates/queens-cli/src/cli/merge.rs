//! `queens merge`: one ledger from several, without a coordinator.

use std::fs::{self, DirEntry};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use count::Answer;
use evidence::{Sample, Seed};
use farm::{IntervalSet, JobId, JobSpec, LedgerCommand, Origin, Plan, Shard};
use ledger::{Absorbed, CheckedLedger, Joined, LedgerFault, join_ledgers};
use serde_json::json;
use tempfile::TempDir;

use super::show;
use super::verify::refused;
use crate::answer;
use crate::failure::Failure;
use crate::{output, stderr};

/// The number of ranges of a bundle that are written at once.
const AT_ONCE: usize = 1000;
/// The number of missing shards and ranges that are named.
const NAMED: usize = 8;

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Ledgers of the same plan, for example from `queens count --shard`, or bundles of such
    /// ledgers, as `queens export` writes them; a folder stands for the files in it whose names end
    /// in .db, .bundle or .bundle.gz
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// The ledger to write; if it exists already, it is the first of the shards
    #[arg(long, value_name = "FILE")]
    into: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Joins the ledgers. The new ledger is kept even if tasks are missing, so that the others can be
/// added later.
pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let folder = TempDir::with_prefix("queens-merge-").map_err(unmade)?;
    let parts = files(&args.parts)?;
    let mut ledgers = Vec::new();
    for (number, path) in parts.iter().enumerate() {
        ledgers.push(match is_bundle(path) {
            true => ledger_of(path, &folder.path().join(number.to_string()))?,
            false => path.clone(),
        });
    }
    let joined = join_ledgers(&ledgers, &args.into).map_err(|mut error| {
        // The error names the bundle, and not the ledger that was made of it.
        if let Some(at) = ledgers.iter().position(|ledger| *ledger == error.path) {
            error.path.clone_from(&parts[at]);
        }
        error
    })?;
    let Joined { plan, ref shards, ref parts, tasks_done, total, ref missing, .. } = joined;
    let sum = |of: fn(&Absorbed) -> u64| parts.iter().map(of).sum::<u64>();
    let (compared, left_out) = (sum(|part| part.compared), sum(|part| part.left_out));
    let answer = total.map(|total| Answer::new(plan.problem, total)).transpose()?;
    let shards = incomplete_parts(&plan, shards, missing);
    let shards: Vec<String> = shards.iter().map(Shard::to_string).collect();
    if args.json {
        let ranges = missing.iter().map(|range| [range.start(), range.end()]);
        let merged = json!({
            "ledgers": parts.len(),
            "tasks_done": tasks_done,
            "compared": compared,
            "left_out": left_out,
            "missing_shards": shards,
            "missing_ranges": ranges.collect::<Vec<_>>(),
            "total": answer.as_ref().map(|answer| answer.count().to_string()),
        });
        let answer = answer.as_ref().map(answer::fields).into();
        output::print(output::with(output::with(output::json(&plan), merged), answer))?;
    } else {
        stderr::print(format_args!(
            "{plan}: {} ledger{}, {tasks_done} of {} tasks; {compared} ranges were counted twice, with equal \
             results\n",
            parts.len(),
            show::plural(parts.len() as u64, "s"),
            plan.tasks
        ));
        if left_out > 0 {
            stderr::print(format_args!(
                "{left_out} tasks were left out: their ranges overlap others and cannot be compared, or a worker \
                 counted them that another of these ledgers has found wrong\n"
            ));
        }
    }
    match (answer, joined.suspended) {
        (Some(_), _) if args.json => Ok(()),
        (Some(answer), _) => output::print(answer.count()),
        (None, Some(suspended)) => {
            Err(Failure::total_suspended(plan, &suspended, Some(&args.into)))
        }
        (None, None) => {
            let (what, names) = if shards.is_empty() {
                ("ranges", missing.iter().map(|range| range.to_string()).collect())
            } else {
                ("shards", shards)
            };
            let first = names[..names.len().min(NAMED)].join(", ");
            let more = match names.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(Failure::Incomplete(format!(
                "{} of {} tasks are missing: the {what} {first}{more}; count them and merge again, or let `queens count` of \
                 the same problem with `--ledger {}` count what is missing",
                missing.len(),
                plan.tasks,
                args.into.display()
            )))
        }
    }
}

/// Whether a file begins like a bundle, compressed or not. No ledger does.
fn is_bundle(path: &Path) -> bool {
    let mut first = [0; 2];
    let read = evidence::open_file(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && (first[0] == b'{' || first == [0x1f, 0x8b])
}

/// Makes a ledger of a bundle, in this new folder. The bundle is checked before, and the ledger has
/// its name.
fn ledger_of(bundle: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let nothing = Sample { draws: 0, seed: Seed::Number(0), all: false };
    let checked = evidence::check(bundle, nothing).map_err(|error| refused(bundle, &error))?;
    fs::create_dir(folder).map_err(unmade)?;
    let path = folder.join(bundle.file_name().expect("it is a file"));
    let at_path = |fault: LedgerFault| Failure::from(fault.at(Some(&path)));
    let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin).map_err(at_path)?;
    let (job, origin) = (JobId(1), Origin::default());
    let spec = JobSpec { origin, plan: checked.plan, shard: checked.shard, priority: 0 };
    let mut commands = vec![LedgerCommand::CreateJob { job, spec, audit: None }];
    let read = evidence::reports(bundle, &checked, job, |report, provenance| {
        commands.push(LedgerCommand::Accept { report, provenance, audit: false });
        if commands.len() >= AT_ONCE {
            ledger.apply(&std::mem::take(&mut commands))?;
        }
        Ok(())
    });
    read.map_err(|error| match error.downcast::<LedgerFault>() {
        Ok(fault) => at_path(fault),
        Err(error) => {
            Failure::Usage(format!("cannot merge the bundle {}: {error:#}", bundle.display()))
        }
    })?;
    ledger.apply(&commands).map_err(at_path)?;
    ledger.close().map_err(at_path)?;
    Ok(path)
}

fn unmade(error: io::Error) -> Failure {
    Failure::output("the folder of temporary files", error)
}

/// The files that the arguments name. Those of a folder are in the order of their names.
fn files(words: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in words {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let fault = |error: io::Error| LedgerFault::from(error).at(Some(path));
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(fault)?;
        let mut found: Vec<PathBuf> = entries.iter().map(DirEntry::path).collect();
        let is_part = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            [".db", ".bundle", ".bundle.gz"].iter().any(|end| name.ends_with(end.as_bytes()))
        };
        found.retain(is_part);
        if found.is_empty() {
            let none = "no name in this folder ends in .db, .bundle or .bundle.gz";
            return Err(fault(io::Error::other(none)).into());
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

/// The shards that lack tasks. The list is empty if the ledgers do not divide the plan into the
/// same number of shards.
fn incomplete_parts(plan: &Plan, shards: &[Shard], missing: &IntervalSet) -> Vec<Shard> {
    let mut divisions = shards.iter().filter(|shard| !shard.is_all()).map(|shard| shard.of());
    let Some(of) = divisions.next().filter(|&of| divisions.all(|other| other == of)) else {
        return Vec::new();
    };
    let lacks_tasks = |shard: &Shard| {
        let own = plan.ordinals(*shard);
        own.iter().any(|range| missing.within(range).next().is_some())
    };
    (1..=of).filter_map(|index| Shard::new(index, of).ok()).filter(lacks_tasks).collect()
}
