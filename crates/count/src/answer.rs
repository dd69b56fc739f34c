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

/// The reason why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The board is too large to count the placements that rotations fix.
    #[error(
        "a board of size {n}: placements that rotations fix are counted for sizes from 0 to {most}"
    )]
    BoardTooLarge {
        /// The size of the board.
        n: u32,
        /// The size of the largest board that is possible for this problem.
        most: u32,
    },
    /// Not all symmetries keep the given queens in place.
    #[error("completions are not counted up to symmetry: count them one by one")]
    Completions,
    /// The sum is not possible for the problem.
    #[error(transparent)]
    Census(#[from] CensusError),
}

impl Answer {
    /// The answer to `problem`, if the counts of its tasks have the sum `placements`. For a problem
    /// that counts orbits, it searches for the placements that rotations fix, which takes some
    /// seconds at N = 26, and ten times as long each time that N grows by two.
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
    /// [`AnswerError`] if the board is too large or the sum is wrong.
    pub fn new(problem: Problem, placements: u128) -> Result<Answer, AnswerError> {
        Answering::new(problem, problem.counts_orbits())?.answer(placements)
    }

    /// The single number that answers the problem: the number of orbits if it counts orbits, and
    /// otherwise the number of placements.
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

/// The numbers that the answer to a problem needs in addition to the sum over its tasks. They can
/// be found before the tasks are counted, or at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Answering {
    problem: Problem,
    /// The numbers of placements that the half turn and the quarter turn fix, if the answer is up
    /// to symmetry.
    fixed: Option<(u128, u128)>,
}

impl Answering {
    /// Finds what the answer to `problem` needs besides the sum. If the answer is to be
    /// `up_to_symmetry`, it is the number of orbits under the eight symmetries of the square, and
    /// the placements that rotations fix are searched for. This also works for tori and
    /// superqueens, for which the search takes seconds at N = 20. The translations of a torus are
    /// not among the eight symmetries.
    ///
    /// ```
    /// use queens_count::{Answering, board::Problem};
    ///
    /// let tori = Answering::new(Problem::Toroidal { n: 7 }, true)?;
    /// assert_eq!(tori.answer(28)?.count(), 4);
    /// # Ok::<(), queens_count::AnswerError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AnswerError::BoardTooLarge`] and [`AnswerError::Completions`].
    pub fn new(problem: Problem, up_to_symmetry: bool) -> Result<Answering, AnswerError> {
        if !up_to_symmetry {
            return Ok(Answering { problem, fixed: None });
        }
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

    /// The answer, if the counts of the problem's tasks have the sum `placements`.
    ///
    /// # Errors
    ///
    /// [`AnswerError::Census`] if the placements do not make whole orbits. The sum is then wrong.
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
