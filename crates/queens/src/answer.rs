//! What the sum over all tasks of a problem answers.

use anyhow::Context;
use board::Problem;
use serde_json::{Map, Value};
use solve::Census;
use solve::rotations::{half_turn, quarter_turn};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::failure::Failure;

/// What an answer takes beside the total: how many placements rotations leave as they are.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    half_turn: u128,
    quarter_turn: u128,
}

impl Fixed {
    /// By searches of their own, for fundamental placements; other problems need nothing. It takes some
    /// seconds at N = 26, and ten times as long with every second N.
    fn of(problem: Problem) -> Result<Fixed, Failure> {
        let Problem::Fundamental { n } = problem else {
            return Ok(Fixed { half_turn: 0, quarter_turn: 0 });
        };
        let fixed = half_turn(n).zip(quarter_turn(n));
        let (half_turn, quarter_turn) = fixed.context("both are known to N = 32")?;
        Ok(Fixed { half_turn, quarter_turn })
    }

    fn answer(self, problem: Problem, total: u128) -> Result<Answer, Failure> {
        let Problem::Fundamental { n } = problem else {
            return Ok(Answer { total, census: None });
        };
        let census = Census::from_counts(n, total, self.half_turn, self.quarter_turn);
        Ok(Answer::census(census?))
    }
}

/// An answer on its way: what it takes is searched beside the count, by a thread of its own.
pub(crate) struct Answering {
    problem: Problem,
    fixed: JoinHandle<Result<Fixed, Failure>>,
}

impl Answering {
    /// Begins the search. Nothing waits for it if it is dropped.
    pub(crate) fn begin(problem: Problem) -> Answering {
        Answering { problem, fixed: spawn_blocking(move || Fixed::of(problem)) }
    }

    /// The answer, from the sum over all tasks.
    pub(crate) async fn of(self, total: u128) -> Result<Answer, Failure> {
        let fixed = self.fixed.await.map_err(anyhow::Error::from)??;
        fixed.answer(self.problem, total)
    }
}

/// The answer to a problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    total: u128,
    /// Where placements are told apart by their symmetry.
    census: Option<Census>,
}

impl Answer {
    /// From the sum over all tasks, with whatever that takes searched first.
    pub(crate) fn of(problem: Problem, total: u128) -> Result<Answer, Failure> {
        Fixed::of(problem)?.answer(problem, total)
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
        let eight = Problem::Fundamental { n: 8 };
        let census = Answer::of(eight, 92).expect("it is the total");
        assert_eq!(census.count(), 12);
        assert_eq!(census.fields()["orbits_of_4"], "1");
        let table = census.table();
        let line = table.lines().find(|line| line.starts_with("fixed by the half turn "));
        assert!(line.expect("there is such a line").ends_with(" 4"), "{table}");
        assert_eq!(Answer::of(eight, 93).expect_err("it is not").code(), 14);
    }

    #[test]
    fn a_total_is_its_own_answer() {
        let answer = Answer::of(Problem::Total { n: 8 }, 92).expect("it needs nothing");
        assert_eq!((answer.count(), answer.table()), (92, String::new()));
        assert!(answer.fields().is_empty());
    }
}
