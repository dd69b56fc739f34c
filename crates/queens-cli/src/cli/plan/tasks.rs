//! What `queens plan` prints besides estimates: with `--tasks` the tasks of `rows` and `prefixes`
//! as the masks that workers get, and with `--method unique` the jobs of the direct search for one
//! placement of each orbit.

use board::{MethodChoice, PlanIndex, Prefix, Problem, Task, TaskKind};
use serde_json::json;
use solve::{Job, UNIQUE_MAX};

use crate::failure::{Failure, usage};
use crate::output::{self, Lines};

/// How many tasks are made at a time.
const BLOCK: u64 = 1 << 12;

/// Prints the masks left, down and right of each task of a board of size `n`, and for how many
/// boards the task stands: 2 if its mirror image is left out.
pub(super) fn print(n: u32, choice: MethodChoice, json: bool) -> Result<(), Failure> {
    let problem = Problem::Total { n };
    let method = choice.for_problem(problem);
    let index = PlanIndex::new(problem, method)?;
    if !matches!(TaskKind::of(problem, method), Some(TaskKind::Prefix { .. })) {
        return usage("--tasks prints tasks of rows and prefixes: give one of these methods");
    }
    let mut lines = Lines::new();
    for first in (0..index.len()).step_by(BLOCK as usize) {
        let past = index.len().min(first + BLOCK);
        let tasks = index.tasks(first..past).map_err(anyhow::Error::from)?;
        for Task { record: Prefix { left, down, right }, weight } in tasks {
            match json {
                true => lines.print(format_args!(
                    r#"{{"left":{left},"down":{down},"right":{right},"weight":{weight}}}"#
                ))?,
                false => lines.print(format_args!("{left} {down} {right} {weight}"))?,
            }
        }
    }
    lines.end()
}

/// The largest board whose jobs are all counted here, to show that their counts add up to the
/// total.
const LARGEST_COUNTED: u32 = 12;

/// Prints how many jobs a board of size `n` has, for each column of the first queen.
pub(super) fn print_jobs_of_unique(n: u32, json: bool) -> Result<(), Failure> {
    if !(4..=UNIQUE_MAX).contains(&n) {
        return usage(format!(
            "a board of size {n} has no jobs by the queens of its first two rows: give a size from 4 to 32"
        ));
    }
    let jobs = solve::jobs(n);
    let total = (n <= LARGEST_COUNTED).then(|| jobs.iter().map(|job| job.total()).sum::<u128>());
    let by_first: Vec<usize> = jobs.chunk_by(|a, b| a.first == b.first).map(<[Job]>::len).collect();
    if json {
        return output::print(json!({
            "problem": "fundamental",
            "n": n,
            "method": "unique",
            "jobs": jobs.len(),
            "jobs_by_first": by_first,
            "total": total.map(|total| total.to_string()),
        }));
    }
    let (corner, others) = (by_first[0], jobs.len() - by_first[0]);
    output::print(format!(
        "plan      N={n} by unique, the direct search for one placement of each orbit, on one thread\n\
         jobs      {} by the queens of the first two rows: {corner} with a queen in the corner, {others} without",
        jobs.len()
    ))?;
    total.map_or(Ok(()), |total| {
        output::print(format!("total     {total}, the sum of what all jobs stand for"))
    })
}
