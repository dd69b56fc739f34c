//! `queens count` with the methods `states`, `forced` and `unique` of `literature` and `solve`, on
//! one thread of this process.

use std::time::Instant;

use board::{MAX_N, PlanError, Problem};
use clap::ValueEnum;
use count::Answer;
use literature::forced::{self, ForcedCount, Looking};
use literature::states::{self, RowStats};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{CountArgs, Counted};
use crate::answer::{self, check_total};
use crate::cli::options::{MethodName, STATES_MEMORY};
use crate::failure::{Failure, usage};
use crate::output;
use crate::progress::{Progress, Took};

impl MethodName {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }

    /// The failure for options that do not belong to this method.
    pub(crate) fn refuses(self, has: &str, options: &str) -> Failure {
        Failure::Usage(format!("--method {} has {has}: leave out {options}", self.name()))
    }
}

struct Found {
    /// The sum of all placements, before symmetry.
    total: u128,
    answer: u128,
    /// Other results, as fields of JSON and as a table.
    fields: Value,
    table: String,
}

/// Counts by a method that makes no tasks, and prints the result.
pub(super) async fn count(args: &CountArgs, n: u32, method: MethodName) -> Result<Took, Failure> {
    if args.ledger.is_some() {
        return Err(method.refuses("no ledger", "--ledger and --shard"));
    }
    let problem = args.asked(n)?;
    let memory = args.memory.unwrap_or(STATES_MEMORY);
    let is_plain = args.method_args.no_mirror;
    let counted = spawn_blocking(move || run(method, problem, memory, is_plain));
    let see = || (0.0, format!("by {}, of which no end can be foreseen", method.name()));
    let counted = Progress::during(!args.progress.quiet, n, counted, see).await;
    counted.map_err(anyhow::Error::from)??.print(args, n)
}

/// Counts by a method that makes no tasks. The method `states` takes at most `memory` bytes and,
/// with `is_plain`, keeps each state as it is.
fn run(
    method: MethodName,
    problem: Problem,
    memory: u64,
    is_plain: bool,
) -> Result<Counted, Failure> {
    let n = problem.n();
    if method == MethodName::Unique {
        if !problem.counts_orbits() {
            return usage("--method unique is for --problem fundamental");
        }
    } else if !matches!(problem, Problem::Total { .. }) {
        return usage(format!(
            "--method {} counts the total alone: leave out --method, or --problem and given queens",
            method.name()
        ));
    }
    if n > MAX_N {
        return Err(PlanError::BoardTooLarge { n }.into());
    }
    let begun = Instant::now();
    let found = match method {
        MethodName::States => by_states(n, memory, is_plain)?,
        MethodName::Forced => by_forced_lines(n, Looking::ColumnsAndRows),
        MethodName::ForcedColumns => by_forced_lines(n, Looking::Columns),
        MethodName::Unique => {
            let census = solve::census(n);
            let answer = Answer::from(census);
            let (fields, table) = (answer::fields(&answer).into(), answer::table(&answer));
            Found { total: census.total, answer: answer.count(), fields, table }
        }
        MethodName::Rows | MethodName::Prefixes | MethodName::Colours => {
            unreachable!("it makes tasks")
        }
    };
    let took = Took::by_one_thread(begun, found.total, &method.name());
    check_total(problem, found.total)?;
    let Found { answer: total, fields, table, .. } = found;
    let object = json!({"problem": problem.name(), "n": n, "method": method.name()});
    Ok(Counted { object: output::with(object, fields), total, table, threads: 1, took })
}

fn by_states(n: u32, memory: u64, is_plain: bool) -> Result<Found, Failure> {
    let count = if is_plain { states::count_plain } else { states::count };
    let found = count(n, memory)?;
    let head = "row           states           merged            bytes\n".to_string();
    let table = (1..).zip(&found.rows).fold(head, |table, (row, it)| {
        let RowStats { states, merged, bytes } = it;
        format!("{table}{row:>3} {states:>16} {merged:>16} {bytes:>16}\n")
    });
    let sum = |of: fn(&RowStats) -> u64| found.rows.iter().map(of).sum::<u64>();
    let table = format!("{table}all {:>16} {:>16}\n", sum(|row| row.states), sum(|row| row.merged));
    let fields = json!({"by_row": found.rows});
    Ok(Found { total: found.total, answer: found.total, fields, table })
}

fn by_forced_lines(n: u32, looking: Looking) -> Found {
    let ForcedCount { total, tries, forced, dead } = forced::count(n, looking);
    let table = format!("tries      {tries:>15}\nforced     {forced:>15}\ndead ends  {dead:>15}\n");
    let fields = json!({"tries": tries, "forced": forced, "dead": dead});
    Found { total: total.into(), answer: total.into(), fields, table }
}
