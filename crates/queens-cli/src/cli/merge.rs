//! `queens merge`: one ledger from several, without a coordinator.

use std::fs::{self, DirEntry};
use std::io;
use std::path::PathBuf;

use clap::Args;
use count::Answer;
use farm::{IntervalSet, Plan, Shard};
use ledger::{Absorbed, Joined, LedgerFault, join_ledgers};
use serde_json::json;

use super::show;
use crate::answer;
use crate::failure::Failure;
use crate::{output, stderr};

/// The number of missing shards and ranges that are named.
const NAMED: usize = 8;

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Ledgers of the same plan, for example from `queens count --shard`; a folder stands for the
    /// files in it whose names end in .db
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
    let joined = join_ledgers(&ledgers(&args.parts)?, &args.into)?;
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

/// The ledgers that the arguments name. Those of a folder are in the order of their names.
fn ledgers(words: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut ledgers = Vec::new();
    for path in words {
        if !path.is_dir() {
            ledgers.push(path.clone());
            continue;
        }
        let fault = |error: io::Error| LedgerFault::from(error).at(Some(path));
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(fault)?;
        let mut found: Vec<PathBuf> = entries.iter().map(DirEntry::path).collect();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "db"));
        if found.is_empty() {
            return Err(fault(io::Error::other("no name in this folder ends in .db")).into());
        }
        found.sort();
        ledgers.append(&mut found);
    }
    Ok(ledgers)
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
