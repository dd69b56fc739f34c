//! Tasks of the method `rows` for problems whose states are more than three masks: a torus, queens
//! that move as knights, and boards with given queens.
//!
//! A task is a way to fill the first M rows that are open. It travels as a [`Prefix`] whose `down`
//! holds the queens' columns, six bits each, the first row's column lowest. Its `left` and `right`
//! are 0. The rows are not part of the record, because they follow from the problem.
//!
//! Tasks are in the lexicographic order of these columns. Symmetry removes some of them, so that a
//! task counts more than once:
//!
//! ```text
//!   problem       first row       second row          weight
//!   toroidal      column 0        below N/2           2 N: N translations, and a reflection
//!   superqueens   below N/2       any                 2: a reflection
//!                 (N-1)/2, N odd  any                 1
//!   completions   any             any                 1
//! ```
//!
//! A plan holds all tasks, at most 2^17 of them, in 2 MiB.

use std::ops::Range;

use crate::squares::Square;
use crate::{Prefix, Problem, Task};

/// The most rows that a task fills.
pub const MAX_ROWS: u32 = 5;

/// The most tasks of a plan.
pub const MAX_TASKS: usize = 1 << 17;

/// The number of tasks that [`suggested_rows`] aims at.
const ENOUGH_TASKS: usize = 2_000;

/// The bits of a column.
const BITS: u32 = 6;

/// The tasks of a problem: the ways to fill its first `rows` open rows, at most [`most_rows`].
/// `None` if they are more than [`MAX_TASKS`].
pub(crate) fn tasks(problem: Problem, rows: u32) -> Option<Vec<Task>> {
    let mut open = problem.open_rows();
    open.truncate(rows as usize);
    let mut filling = Filling { problem, rows: open, queens: Vec::new(), tasks: Vec::new() };
    if !problem.is_hopeless() {
        filling.fill();
    }
    (filling.tasks.len() <= MAX_TASKS).then_some(filling.tasks)
}

/// The most rows that a task of a problem fills.
pub(crate) fn most_rows(problem: Problem) -> u32 {
    MAX_ROWS.min(problem.open_rows().len() as u32)
}

/// The M to choose if the user names none: the fewest rows that give enough tasks to share.
#[must_use]
pub fn suggested_rows(problem: Problem) -> u32 {
    if problem.n() > problem.max_n() {
        return 0;
    }
    let most = most_rows(problem);
    let enough = |rows: &u32| tasks(problem, *rows).is_some_and(|it| it.len() >= ENOUGH_TASKS);
    (0..=most).find(enough).unwrap_or(most)
}

/// The queens of a task, from its first row on; `None` if the record is not a task of `problem`
/// that fills `rows` rows.
#[must_use]
pub fn queens(problem: &Problem, rows: u32, record: Prefix) -> Option<Vec<Square>> {
    let Prefix { left, down, right } = record;
    if left != 0 || right != 0 || u64::from(down) >> (BITS * rows) != 0 {
        return None;
    }
    let mut queens = Vec::with_capacity(rows as usize);
    for (i, row) in problem.open_rows().into_iter().take(rows as usize).enumerate() {
        let column = down >> (BITS * i as u32) & ((1 << BITS) - 1);
        let queen = Square { column, row };
        if column >= problem.n() || !is_free(problem, &queens, queen) {
            return None;
        }
        queens.push(queen);
    }
    Some(queens)
}

/// The record of a task with these queens, which are given from its first row on. [`queens`] reads
/// it.
#[must_use]
pub fn record(queens: impl DoubleEndedIterator<Item = Square>) -> Prefix {
    let down = queens.rev().fold(0, |columns, queen| columns << BITS | queen.column);
    Prefix { down, ..Prefix::EMPTY }
}

fn is_free(problem: &Problem, queens: &[Square], square: Square) -> bool {
    let attacks = |queen: Square| problem.attack(queen, square);
    let given_attacks = problem.given().is_some_and(|given| given.queens().any(attacks));
    !given_attacks && !queens.iter().copied().any(attacks)
}

/// A walk through all ways to fill the first rows.
struct Filling {
    problem: Problem,
    rows: Vec<u32>,
    queens: Vec<Square>,
    tasks: Vec<Task>,
}

impl Filling {
    /// Fills the rows that have no queen yet, until there are too many tasks.
    fn fill(&mut self) {
        let Some(&row) = self.rows.get(self.queens.len()) else {
            let record = record(self.queens.iter().copied());
            self.tasks.push(Task { record, weight: self.weight() as u8 });
            return;
        };
        for column in self.columns() {
            let square = Square { column, row };
            if self.tasks.len() <= MAX_TASKS && is_free(&self.problem, &self.queens, square) {
                self.queens.push(square);
                self.fill();
                self.queens.pop();
            }
        }
    }

    /// The columns to try in the next row. Of the columns that symmetry makes equal, one is tried.
    fn columns(&self) -> Range<u32> {
        let (n, depth) = (self.problem.n(), self.queens.len());
        match self.problem {
            Problem::Toroidal { .. } if depth == 0 => 0..1,
            Problem::Toroidal { .. } if depth == 1 => 0..n.div_ceil(2),
            Problem::Superqueens { .. } if depth == 0 => 0..n.div_ceil(2),
            Problem::Total { .. }
            | Problem::Fundamental { .. }
            | Problem::Toroidal { .. }
            | Problem::Superqueens { .. }
            | Problem::Completions(_) => 0..n,
        }
    }

    fn weight(&self) -> u32 {
        match self.problem {
            Problem::Toroidal { n } => match self.queens.len() {
                0 => 1,
                1 => n,
                _ => 2 * n,
            },
            Problem::Superqueens { n } => match self.queens.first() {
                Some(first) if 2 * first.column + 1 != n => 2,
                Some(_) | None => 1,
            },
            Problem::Total { .. } | Problem::Fundamental { .. } | Problem::Completions(_) => 1,
        }
    }
}
