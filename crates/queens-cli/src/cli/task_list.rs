//! `queens plan --tasks`: the tasks of `rows` and `prefixes` as the masks that workers get.

use board::{MethodChoice, PlanIndex, Prefix, Problem, Task, TaskKind};

use crate::failure::{Failure, usage};
use crate::output::Lines;

/// How many tasks are made at a time.
const BLOCK: u64 = 1 << 12;

/// Prints left, down and right of each task of a board of size `n`, and for how many boards it stands,
/// which is 2 where its mirror image is left out.
pub(super) fn tasks(n: u32, choice: MethodChoice, json: bool) -> Result<(), Failure> {
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
