//! Answers as text and JSON, and totals that contradict what is known.

use board::Problem;
use count::Answer;
use farm::Fact;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Checks a total that was counted without ranges: the sum of all placements, before symmetry. It
/// fails if the total contradicts what is known.
pub(crate) fn check_total(problem: Problem, total: u128) -> Result<(), Failure> {
    let Some(reason) = Fact::contradiction(&Fact::of(problem), total) else { return Ok(()) };
    Err(Failure::total_suspended(problem, &reason, None))
}

/// The numbers besides the total as fields of a JSON object, in decimal strings.
pub(crate) fn fields(answer: &Answer) -> Map<String, Value> {
    let numbers = numbers(answer).into_iter();
    numbers.map(|(name, _, number)| (name.into(), number.to_string().into())).collect()
}

/// The numbers besides the total as a table with one line for each; empty if there are none.
pub(crate) fn table(answer: &Answer) -> String {
    let line = |(_, words, number): (&str, &str, u128)| format!("{words:<30}{number:>32}\n");
    numbers(answer).into_iter().map(line).collect()
}

fn numbers(answer: &Answer) -> Vec<(&'static str, &'static str, u128)> {
    let Some(census) = answer.census else { return Vec::new() };
    vec![
        ("counted", "before symmetry", census.total),
        ("fundamental", "up to symmetry", census.fundamental),
        ("half_turn", "fixed by the half turn", census.half_turn),
        ("quarter_turn", "fixed by the quarter turn", census.quarter_turn),
        ("orbits_of_8", "orbits of 8 boards", census.orbits_of_8),
        ("orbits_of_4", "orbits of 4 boards", census.orbits_of_4),
        ("orbits_of_2", "orbits of 2 boards", census.orbits_of_2),
        ("orbits_of_1", "orbits of 1 board", census.orbits_of_1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_that_cannot_be_right_is_no_result() {
        let problem = Problem::Total { n: 8 };
        check_total(problem, testkit::vectors::total(8)).expect("it is right");
        let failure = check_total(problem, 93).expect_err("it is wrong");
        assert_eq!(failure.code(), 17);
        let said = failure.to_string();
        assert!(said.contains("comes to 93") && said.contains("OEIS A000170"), "{said}");

        let wrong = Answer::new(Problem::Fundamental { n: 8 }, 93).expect_err("it is wrong, too");
        assert_eq!(Failure::from(wrong).code(), 14);
    }
}
