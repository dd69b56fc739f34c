//! Facts that are known about a count in advance: published totals, symmetry and bounds.
//!
//! Farms and readers of ledgers and bundles compare reports and totals with these facts. This crate
//! knows where the numbers come from. It deliberately does not know what follows from a
//! contradiction.
#![forbid(unsafe_code)]

use board::{most_per_task, symmetry};
use farm::{Fact, Known, Method, Plan, Problem, Question, Slice};

/// The known facts about a slice of a plan.
pub fn of(plan: &Plan, slice: Slice) -> Known {
    Known {
        task_ms: task_ms(plan),
        most_per_task: most_per_task(plan.problem, plan.method).unwrap_or(u128::MAX),
        facts: if slice.is_all() { facts(plan.problem) } else { Vec::new() },
        question: if slice.is_all() { question(plan.problem) } else { Question::Nothing },
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

/// The question about a problem that the sum over a plan answers.
pub fn question(problem: Problem) -> Question {
    let n = problem.n();
    if !problem.counts_orbits() {
        return Question::Placements;
    }
    // An empty board has one placement, and so has a board of one square.
    let fixed = |known: Option<vectors::Known>| match n {
        0 => Some(1),
        _ => u64::try_from(known?.value).ok(),
    };
    let half_turn = fixed(vectors::known_centrosymmetric(n));
    match (half_turn, fixed(vectors::known_quarter_turn(n))) {
        (Some(half_turn), Some(quarter_turn)) => Question::Orbits { n, half_turn, quarter_turn },
        _ => Question::Nothing,
    }
}

/// Everything that is known about the number of placements of a problem, before symmetry is
/// applied.
pub fn facts(problem: Problem) -> Vec<Fact> {
    let n = problem.n();
    let published = |known: Option<vectors::Known>| {
        known.map(|vectors::Known { value, source }| Fact::Published { value, source })
    };
    let divisor = symmetry::divisor(&problem);
    let multiple = (divisor > 1).then_some(Fact::Multiple { of: divisor });
    let (published, symmetry) = match problem {
        Problem::Total { n } | Problem::Fundamental { n } => {
            let fixed = vectors::known_centrosymmetric(n).filter(|_| n >= 2);
            let orbits =
                fixed.map(|vectors::Known { value, source }| Fact::Orbits { fixed: value, source });
            (published(vectors::known_total(n)), orbits.or(multiple))
        }
        Problem::Toroidal { n } => (published(vectors::known_toroidal(n)), multiple),
        Problem::Superqueens { n } => (published(vectors::known_superqueens(n)), multiple),
        Problem::Completions(given) if given.queens().next().is_none() => {
            return facts(Problem::Total { n });
        }
        Problem::Completions(_) => (None, multiple),
    };
    published.into_iter().chain(symmetry).collect()
}

#[cfg(test)]
mod tests {
    use board::{Given, MethodChoice};
    use proptest::prelude::*;

    use super::*;
    use farm::Range;

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
        of(&Plan { problem, method, tasks: 1 }, Slice::ALL)
    }

    #[test]
    fn slow_workers_take_long_for_tasks_of_the_largest_boards() {
        let task_ms = |n, method| {
            of(&Plan { problem: Problem::Total { n }, method, tasks: 1 }, Slice::ALL).task_ms
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
            facts: vec![facts(Problem::Total { n: 30 })[0]],
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
            let of = |problem| question(problem).answer(vectors::total(n));
            assert_eq!(of(Problem::Fundamental { n }), Some(vectors::fundamental(n)), "{n}");
            assert_eq!(of(Problem::Total { n }), Some(vectors::total(n)), "{n}");
        }
        assert_eq!(question(Problem::Fundamental { n: 0 }).answer(1), Some(1));
        assert_eq!(
            question(Problem::Fundamental { n: 8 }).answer(93),
            None,
            "no board has this count"
        );
        for n in 28..=32 {
            assert!(matches!(question(Problem::Fundamental { n }), Question::Orbits { .. }), "{n}");
        }
    }

    #[test]
    fn a_slice_has_no_facts_and_an_empty_board_has_those_of_a_total() {
        let problem = Problem::Total { n: 14 };
        let method = MethodChoice::Rows { rows: Some(3) }.for_problem(problem);
        let plan = Plan { problem, method, tasks: 10 };
        let slice = of(&plan, Slice::new(1, 2).expect("it is one"));
        assert_eq!((slice.facts.len(), slice.contradiction(42)), (0, None));
        let task = Range::new(0, 1).expect("not empty");
        assert!(!slice.allows(task, u64::MAX) && slice.allows(task, 1_000_u64));

        let empty = Given::new(8, &[]).expect("an empty board");
        let total = facts(Problem::Total { n: 8 });
        assert_eq!(facts(Problem::Completions(empty)), total);
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
