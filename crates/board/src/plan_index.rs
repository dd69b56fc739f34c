//! The tasks of a problem by number, for every method.

use std::ops::Range;

use thiserror::Error;

use crate::colours::{self, ColoursPlan, CompletionsPlan};
use crate::first_rows;
use crate::rows::{Images, MAX_TASKS, RowsPlan, TooManyPrefixes};
use crate::{MAX_N, Method, Problem, Task, TaskKind};

/// The tasks of a problem that is cut by a method, in their order. An index makes any range of
/// them.
///
/// An index takes at most a few MB of memory for any number of tasks.
///
/// ```
/// use queens_board::{PlanIndex, Method, Problem};
///
/// let index = PlanIndex::new(Problem::Total { n: 8 }, Method::Rows { rows: 2 })?;
/// let tasks = index.tasks(0..index.len())?;
/// // There are 42 ways to place two queens in two rows, and of two mirror images one is a task.
/// let weights: u32 = tasks.iter().map(|task| u32::from(task.weight)).sum();
/// assert_eq!((tasks.len(), weights), (21, 42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanIndex {
    plan: Plan,
}

#[derive(Clone, Debug)]
enum Plan {
    Rows(RowsPlan),
    Colours(ColoursPlan),
    Completions(CompletionsPlan),
    FirstRows(Vec<Task>),
}

/// Why a problem cannot be cut by a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The masks cannot hold a row of this board.
    #[error("a board of size {n}: give a size of at most {MAX_N}")]
    BoardTooLarge {
        /// The size of the board.
        n: u32,
    },
    /// The method does not cut the problem, or not with this parameter.
    #[error("{problem} cannot be cut by {method}: {}", advice(*problem, *method))]
    Method {
        /// What is to be counted.
        problem: Problem,
        /// How it was to be cut.
        method: Method,
    },
    /// The first rows can be filled in more than [`rows::MAX_TASKS`](MAX_TASKS) or
    /// [`first_rows::MAX_TASKS`] ways.
    #[error(
        "{problem}: the first {rows} rows can be filled in too many ways: place at most {most} rows"
    )]
    TooManyTasks {
        /// What is to be counted.
        problem: Problem,
        /// The rows to be placed.
        rows: u32,
        /// The most rows that can be placed.
        most: u32,
    },
}

/// What to do in place of cutting a problem by a method that does not cut it.
fn advice(problem: Problem, method: Method) -> String {
    if !problem.sums_all_placements() {
        let most = first_rows::most_rows(problem);
        return format!("it is counted by the method rows, M up to {most}");
    }
    match method {
        Method::Rows { .. } | Method::Prefixes { .. } => {
            format!("place at most {} rows", problem.n())
        }
        Method::Colours => format!("it takes sizes from {} to {}", colours::MIN_N, colours::MAX_N),
    }
}

/// A range of ordinals that a plan does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("a plan of {tasks} tasks has no range of ordinals from {start} to {end}")]
#[non_exhaustive]
pub struct RangeError {
    /// The start of the range that was asked for.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The number of tasks of the plan.
    pub tasks: u64,
}

impl PlanIndex {
    /// Cuts a problem. For the largest numbers of tasks this takes seconds, because the tasks are
    /// counted.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if the method cannot cut this problem, or not with this parameter.
    pub fn new(problem: Problem, method: Method) -> Result<PlanIndex, PlanError> {
        let index = PlanIndex::new_unless(problem, method, &|| false)?;
        Ok(index.expect("it is made unless it is stopped"))
    }

    /// Cuts a problem like [`new`](PlanIndex::new), but gives up and returns `None` soon after
    /// `stop` begins to return `true`. `stop` is called thousands of times a second, so it should
    /// do no more than read a variable.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](PlanIndex::new).
    pub fn new_unless(
        problem: Problem,
        method: Method,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<PlanIndex>, PlanError> {
        let n = problem.n();
        if n > problem.max_n() {
            return Err(PlanError::BoardTooLarge { n });
        }
        let kind = TaskKind::of(problem, method).ok_or(PlanError::Method { problem, method })?;
        let plan = match kind {
            TaskKind::Prefix { rows } => {
                let prefixes = Method::Prefixes { rows };
                let images = if method == prefixes { Images::Both } else { Images::Left };
                let plan = RowsPlan::new_unless(n, rows, images, MAX_TASKS, stop);
                let too_many = |error: TooManyPrefixes| PlanError::TooManyTasks {
                    problem,
                    rows,
                    most: error.most_rows,
                };
                plan.map_err(too_many)?.map(Plan::Rows)
            }
            TaskKind::Colours => Some(match problem.given() {
                Some(given) => Plan::Completions(CompletionsPlan::new(given)),
                None => Plan::Colours(ColoursPlan::new(n)),
            }),
            TaskKind::FirstRows { rows } => {
                let fits = |rows: &u32| first_rows::tasks(problem, *rows).is_some();
                let too_many = || {
                    let most = (0..rows).rev().find(fits).unwrap_or(0);
                    PlanError::TooManyTasks { problem, rows, most }
                };
                let tasks = first_rows::tasks(problem, rows).ok_or_else(too_many)?;
                Some(Plan::FirstRows(tasks))
            }
        };
        Ok(plan.map(|plan| PlanIndex { plan }))
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.plan {
            Plan::Rows(plan) => plan.len(),
            Plan::Colours(plan) => plan.len(),
            Plan::Completions(plan) => plan.len(),
            Plan::FirstRows(tasks) => tasks.len() as u64,
        }
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that the plan has all ordinals in `range`.
    ///
    /// # Errors
    ///
    /// [`RangeError`], if `range` passes [`len`](PlanIndex::len) or starts after its end.
    pub fn check(&self, range: &Range<u64>) -> Result<(), RangeError> {
        let (Range { start, end }, tasks) = (range.clone(), self.len());
        if start <= end && end <= tasks { Ok(()) } else { Err(RangeError { start, end, tasks }) }
    }

    /// The tasks whose ordinals are in `range`, in order.
    ///
    /// # Errors
    ///
    /// The error of [`check`](PlanIndex::check).
    ///
    /// # Panics
    ///
    /// Panics if the address space cannot hold the tasks of the range.
    pub fn tasks(&self, range: Range<u64>) -> Result<Vec<Task>, RangeError> {
        self.check(&range)?;
        let len = usize::try_from(range.end - range.start).expect("the memory holds the tasks");
        let mut out = Vec::with_capacity(len);
        match &self.plan {
            Plan::Rows(plan) => plan.fill(range, &mut out),
            Plan::Colours(plan) => plan.fill(range, &mut out),
            Plan::Completions(plan) => out.extend(range.map(|ordinal| plan.task(ordinal))),
            Plan::FirstRows(tasks) => {
                out.extend_from_slice(&tasks[range.start as usize..range.end as usize]);
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, MethodChoice};

    #[test]
    fn what_suits_a_board_can_be_cut_and_nothing_else() {
        for n in 0..=8 {
            for method in (0..=9).map(|rows| Method::Rows { rows }) {
                assert_eq!(
                    PlanIndex::new(Problem::Total { n }, method).is_ok(),
                    method.suits(n),
                    "{method} of N = {n}"
                );
            }
        }
        for n in 0..=33 {
            assert_eq!(
                PlanIndex::new(Problem::Total { n }, Method::Colours).is_ok(),
                Method::Colours.suits(n),
                "N = {n}"
            );
        }
    }

    #[test]
    fn a_cut_that_is_stopped_is_given_up_soon() {
        for (problem, method) in [
            (Problem::Total { n: 32 }, Method::Rows { rows: 6 }),
            (Problem::Fundamental { n: 31 }, Method::Prefixes { rows: 6 }),
        ] {
            let asked = std::cell::Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() > 3
            };
            let index = PlanIndex::new_unless(problem, method, &stop).expect("it can be cut so");
            assert!(index.is_none(), "{problem} by {method}");
            assert!(asked.get() < 100, "{problem} by {method} went on: {}", asked.get());
        }
    }

    #[test]
    fn a_board_beyond_all_sizes_is_refused_and_nothing_worse() {
        for n in [MAX_N + 1, 65, u32::MAX - 1, u32::MAX] {
            for problem in [
                Problem::Total { n },
                Problem::Fundamental { n },
                Problem::Toroidal { n },
                Problem::Superqueens { n },
            ] {
                for choice in [MethodChoice::suggested(problem), MethodChoice::Rows { rows: None }]
                {
                    let method = choice.for_problem(problem);
                    assert!(!method.cuts(problem), "{problem} by {method}");
                    assert!(PlanIndex::new(problem, method).is_err(), "{problem} by {method}");
                }
            }
        }
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
    fn a_range_that_a_plan_does_not_have_is_refused_by_every_method() {
        let given = Given::new(9, &[]).expect("an empty board");
        for (problem, method) in [
            (Problem::Total { n: 9 }, Method::Rows { rows: 2 }),
            (Problem::Total { n: 9 }, Method::Prefixes { rows: 1 }),
            (Problem::Total { n: 9 }, Method::Colours),
            (Problem::Completions(given), Method::Rows { rows: 2 }),
        ] {
            let index = PlanIndex::new(problem, method).expect("it is cut so");
            let tasks = index.len();
            for ordinals in [5..3, 0..tasks + 1, tasks + 1..tasks + 1, 0..u64::MAX] {
                let refused = Err(RangeError { start: ordinals.start, end: ordinals.end, tasks });
                assert_eq!(index.tasks(ordinals), refused, "{problem} by {method}");
            }
            assert_eq!(index.tasks(tasks..tasks), Ok(Vec::new()));
        }
    }
}
