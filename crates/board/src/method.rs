//! How a board is cut into tasks, whatever the method.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use crate::first_rows::{self, FirstRowsError, FirstRowsPlan, MAX_ROWS};
use crate::halves::{self, HalvesError, HalvesPlan};
use crate::ring::{RingError, RingPlan, suggested_width};
use crate::rows::{RowsError, RowsPlan, suggested_rows};
use crate::{Problem, Tasks};

/// How a problem is cut and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// A task is the state after the first `rows` rows; the rest is searched (the seed design).
    Rows {
        /// M, 0 to N.
        rows: u32,
    },
    /// A task has all queens of the outermost `width` rows and columns on each side; the rest is
    /// searched, and all eight symmetries are removed.
    Ring {
        /// 1 or 2.
        width: u32,
    },
    /// A task has the columns of the upper half's queens; upper and lower half-boards are listed
    /// and joined, and no solution is visited.
    Halves,
}

impl Method {
    /// The method's name in messages, ledgers and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Method::Rows { .. } => "rows",
            Method::Ring { .. } => "ring",
            Method::Halves => "halves",
        }
    }

    /// The name and the value of what the method is told, if anything: `rows` (M), or `width`.
    #[must_use]
    pub const fn parameter(self) -> Option<(&'static str, u32)> {
        match self {
            Method::Rows { rows } => Some(("rows", rows)),
            Method::Ring { width } => Some(("width", width)),
            Method::Halves => None,
        }
    }

    /// The version of this method's order of tasks. It is part of a plan's fingerprint: a change to what
    /// an ordinal stands for must raise it, so that old partial counts are never mixed with new ones.
    #[must_use]
    pub const fn enumeration_version(self) -> u32 {
        match self {
            Method::Rows { .. } | Method::Ring { .. } => 1,
            Method::Halves => 3,
        }
    }

    /// Whether a board of size `n` has as many rows, or rings, or can be split.
    #[must_use]
    pub const fn suits(self, n: u32) -> bool {
        match self {
            Method::Rows { rows } => rows <= n,
            Method::Ring { width } => width >= 1 && width <= 2 && 2 * width <= n,
            Method::Halves => n >= halves::MIN_N && n <= halves::MAX_N,
        }
    }

    /// The method of that [`name`](Method::name) and value of its [`parameter`](Method::parameter),
    /// if there is such a method.
    #[must_use]
    pub fn from_name(name: &str, parameter: Option<u32>) -> Option<Method> {
        match (name, parameter) {
            ("rows", Some(rows)) => Some(Method::Rows { rows }),
            ("ring", Some(width)) => Some(Method::Ring { width }),
            ("halves", None) => Some(Method::Halves),
            _ => None,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Rows { rows } => write!(f, "rows M={rows}"),
            Method::Ring { width } => write!(f, "ring width={width}"),
            Method::Halves => f.write_str("halves"),
        }
    }
}

/// A method as a person asks for it: what is left out is chosen to suit the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodChoice {
    /// [`Method::Rows`].
    Rows {
        /// M, or [`suggested_rows`].
        rows: Option<u32>,
    },
    /// [`Method::Ring`].
    Ring {
        /// The width, or [`suggested_width`].
        width: Option<u32>,
    },
    /// [`Method::Halves`].
    Halves,
}

impl MethodChoice {
    /// What is chosen for a problem where nothing is asked for.
    ///
    /// For the total `halves` wins from N = 16 on, and is chosen as far as it goes; below that every
    /// method takes milliseconds. Other problems are cut by rows.
    #[must_use]
    pub const fn suggested(problem: Problem) -> MethodChoice {
        let (Problem::Total { n } | Problem::Fundamental { n }) = problem else {
            return MethodChoice::Rows { rows: None };
        };
        match n {
            0..=15 => MethodChoice::Rows { rows: None },
            16..=halves::MAX_N => MethodChoice::Halves,
            _ => MethodChoice::Ring { width: None },
        }
    }

    /// The method, with everything chosen, for `problem`.
    #[must_use]
    pub fn for_problem(self, problem: Problem) -> Method {
        let n = problem.n();
        let suggested_rows = || match problem {
            Problem::Total { .. } | Problem::Fundamental { .. } => suggested_rows(n),
            _ => first_rows::suggested_rows(problem),
        };
        match self {
            MethodChoice::Rows { rows } => {
                Method::Rows { rows: rows.unwrap_or_else(suggested_rows) }
            }
            MethodChoice::Ring { width } => {
                Method::Ring { width: width.unwrap_or_else(|| suggested_width(n)) }
            }
            MethodChoice::Halves => Method::Halves,
        }
    }

    /// Whether `method` is one that was asked for.
    #[must_use]
    pub fn allows(self, method: Method) -> bool {
        match (self, method) {
            (MethodChoice::Rows { rows }, Method::Rows { rows: made }) => {
                rows.is_none_or(|rows| rows == made)
            }
            (MethodChoice::Ring { width }, Method::Ring { width: made }) => {
                width.is_none_or(|width| width == made)
            }
            (MethodChoice::Halves, Method::Halves) => true,
            _ => false,
        }
    }
}

impl fmt::Display for MethodChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MethodChoice::Rows { rows: Some(rows) } => Method::Rows { rows }.fmt(f),
            MethodChoice::Rows { rows: None } => f.write_str("rows"),
            MethodChoice::Ring { width: Some(width) } => Method::Ring { width }.fmt(f),
            MethodChoice::Ring { width: None } => f.write_str("ring"),
            MethodChoice::Halves => Method::Halves.fmt(f),
        }
    }
}

/// A board cut into tasks: any of them, by ordinal. It is an index of at most a few MB, however
/// many tasks there are.
#[derive(Clone, Debug)]
pub enum Cut {
    /// By prefixes.
    Rows(RowsPlan),
    /// By preplacements.
    Ring(RingPlan),
    /// By splits.
    Halves(HalvesPlan),
    /// By the first rows, where a state does not tell enough.
    FirstRows(FirstRowsPlan),
}

/// Why a board cannot be cut so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub enum CutError {
    /// By prefixes.
    Rows(#[from] RowsError),
    /// By preplacements.
    Ring(#[from] RingError),
    /// By splits.
    Halves(#[from] HalvesError),
    /// By the first rows.
    FirstRows(#[from] FirstRowsError),
}

impl Cut {
    /// Cuts a problem. May take seconds for the largest numbers of tasks: it counts them.
    ///
    /// # Errors
    ///
    /// [`CutError`] where the method cannot cut this problem, or not so.
    pub fn new(problem: Problem, method: Method) -> Result<Cut, CutError> {
        let (Problem::Total { n } | Problem::Fundamental { n }) = problem else {
            return match method {
                Method::Rows { rows } => Ok(Cut::FirstRows(FirstRowsPlan::new(problem, rows)?)),
                Method::Ring { .. } | Method::Halves => {
                    Err(FirstRowsError::Method { problem, method, most: MAX_ROWS }.into())
                }
            };
        };
        Ok(match method {
            Method::Rows { rows } => Cut::Rows(RowsPlan::new(n, rows)?),
            Method::Ring { width } => Cut::Ring(RingPlan::new(n, width)?),
            Method::Halves => Cut::Halves(HalvesPlan::new(n)?),
        })
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Cut::Rows(plan) => plan.len(),
            Cut::Ring(plan) => plan.len(),
            Cut::Halves(plan) => plan.len(),
            Cut::FirstRows(plan) => plan.len(),
        }
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the tasks whose ordinals are in `range` to `out`, in order.
    ///
    /// # Panics
    ///
    /// If `range` passes [`len`](Cut::len), or starts after its end.
    pub fn fill(&self, range: Range<u64>, out: &mut Tasks) {
        match self {
            Cut::Rows(plan) => plan.fill(range, out),
            Cut::Ring(plan) => plan.fill(range, out),
            Cut::Halves(plan) => plan.fill(range, out),
            Cut::FirstRows(plan) => plan.fill(range, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_N;

    #[test]
    fn a_method_is_known_by_its_name_and_parameter() {
        for method in [Method::Rows { rows: 7 }, Method::Ring { width: 2 }, Method::Halves] {
            let parameter = method.parameter().map(|(_, value)| value);
            assert_eq!(Method::from_name(method.name(), parameter), Some(method));
        }
        assert_eq!(Method::from_name("guessing", Some(1)), None);
        assert_eq!(Method::from_name("rows", None), None);
        assert_eq!(Method::from_name("halves", Some(1)), None);
    }

    #[test]
    fn what_suits_a_board_can_be_cut_and_nothing_else() {
        for n in 0..=8 {
            let rows = (0..=9).map(|rows| Method::Rows { rows });
            let rings = (0..=4).map(|width| Method::Ring { width });
            for method in rows.chain(rings) {
                assert_eq!(
                    Cut::new(Problem::Total { n }, method).is_ok(),
                    method.suits(n),
                    "{method} of N = {n}"
                );
            }
        }
        for n in 0..=33 {
            assert_eq!(
                Cut::new(Problem::Total { n }, Method::Halves).is_ok(),
                Method::Halves.suits(n),
                "N = {n}"
            );
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
                let ring = MethodChoice::Ring { width: None };
                for choice in
                    [MethodChoice::suggested(problem), MethodChoice::Rows { rows: None }, ring]
                {
                    let method = choice.for_problem(problem);
                    assert!(!problem.suits(method), "{problem} by {method}");
                    assert!(Cut::new(problem, method).is_err(), "{problem} by {method}");
                }
            }
        }
    }

    #[test]
    fn what_is_left_open_is_chosen_to_suit_the_board() {
        for n in 0..=MAX_N {
            let ring = MethodChoice::Ring { width: None };
            let total = Problem::Total { n };
            for choice in [MethodChoice::suggested(total), MethodChoice::Rows { rows: None }, ring]
            {
                let method = choice.for_problem(total);
                assert!(method.suits(n) || choice == ring && n < 2, "{method} of N = {n}");
                assert!(choice.allows(method));
            }
        }
        assert!(MethodChoice::Halves.allows(Method::Halves));
        assert!(!MethodChoice::Halves.allows(Method::Rows { rows: 2 }));
        let two_rows = Method::Rows { rows: 2 };
        assert!(MethodChoice::Rows { rows: Some(2) }.allows(two_rows));
        assert!(!MethodChoice::Rows { rows: Some(1) }.allows(two_rows));
        assert!(!MethodChoice::Ring { width: None }.allows(two_rows));
    }
}
