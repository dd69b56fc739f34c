//! What the sum over all tasks of a problem answers.

use anyhow::Context;
use board::Problem;
use serde_json::{Map, Value};
use solve::Census;
use solve::rotations::{half_turn, quarter_turn};

use crate::failure::Failure;

/// The answer to a problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    total: u128,
    /// Where placements are told apart by their symmetry.
    census: Option<Census>,
}

impl Answer {
    /// From the sum over all tasks. For fundamental placements it takes a search of its own, about as
    /// long as counting a board of half the size.
    pub(crate) fn new(problem: Problem, total: u128) -> Result<Answer, Failure> {
        let Problem::Fundamental { n } = problem else {
            return Ok(Answer { total, census: None });
        };
        let fixed = half_turn(n).zip(quarter_turn(n));
        let (half_turn, quarter_turn) = fixed.context("both are known to N = 32")?;
        let census = Census::from_counts(n, total, half_turn, quarter_turn);
        Ok(Answer::census(census.map_err(anyhow::Error::from)?))
    }

    /// The answer that a census is.
    pub(crate) fn census(census: Census) -> Answer {
        Answer { total: census.total, census: Some(census) }
    }

    /// The one number.
    pub(crate) fn count(&self) -> u128 {
        self.census.map_or(self.total, |census| census.fundamental)
    }

    /// The numbers beside the total as fields of a JSON object, in decimal strings.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let numbers = self.numbers().into_iter();
        numbers.map(|(name, _, number)| (name.into(), number.to_string().into())).collect()
    }

    /// The same as a table, a line for each; empty where there are none.
    pub(crate) fn table(&self) -> String {
        let line = |(_, words, number): (&str, &str, u128)| format!("{words:<30}{number:>32}\n");
        self.numbers().into_iter().map(line).collect()
    }

    fn numbers(&self) -> Vec<(&'static str, &'static str, u128)> {
        let Some(census) = self.census else { return Vec::new() };
        vec![
            ("fundamental", "up to symmetry", census.fundamental),
            ("all", "all placements", census.total),
            ("half_turn", "fixed by the half turn", census.half_turn),
            ("quarter_turn", "fixed by the quarter turn", census.quarter_turn),
            ("orbits_of_8", "orbits of 8 boards", census.orbits_of_8),
            ("orbits_of_4", "orbits of 4 boards", census.orbits_of_4),
            ("orbits_of_2", "orbits of 2 boards", census.orbits_of_2),
            ("orbits_of_1", "orbits of 1 board", census.orbits_of_1),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_counts_the_twelve_of_the_chessboard() {
        let answer = Answer::new(Problem::Fundamental { n: 8 }, 92).expect("it is the total");
        assert_eq!(answer.count(), 12);
        assert_eq!(answer.fields()["orbits_of_4"], "1");
        assert!(
            answer
                .table()
                .contains("fixed by the half turn                                      4\n")
        );
        assert!(Answer::new(Problem::Fundamental { n: 8 }, 93).is_err());
    }

    #[test]
    fn a_total_is_its_own_answer() {
        let answer = Answer::new(Problem::Total { n: 8 }, 92).expect("it needs nothing");
        assert_eq!((answer.count(), answer.table()), (92, String::new()));
        assert!(answer.fields().is_empty());
    }
}
