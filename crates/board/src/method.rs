//! Methods: how a problem is cut into tasks and counted, and what each method is like.

use std::fmt;

use crate::{MAX_N, Problem, TaskKind, colours, first_rows, rows};

/// How a problem is cut and counted, with a parameter of type `P`: a [`Method`] or a
/// [`MethodChoice`].
///
/// This enum is deliberately not `#[non_exhaustive]`: every match on it must be extended for a new
/// method before the program compiles again. A new method is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodOf<P> {
    /// A task is the state after the first `rows` rows, below which the other rows are searched. Of
    /// two states that are mirror images of each other one is a task: see [`rows`].
    Rows {
        /// M, 0 to N.
        rows: P,
    },
    /// Like `Rows`, but no symmetry is removed: each way to fill the first `rows` rows is a task of
    /// weight 1.
    Prefixes {
        /// M, 0 to N.
        rows: P,
    },
    /// A task says which rows' queens stand in even columns. The placements of the queens on black
    /// squares and of those on white ones are counted apart and multiplied: see [`colours`].
    Colours,
}

/// How a problem is cut and counted.
pub type Method = MethodOf<u32>;

/// A method as a person asks for it: a parameter that is left out is chosen to suit the board, by
/// [`rows::suggested_rows`] or [`first_rows::suggested_rows`].
pub type MethodChoice = MethodOf<Option<u32>>;

impl<P: Copy> MethodOf<P> {
    /// The method's name in messages, ledgers and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MethodOf::Rows { .. } => "rows",
            MethodOf::Prefixes { .. } => "prefixes",
            MethodOf::Colours => "colours",
        }
    }

    /// The name and the value of the method's parameter, if it has one: `rows` (M).
    #[must_use]
    pub const fn parameter(self) -> Option<(&'static str, P)> {
        match self {
            MethodOf::Rows { rows } | MethodOf::Prefixes { rows } => Some(("rows", rows)),
            MethodOf::Colours => None,
        }
    }

    /// The same method with this value of its parameter. A method without a parameter ignores the
    /// value.
    #[must_use]
    pub fn with<Q>(self, parameter: Q) -> MethodOf<Q> {
        match self {
            MethodOf::Rows { .. } => MethodOf::Rows { rows: parameter },
            MethodOf::Prefixes { .. } => MethodOf::Prefixes { rows: parameter },
            MethodOf::Colours => MethodOf::Colours,
        }
    }
}

impl Method {
    /// The version of this method's order of tasks. It is part of a plan's fingerprint: a change to
    /// what an ordinal stands for must raise it, so that old partial counts are never mixed with
    /// new ones.
    #[must_use]
    pub const fn enumeration_version(self) -> u32 {
        match self {
            Method::Rows { .. } | Method::Prefixes { .. } | Method::Colours => 1,
        }
    }

    /// Whether the method can cut a whole board of size `n`: the board has at least M rows, or its
    /// size is one that `colours` can split.
    #[must_use]
    pub const fn suits(self, n: u32) -> bool {
        match self {
            Method::Rows { rows } | Method::Prefixes { rows } => rows <= n && n <= MAX_N,
            Method::Colours => colours::MIN_N <= n && n <= colours::MAX_N,
        }
    }

    /// Whether this method can cut `problem`.
    #[must_use]
    pub fn cuts(self, problem: Problem) -> bool {
        TaskKind::of(problem, self).is_some()
    }

    /// The method of that [`name`](Method::name) and value of its [`parameter`](Method::parameter),
    /// if there is such a method.
    #[must_use]
    pub fn from_name(name: &str, parameter: Option<u32>) -> Option<Method> {
        let method = MethodChoice::all().find(|choice| choice.name() == name)?;
        let has_all = method.parameter().is_some() == parameter.is_some();
        has_all.then(|| method.with(parameter.unwrap_or_default()))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Rows { rows } | Method::Prefixes { rows } => {
                write!(f, "{} M={rows}", self.name())
            }
            Method::Colours => f.write_str(self.name()),
        }
    }
}

impl MethodChoice {
    /// Every method, with every parameter left out.
    pub fn all() -> impl Iterator<Item = MethodChoice> {
        let (rows, prefixes) =
            (MethodChoice::Rows { rows: None }, MethodChoice::Prefixes { rows: None });
        [rows, prefixes, MethodChoice::Colours].into_iter()
    }

    /// The choice for a problem when nothing is asked for.
    ///
    /// For the total `colours` is at least as fast as every other method from N = 15 on, and below
    /// that every method takes milliseconds. The choice does not depend on the processor, so that
    /// all nodes of a cluster cut the same plan. Completions with many rows to fill are cut by
    /// colours, too, and other problems by rows.
    #[must_use]
    pub fn suggested(problem: Problem) -> MethodChoice {
        match problem.n() {
            15..=colours::MAX_N if problem.sums_all_placements() => MethodChoice::Colours,
            _ if Method::Colours.cuts(problem) && has_enough_open_rows(problem) => {
                MethodChoice::Colours
            }
            _ => MethodChoice::Rows { rows: None },
        }
    }

    /// The method for `problem`, with every parameter chosen.
    #[must_use]
    pub fn for_problem(self, problem: Problem) -> Method {
        let suggested = || match self {
            MethodChoice::Rows { .. } | MethodChoice::Prefixes { .. } => suggested_rows(problem),
            MethodChoice::Colours => 0,
        };
        self.with(self.asked().unwrap_or_else(suggested))
    }

    /// The parameter, if it is not left out.
    fn asked(self) -> Option<u32> {
        self.parameter()?.1
    }

    /// Whether `method` agrees with this choice: it is the same method, and it has the same
    /// parameter unless the choice leaves that out.
    #[must_use]
    pub fn allows(self, method: Method) -> bool {
        let made = method.parameter().map(|(_, made)| made);
        self.name() == method.name() && self.asked().is_none_or(|asked| made == Some(asked))
    }
}

/// Whether completions are counted by `colours` if nothing is asked for: if the rows without a
/// given queen are at least 16 more than the given queens.
///
/// The more queens are given, the sooner a search by `rows` ends. Given queens save less time by
/// `colours`, because its rows of cells are as long as on the empty board. With a difference of 16,
/// `rows` takes 0.9 to 3.1 times as long as `colours` (N = 20 to 28, processor time with AVX-512
/// and AVX2). With a difference of 14, it takes 0.4 to 0.9 times as long on most boards.
fn has_enough_open_rows(problem: Problem) -> bool {
    2 * problem.open_rows().len() >= problem.n() as usize + 16
}

/// The M to choose for a problem if the user names none.
pub(crate) fn suggested_rows(problem: Problem) -> u32 {
    if problem.sums_all_placements() {
        rows::suggested_rows(problem.n())
    } else {
        first_rows::suggested_rows(problem)
    }
}

impl fmt::Display for MethodChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.asked() {
            Some(parameter) => self.with(parameter).fmt(f),
            None => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_known_by_its_name_and_parameter() {
        for choice in MethodChoice::all() {
            let method = choice.for_problem(Problem::Total { n: 24 });
            assert_eq!(method.name(), choice.name());
            let parameter = method.parameter().map(|(_, value)| value);
            assert_eq!(Method::from_name(method.name(), parameter), Some(method));
        }
        assert_eq!(Method::from_name("guessing", Some(1)), None);
        assert_eq!(Method::from_name("rows", None), None);
        assert_eq!(Method::from_name("colours", Some(1)), None);
    }

    #[test]
    fn what_is_left_open_is_chosen_to_suit_the_board() {
        for n in 0..=MAX_N {
            let total = Problem::Total { n };
            let suggested = MethodChoice::suggested(total).for_problem(total);
            assert!(suggested.suits(n), "{suggested} of N = {n}");
            for choice in MethodChoice::all() {
                let method = choice.for_problem(total);
                if choice != MethodChoice::Colours {
                    assert!(method.suits(n), "{method} of N = {n}");
                }
                assert!(choice.allows(method));
            }
        }
        assert!(MethodChoice::Colours.allows(Method::Colours));
        assert!(!MethodChoice::Colours.allows(Method::Rows { rows: 2 }));
        let two_rows = Method::Rows { rows: 2 };
        assert!(MethodChoice::Rows { rows: Some(2) }.allows(two_rows));
        assert!(!MethodChoice::Rows { rows: Some(1) }.allows(two_rows));
        assert!(!MethodChoice::Prefixes { rows: None }.allows(two_rows));
    }

    #[test]
    fn colours_counts_completions_with_many_rows_to_fill() {
        let suggested = |n, squares: &str| {
            let queens = crate::squares::parse_squares(squares).expect("they are squares");
            MethodChoice::suggested(Problem::completions(n, &queens).expect("they stand so"))
        };
        let rows = MethodChoice::Rows { rows: None };
        assert_eq!(suggested(24, "a1,f9,l17,p6"), MethodChoice::Colours);
        assert_eq!(suggested(24, "a1,f9,l17,p6,h23"), rows);
        assert_eq!([15, 16, 32, 33].map(|n| suggested(n, "") == rows), [true, false, false, true]);
    }
}
