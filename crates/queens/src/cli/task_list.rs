//! `queens plan --tasks`: the tasks of `rows` as the masks that workers get.

use std::io;
use std::ops::ControlFlow;

use board::{Cut, Method, MethodChoice, Prefix, Problem, Tasks};
use solve::first_rows;

use crate::failure::Failure;
use crate::output::Lines;

/// How many tasks are made at a time.
const BLOCK: u64 = 1 << 12;

/// Prints left, down and right of each task of a board of size `n`, and for how many boards it stands,
/// which is 2 where its mirror image is left out. If tasks are `plain`, mirror images are tasks too, and
/// there may be any number of rows.
pub(super) fn run(n: u32, choice: MethodChoice, plain: bool, json: bool) -> Result<(), Failure> {
    let problem = Problem::Total { n };
    let method = choice.for_problem(problem);
    let Method::Rows { rows } = method else {
        return Err(Failure::Usage(
            "--tasks prints the masks of the method rows: give --method rows".into(),
        ));
    };
    // A plain list is made as it goes on, so that it has no bound but that of the board.
    let cut = match plain {
        true if rows <= n => Cut::new(problem, Method::Rows { rows: rows.min(1) })?,
        _ => Cut::new(problem, method)?,
    };
    let mut lines = Lines::new();
    let mut print = |Prefix { left, down, right }: Prefix, weight: u8| {
        let printed = match json {
            true => lines.print(format_args!(
                r#"{{"left":{left},"down":{down},"right":{right},"weight":{weight}}}"#
            )),
            false => lines.print(format_args!("{left} {down} {right} {weight}")),
        };
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    };
    let ended = if plain {
        first_rows(n, rows, |columns| {
            let place = |prefix: Prefix, &column: &u32| prefix.place(n, 1 << column);
            print(columns.iter().fold(Prefix::EMPTY, place), 1)
        })
    } else {
        each(&cut, &mut print)?
    };
    match ended {
        ControlFlow::Break(error) => lines.failed(error),
        ControlFlow::Continue(()) => lines.end(),
    }
}

/// Visits each task of a cut in its order.
fn each(
    cut: &Cut,
    mut visit: impl FnMut(Prefix, u8) -> ControlFlow<io::Error>,
) -> Result<ControlFlow<io::Error>, Failure> {
    let mut tasks = Tasks::with_capacity(BLOCK as usize);
    let mut first = 0;
    while first < cut.len() {
        let past = cut.len().min(first + BLOCK);
        tasks.clear();
        cut.fill(first..past, &mut tasks).map_err(anyhow::Error::from)?;
        for index in 0..tasks.len() {
            let (prefix, weight) = tasks.get(index);
            let ended = visit(prefix, weight);
            if ended.is_break() {
                return Ok(ended);
            }
        }
        first = past;
    }
    Ok(ControlFlow::Continue(()))
}
