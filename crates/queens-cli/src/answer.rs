//! Answers as text and JSON, and the search that an answer may need besides the count.

use board::Problem;
use count::{Answer, AnswerError};
use serde_json::{Map, Value};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::failure::Failure;

/// An answer in preparation. A thread of its own searches what the answer needs besides the total.
pub(crate) struct Answering {
    search: JoinHandle<Result<count::Answering, AnswerError>>,
}

impl Answering {
    /// Begins the search for the answer, up to symmetry where `counts_orbits` is set. If the value is dropped, nothing
    /// waits for the search.
    pub(crate) fn begin(problem: Problem, counts_orbits: bool) -> Answering {
        let prepare = move || match counts_orbits {
            true => count::Answering::up_to_symmetry(problem),
            false => count::Answering::new(problem),
        };
        Answering { search: spawn_blocking(prepare) }
    }

    /// The answer that follows from the sum over all tasks.
    ///
    /// # Errors
    ///
    /// [`Failure::Miscounted`], if the sum cannot be right.
    pub(crate) async fn of(self, total: u128) -> Result<Answer, Failure> {
        let found = self.search.await.map_err(anyhow::Error::from)??;
        Ok(found.answer(total)?)
    }
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
}
