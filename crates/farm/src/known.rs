//! What is known of a job's counts before anybody counts them, and so what cannot be true.
//!
//! ```text
//!   a report     its count is at most tasks x the most that one task can count      or it is refused
//!   a total      it is the published value, and symmetry allows it                  or its job is suspended
//! ```
//!
//! A fact may be wrong as well: somebody may have published another number than the right one, or
//! it was copied wrongly. Therefore every fact names its source. Readers of ledgers and bundles
//! compare what they read with the same facts.

mod counts;

use std::fmt;

use board::{Census, Method, Problem, most_per_task, symmetry};

use self::counts::{COUNTS, Published};
use crate::{Plan, Range, Shard};

/// What is known of the counts of a plan, or of a shard of it, and of the time that they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Milliseconds that a thread of a slow worker takes for a task on average, by an estimate; 0
    /// if nobody knows.
    pub task_ms: u64,
    /// The most that one task contributes to the sum.
    pub most_per_task: u128,
    /// What the sum over the whole plan must satisfy; nothing for a shard.
    pub facts: Vec<Fact>,
}

/// The answer to a problem, by the sum over its whole plan. `None` if no board has such a sum, and
/// if the answer is up to a symmetry whose placements nobody has published.
pub fn answer(problem: Problem, counted: u128) -> Option<u128> {
    if !problem.counts_orbits() {
        return Some(counted);
    }
    let n = problem.n();
    // An empty board has one placement, and so has a board of one square.
    let fixed = |known: Option<Published>| match n {
        0 => Some(1),
        _ => Some(known?.value),
    };
    let (half_turn, quarter_turn) =
        fixed(COUNTS.centrosymmetric.at(n)).zip(fixed(COUNTS.quarter_turn.at(n)))?;
    Some(Census::from_counts(n, counted, half_turn, quarter_turn).ok()?.fundamental)
}

/// Something that the sum over all tasks of a problem must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Others have counted it.
    Published {
        /// What they have published.
        value: u128,
        /// Where.
        source: &'static str,
    },
    /// The symmetries of the square make orbits of eight placements, but for those that a half turn
    /// fixes: see [`board::Census`].
    Orbits {
        /// How many the half turn fixes.
        fixed: u128,
        /// Where that is published.
        source: &'static str,
    },
    /// Symmetry makes it a multiple of this number: see [`board::symmetry::divisor`].
    Multiple {
        /// More than 1.
        of: u32,
    },
}

impl Known {
    /// What is known about a shard of a plan.
    pub fn of(plan: &Plan, shard: Shard) -> Known {
        let whole = shard.is_all().then_some(plan.problem);
        Known {
            task_ms: task_ms(plan),
            most_per_task: most_per_task(plan.problem, plan.method).unwrap_or(u128::MAX),
            facts: whole.map(Fact::of).unwrap_or_default(),
        }
    }

    /// Nothing is known: every count may be true.
    pub fn nothing() -> Known {
        Known { task_ms: 0, most_per_task: u128::MAX, facts: Vec::new() }
    }

    /// Whether the tasks of this range together can have this count.
    #[must_use]
    pub fn allows(&self, range: Range, count: impl Into<u128>) -> bool {
        count.into() <= u128::from(range.len()).saturating_mul(self.most_per_task)
    }

    /// What is wrong with a total, for people; `None` if it contradicts nothing.
    #[must_use]
    pub fn contradiction(&self, total: u128) -> Option<String> {
        Fact::contradiction(&self.facts, total)
    }
}

/// Milliseconds that a thread of a slow worker takes for a task on average. It is 0 for methods
/// whose tasks are short.
///
/// By `colours`, a task of N = 28 takes 0.6 s with AVX-512 on Zen 5, and three and a half times as
/// long for each further line. Plain words take five times as long, and an older processor twice as
/// long again.
fn task_ms(plan: &Plan) -> u64 {
    let lines_beyond_28 = plan.problem.n() as i32 - 28;
    match plan.method {
        Method::Colours => (10.0 * 600.0 * 3.5_f64.powi(lines_beyond_28)) as u64,
        _ => 0,
    }
}

impl Fact {
    /// Everything that is known about the number of placements of a problem, before symmetry is
    /// applied.
    pub fn of(problem: Problem) -> Vec<Fact> {
        let n = problem.n();
        let published = |known: Option<Published>| {
            known.map(|Published { value, source }| Fact::Published { value, source })
        };
        let divisor = symmetry::divisor(&problem);
        let multiple = (divisor > 1).then_some(Fact::Multiple { of: divisor });
        let (published, symmetry) = match problem {
            Problem::Total { n } | Problem::Fundamental { n } => {
                let fixed = COUNTS.centrosymmetric.at(n).filter(|_| n >= 2);
                let orbits =
                    fixed.map(|Published { value, source }| Fact::Orbits { fixed: value, source });
                (published(COUNTS.total.at(n)), orbits.or(multiple))
            }
            Problem::Toroidal { n } => (published(COUNTS.toroidal.at(n)), multiple),
            Problem::Superqueens { n } => (published(COUNTS.superqueens.at(n)), multiple),
            Problem::Completions(given) if given.queens().next().is_none() => {
                return Fact::of(Problem::Total { n });
            }
            Problem::Completions(_) => (None, multiple),
        };
        published.into_iter().chain(symmetry).collect()
    }

    /// What is wrong with a total of which these facts are known, for people; `None` if it
    /// contradicts nothing.
    #[must_use]
    pub fn contradiction(facts: &[Fact], total: u128) -> Option<String> {
        let fact = facts.iter().find(|fact| !fact.allows(total))?;
        Some(format!("the total comes to {total}, but {fact}"))
    }

    /// Whether a total satisfies it.
    #[must_use]
    pub fn allows(&self, total: u128) -> bool {
        match *self {
            Fact::Published { value, .. } => total == value,
            Fact::Orbits { fixed, .. } => {
                total.checked_sub(fixed).is_some_and(|rest| rest.is_multiple_of(8))
            }
            Fact::Multiple { of } => total.is_multiple_of(of.into()),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Published { value, source } => {
                write!(f, "the published value is {value} ({source})")
            }
            Fact::Orbits { fixed, source } => write!(
                f,
                "all placements come in orbits of eight, except the {fixed} that a half turn leaves as they \
                 are ({source})"
            ),
            Fact::Multiple { of } => write!(f, "symmetry makes the total a multiple of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use board::{Given, MethodChoice};
    use proptest::prelude::*;
    use testkit::vectors;

    use super::*;

    /// Every total in `counts.json`, with its problem.
    fn totals() -> Vec<(Problem, u128)> {
        let totals = (0..=27).map(|n| (Problem::Total { n }, vectors::total(n)));
        let fundamental = (0..=27).map(|n| (Problem::Fundamental { n }, vectors::total(n)));
        let toroidal = (1..=32).map(|n| (Problem::Toroidal { n }, vectors::toroidal(n)));
        let superqueens = (10..=26).map(|n| (Problem::Superqueens { n }, vectors::superqueens(n)));
        totals.chain(fundamental).chain(toroidal).chain(superqueens).collect()
    }

    fn known(problem: Problem) -> Known {
        let method = MethodChoice::suggested(problem).for_problem(problem);
        Known::of(&Plan { problem, method, tasks: 1 }, Shard::ALL)
    }

    #[test]
    fn slow_workers_take_long_for_tasks_of_the_largest_boards() {
        let task_ms = |n, method| {
            Known::of(&Plan { problem: Problem::Total { n }, method, tasks: 1 }, Shard::ALL).task_ms
        };
        let by_colours = [24, 28, 30, 32].map(|n| task_ms(n, Method::Colours));
        assert_eq!(by_colours, [39, 6_000, 73_500, 900_375]);
        assert_eq!(task_ms(30, Method::Rows { rows: 6 }), 0);
    }

    #[test]
    fn every_published_total_satisfies_all_that_is_known() {
        for (problem, total) in totals() {
            assert_eq!(known(problem).contradiction(total), None, "{problem}: {total}");
        }
    }

    #[test]
    fn symmetry_alone_finds_most_errors_where_nothing_is_published() {
        let unpublished = Known {
            facts: vec![Fact::of(Problem::Total { n: 30 })[0]],
            ..known(Problem::Total { n: 30 })
        };
        assert!(matches!(unpublished.facts[..], [Fact::Orbits { .. }]), "{unpublished:?}");
        let fixed = vectors::centrosymmetric(30);
        assert_eq!(unpublished.contradiction(fixed + 8_000), None);
        for wrong in [fixed - 8, fixed + 1, fixed + 4, fixed + 8_007] {
            assert!(unpublished.contradiction(wrong).is_some(), "{wrong}");
        }
        // The total that NQueens@Home published first. It is too small by 182 x 2^32.
        let short = vectors::total(24) - (182 << 32);
        let said = known(Problem::Total { n: 24 }).contradiction(short).expect("it is wrong");
        assert!(said.contains("OEIS A000170"), "{said}");
    }

    #[test]
    fn every_fundamental_count_follows_from_the_total() {
        for n in 1..=27 {
            let of = |problem| answer(problem, vectors::total(n));
            assert_eq!(of(Problem::Fundamental { n }), Some(vectors::fundamental(n)), "{n}");
            assert_eq!(of(Problem::Total { n }), Some(vectors::total(n)), "{n}");
        }
        assert_eq!(answer(Problem::Fundamental { n: 0 }, 1), Some(1));
        let wrong = answer(Problem::Fundamental { n: 8 }, 93);
        assert_eq!(wrong, None, "no board has this count");
        // The placements that the half turn fixes make whole orbits by themselves.
        for n in 28..=32 {
            let least = vectors::centrosymmetric(n);
            assert!(answer(Problem::Fundamental { n }, least).is_some(), "{n}");
        }
    }

    #[test]
    fn a_slice_has_no_facts_and_an_empty_board_has_those_of_a_total() {
        let problem = Problem::Total { n: 14 };
        let method = MethodChoice::Rows { rows: Some(3) }.for_problem(problem);
        let plan = Plan { problem, method, tasks: 10 };
        let shard = Known::of(&plan, Shard::new(1, 2).expect("it is one"));
        assert_eq!((shard.facts.len(), shard.contradiction(42)), (0, None));
        let task = Range::new(0, 1).expect("not empty");
        assert!(!shard.allows(task, u64::MAX) && shard.allows(task, 1_000_u64));

        let empty = Given::new(8, &[]).expect("an empty board");
        let total = Fact::of(Problem::Total { n: 8 });
        assert_eq!(Fact::of(Problem::Completions(empty)), total);
    }

    proptest! {
        #[test]
        fn a_total_that_was_altered_is_found_out(at in any::<prop::sample::Index>(), other in any::<u64>()) {
            let totals = totals();
            let (problem, total) = totals[at.index(totals.len())];
            prop_assume!(total != u128::from(other));
            prop_assert!(known(problem).contradiction(other.into()).is_some());
        }
    }
}
