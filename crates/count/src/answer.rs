//! The answer to a problem, from the sum over its tasks.

use board::{Census, CensusError, Problem};
use thiserror::Error;

use crate::rotations::{
    FIXED_BY_RULES_MAX, HALF_TURN_MAX, fixed_by_rules, half_turn, quarter_turn,
};

/// The answer to a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Answer {
    /// The sum over all tasks: the number of placements, before symmetry.
    pub placements: u128,
    /// The placements by their symmetry, for a problem that counts orbits.
    pub census: Option<Census>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The placements that rotations fix are not counted on a board so large.
    #[error(
        "a board of size {n}: placements that rotations fix are counted for sizes from 0 to {most}"
    )]
    BoardTooLarge {
        /// The size of the board.
        n: u32,
        /// The largest one of this problem.
        most: u32,
    },
    /// Not all symmetries keep the given queens in place.
    #[error("completions are not counted up to symmetry: count them one by one")]
    Completions,
    /// The sum is not that of the problem.
    #[error(transparent)]
    Census(#[from] CensusError),
}

impl Answer {
    /// The answer to `problem`, whose tasks have the sum `placements`. For a problem that counts orbits
    /// it searches for the placements that rotations fix: see [`Answering::new`].
    ///
    /// ```
    /// use queens_count::{Answer, board::Problem};
    ///
    /// assert_eq!(Answer::new(Problem::Total { n: 8 }, 92)?.count(), 92);
    /// assert_eq!(Answer::new(Problem::Fundamental { n: 8 }, 92)?.count(), 12);
    /// # Ok::<(), queens_count::AnswerError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AnswerError`], if the board is too large or the sum is wrong.
    pub fn new(problem: Problem, placements: u128) -> Result<Answer, AnswerError> {
        Answering::new(problem)?.answer(placements)
    }

    /// The one number that answers the problem: the orbits if it counts orbits, the placements otherwise.
    #[must_use]
    pub fn count(&self) -> u128 {
        self.census.map_or(self.placements, |census| census.fundamental)
    }
}

impl From<Census> for Answer {
    fn from(census: Census) -> Answer {
        Answer { placements: census.total, census: Some(census) }
    }
}

/// What the answer to a problem needs beside the sum over its tasks. It can be found before the tasks
/// are counted, or while they are.
#[derive(Clone, Copy, Debug)]
pub struct Answering {
    problem: Problem,
    /// The numbers of placements that the half turn and the quarter turn fix, for a problem that counts
    /// orbits.
    fixed: Option<(u128, u128)>,
}

impl Answering {
    /// Searches for the placements that rotations fix, if the problem counts orbits. That takes some
    /// seconds at N = 26, and ten times as long for every second N beyond. Other problems need nothing.
    ///
    /// # Errors
    ///
    /// [`AnswerError::BoardTooLarge`].
    pub fn new(problem: Problem) -> Result<Answering, AnswerError> {
        if problem.counts_orbits() {
            Answering::up_to_symmetry(problem)
        } else {
            Ok(Answering { problem, fixed: None })
        }
    }

    /// Searches for the placements that rotations fix, so that the answer is the number of orbits under the eight
    /// symmetries of the square, also for tori and superqueens. For these it takes seconds at N = 20. Translations of a
    /// torus are not among the eight.
    ///
    /// ```
    /// use queens_count::{Answering, board::Problem};
    ///
    /// let tori = Answering::up_to_symmetry(Problem::Toroidal { n: 7 })?;
    /// assert_eq!(tori.answer(28)?.count(), 4);
    /// # Ok::<(), queens_count::AnswerError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AnswerError::BoardTooLarge`], and [`AnswerError::Completions`].
    pub fn up_to_symmetry(problem: Problem) -> Result<Answering, AnswerError> {
        let n = problem.n();
        let (most, fixed) = match problem {
            Problem::Total { n } | Problem::Fundamental { n } => {
                (HALF_TURN_MAX, half_turn(n).zip(quarter_turn(n)))
            }
            Problem::Toroidal { .. } | Problem::Superqueens { .. } => {
                (FIXED_BY_RULES_MAX, fixed_by_rules(&problem))
            }
            Problem::Completions(_) => return Err(AnswerError::Completions),
        };
        Ok(Answering { problem, fixed: Some(fixed.ok_or(AnswerError::BoardTooLarge { n, most })?) })
    }

    /// The answer, where the problem's tasks have the sum `placements`.
    ///
    /// # Errors
    ///
    /// [`AnswerError::Census`], if the placements do not make whole orbits, so that the sum is wrong.
    pub fn answer(self, placements: u128) -> Result<Answer, AnswerError> {
        Ok(match self.fixed {
            Some((half_turn, quarter_turn)) => {
                let n = self.problem.n();
                Census::from_counts(n, placements, half_turn, quarter_turn)?.into()
            }
            None => Answer { placements, census: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_its_own_answer() {
        let answer = Answer::new(Problem::Total { n: 8 }, 92).expect("it needs nothing");
        assert_eq!((answer.count(), answer.census), (92, None));
    }

    #[test]
    fn the_chessboard_has_twelve_orbits_and_a_wrong_total_none() {
        let chessboard = Problem::Fundamental { n: 8 };
        let answer = Answer::new(chessboard, 92).expect("it is the total");
        assert_eq!((answer.count(), answer.placements), (12, 92));
        assert!(matches!(Answer::new(chessboard, 93), Err(AnswerError::Census(_))));
    }

    #[test]
    fn a_board_that_is_too_large_has_no_answer() {
        let too_large = Answer::new(Problem::Fundamental { n: 33 }, 0);
        assert_eq!(too_large, Err(AnswerError::BoardTooLarge { n: 33, most: 32 }));
    }
}
