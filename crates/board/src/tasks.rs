//! Tasks, and what their records hold.

use crate::{Method, Prefix, Problem, first_rows};

/// What the record of a task holds. It [follows](TaskKind::of) from the problem and the method.
///
/// Like [`Problem`], it is deliberately not `#[non_exhaustive]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// The state below the first `rows` rows, three masks: a [`Prefix`].
    Prefix {
        /// M.
        rows: u32,
    },
    /// The rows whose queens stand in even columns: a [`Split`](crate::colours::Split).
    Colours,
    /// The columns of the queens in the first rows without a given queen: see
    /// [`first_rows`].
    FirstRows {
        /// M.
        rows: u32,
    },
}

impl TaskKind {
    /// What the tasks of `problem` are if it is cut by `method`; `None` if it cannot be cut so. The
    /// total is cut in every way, other problems by their first rows, and completions also by
    /// colours.
    #[must_use]
    pub fn of(problem: Problem, method: Method) -> Option<TaskKind> {
        if problem.sums_all_placements() {
            let kind = match method {
                Method::Rows { rows } | Method::Prefixes { rows } => TaskKind::Prefix { rows },
                Method::Colours => TaskKind::Colours,
            };
            return method.suits(problem.n()).then_some(kind);
        }
        match method {
            Method::Rows { rows } => {
                let fits = problem.n() <= problem.max_n() && rows <= first_rows::most_rows(problem);
                fits.then_some(TaskKind::FirstRows { rows })
            }
            Method::Colours => {
                let fits = problem.given().is_some() && method.suits(problem.n());
                fits.then_some(TaskKind::Colours)
            }
            Method::Prefixes { .. } => None,
        }
    }
}

/// A task of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// What the task fixes of the board, in three words. [`TaskKind`] lists what these hold.
    pub record: Prefix,
    /// How many boards one completion of the task stands for.
    pub weight: u8,
}
