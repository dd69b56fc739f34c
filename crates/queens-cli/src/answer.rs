//! Answers as text and JSON, and totals that contradict what is known.

use board::Problem;
use count::Answer;
use farm::Fact;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Checks a total that was counted without ranges: the sum of all placements, before symmetry. It fails if the total
/// contradicts what is known.
pub(crate) fn check_total(problem: Problem, total: u128) -> Result<(), Failure> {
    let Some(reason) = Fact::contradiction(&known::facts(problem), total) else { return Ok(()) };
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
    fn the_census_of_the_chessboard_is_a_table_and_json() {
        let eight = Problem::Fundamental { n: 8 };
        let answer = Answer::new(eight, 92).expect("it is the total");
        assert_eq!(fields(&answer)["orbits_of_4"], "1");
        let table = table(&answer);
        let line = table.lines().find(|line| line.starts_with("fixed by the half turn "));
        assert!(line.expect("there is such a line").ends_with(" 4"), "{table}");
        let wrong = Answer::new(eight, 93).expect_err("it is not the total");
        assert_eq!(Failure::from(wrong).code(), 14);
    }

    #[test]
    fn a_total_has_nothing_beside_it() {
        let answer = Answer::new(Problem::Total { n: 8 }, 92).expect("it needs nothing");
        assert!(table(&answer).is_empty() && fields(&answer).is_empty());
    }

    #[test]
    fn a_total_that_cannot_be_right_is_no_result() {
        let problem = Problem::Total { n: 8 };
        check_total(problem, vectors::total(8)).expect("it is right");
        let failure = check_total(problem, 93).expect_err("it is wrong");
        assert_eq!(failure.code(), 17);
        let said = failure.to_string();
        assert!(said.contains("comes to 93") && said.contains("OEIS A000170"), "{said}");
    }
}
