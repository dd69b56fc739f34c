//! What is known of a job's counts before anybody counts them, and so what cannot be true.
//!
//! ```text
//!   a report     its count is at most tasks x the most that one task can count      or it is refused
//!   a total      it is the published value, and symmetry allows it                  or its job is held
//! ```
//!
//! A fact may be wrong as well: somebody may have published another number than the right one, or it was
//! copied wrongly. Therefore every fact names its source.

use std::fmt;

use board::{Problem, most_per_task, symmetry};

use crate::{Plan, Range, Slice};

/// What is known of the counts of a plan, or of a slice of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Bytes without which no thread can count its tasks.
    pub thread_memory: u64,
    /// The most that one task contributes to the sum.
    pub most_per_task: u128,
    /// What the sum over the whole plan must satisfy; nothing for a slice.
    pub facts: Vec<Fact>,
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
    /// The symmetries of the square make orbits of eight placements, but for those that a half turn fixes:
    /// see [`board::Census`].
    Orbits {
        /// How many the half turn fixes.
        fixed: u128,
        /// Where that is published.
        source: &'static str,
    },
    /// Symmetry makes it a multiple of this number: see [`symmetry::divisor`].
    Multiple {
        /// More than 1.
        of: u32,
    },
}

impl Known {
    /// Nothing is known: every count may be true.
    #[must_use]
    pub fn nothing() -> Known {
        Known { thread_memory: 0, most_per_task: u128::MAX, facts: Vec::new() }
    }

    /// What is known of a slice of a plan, but for the memory that it takes. It takes no time worth mentioning.
    #[must_use]
    pub fn of(plan: &Plan, slice: Slice) -> Known {
        Known {
            thread_memory: 0,
            most_per_task: most_per_task(plan.problem, plan.method).unwrap_or(u128::MAX),
            facts: if slice.is_all() { Fact::about(plan.problem) } else { Vec::new() },
        }
    }

    /// Whether tasks of this range can count so much together.
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

impl Fact {
    /// All that is known of the number of placements of a problem, before symmetry.
    #[must_use]
    pub fn about(problem: Problem) -> Vec<Fact> {
        let n = problem.n();
        let published = |known: Option<vectors::Known>| {
            known.map(|vectors::Known { value, source }| Fact::Published { value, source })
        };
        let divisor = symmetry::divisor(&problem);
        let multiple = (divisor > 1).then_some(Fact::Multiple { of: divisor });
        let (published, symmetry) = match problem {
            Problem::Total { n } | Problem::Fundamental { n } => {
                let fixed = vectors::known_centrosymmetric(n).filter(|_| n >= 2);
                let orbits = fixed
                    .map(|vectors::Known { value, source }| Fact::Orbits { fixed: value, source });
                (published(vectors::known_total(n)), orbits.or(multiple))
            }
            Problem::Toroidal { n } => (published(vectors::known_toroidal(n)), multiple),
            Problem::Superqueens { n } => (published(vectors::known_superqueens(n)), multiple),
            Problem::Completions(given) if given.queens().next().is_none() => {
                return Fact::about(Problem::Total { n });
            }
            Problem::Completions(_) => (None, multiple),
        };
        published.into_iter().chain(symmetry).collect()
    }

    /// What is wrong with a total of which these facts are known, for people; `None` if it contradicts
    /// nothing.
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
                write!(f, "the published value is {value} ({source}, in vectors/counts.toml)")
            }
            Fact::Orbits { fixed, source } => write!(
                f,
                "all placements come in orbits of eight, except the {fixed} that a half turn leaves as they \
                 are ({source}, in vectors/counts.toml)"
            ),
            Fact::Multiple { of } => write!(f, "symmetry makes the total a multiple of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use board::{Given, MethodChoice};
    use proptest::prelude::*;

    use super::*;

    /// Every total in `vectors/`, with its problem.
    fn totals() -> Vec<(Problem, u128)> {
        let totals = (0..=27).map(|n| (Problem::Total { n }, vectors::total(n)));
        let fundamental = (0..=27).map(|n| (Problem::Fundamental { n }, vectors::total(n)));
        let toroidal = (1..=32).map(|n| (Problem::Toroidal { n }, vectors::toroidal(n)));
        let superqueens = (10..=26).map(|n| (Problem::Superqueens { n }, vectors::superqueens(n)));
        totals.chain(fundamental).chain(toroidal).chain(superqueens).collect()
    }

    fn known(problem: Problem) -> Known {
        let method = MethodChoice::suggested(problem).for_problem(problem);
        Known::of(&Plan { problem, method, tasks: 1 }, Slice::ALL)
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
            facts: vec![Fact::about(Problem::Total { n: 30 })[0]],
            ..known(Problem::Total { n: 30 })
        };
        assert!(matches!(unpublished.facts[..], [Fact::Orbits { .. }]), "{unpublished:?}");
        let fixed = vectors::centrosymmetric(30);
        assert_eq!(unpublished.contradiction(fixed + 8_000), None);
        for wrong in [fixed - 8, fixed + 1, fixed + 4, fixed + 8_007] {
            assert!(unpublished.contradiction(wrong).is_some(), "{wrong}");
        }
        // The total that NQueens@Home published first: short by 182 x 2^32.
        let short = vectors::total(24) - (182 << 32);
        let said = known(Problem::Total { n: 24 }).contradiction(short).expect("it is wrong");
        assert!(said.contains("OEIS A000170"), "{said}");
    }

    #[test]
    fn symmetry_facts_hold_for_published_totals_of_boards_that_nobody_published() {
        for (problem, total) in totals() {
            let symmetric = Fact::about(problem);
            let symmetric = symmetric.iter().filter(|fact| !matches!(fact, Fact::Published { .. }));
            symmetric.for_each(|fact| assert!(fact.allows(total), "{problem}: {total}, {fact}"));
        }
    }

    #[test]
    fn a_slice_has_a_bound_and_no_facts_and_an_empty_board_those_of_the_total() {
        let problem = Problem::Total { n: 14 };
        let method = MethodChoice::Rows { rows: Some(3) }.for_problem(problem);
        let plan = Plan { problem, method, tasks: 10 };
        let slice = Known::of(&plan, Slice::new(1, 2).expect("it is one"));
        assert_eq!((slice.facts.len(), slice.contradiction(42)), (0, None));
        let task = Range::new(0, 1).expect("not empty");
        assert!(!slice.allows(task, u64::MAX) && slice.allows(task, 1_000_u64));

        let empty = Given::new(8, &[]).expect("an empty board");
        let total = Fact::about(Problem::Total { n: 8 });
        assert_eq!(Fact::about(Problem::Completions(empty)), total);
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
