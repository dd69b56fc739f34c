//! Measures each algorithm on each board, and decides what is left out.

use std::collections::HashSet;

use board::Problem;

use super::algorithm::{Algorithm, Found};
use super::stopwatch::Stopwatch;
use crate::failure::Failure;
use crate::held::check_total;

/// The outcome of one algorithm on one board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) n: u32,
    pub(super) algorithm: Algorithm,
    pub(super) outcome: Outcome,
}

/// A measured count, or the reason that there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Counted { found: Found, seconds: f64 },
    LeftOut(Why),
}

/// Why a board was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The method cannot cut the board.
    Unsuited,
    /// The board is above the algorithm's usual limit.
    TooLarge,
    /// A smaller board took too long.
    TooSlow,
    /// The states, or the lists of `halves`, do not fit into the memory.
    Memory,
}

impl Why {
    pub(super) fn words(self) -> &'static str {
        match self {
            Why::Unsuited => "no such cut",
            Why::TooLarge => "left out without --all",
            Why::TooSlow => "left out by --seconds",
            Why::Memory => "left out by --memory",
        }
    }
}

/// The algorithms to compare, and their limits.
pub(super) struct Contest<'a> {
    algorithms: &'a [Algorithm],
    seconds: f64,
    all: bool,
    memory: u64,
    /// Algorithms that took too long.
    slow: HashSet<Algorithm>,
}

impl Contest<'_> {
    pub(super) fn new(
        algorithms: &[Algorithm],
        seconds: f64,
        all: bool,
        memory: u64,
    ) -> Contest<'_> {
        Contest { algorithms, seconds, all, memory, slow: HashSet::new() }
    }

    /// Lets all algorithms count a board, in turn. Boards must come in ascending order.
    ///
    /// # Errors
    ///
    /// [`Failure::Disagreement`], if two algorithms find different totals, and [`Failure::TotalHeld`], if
    /// they agree on one that cannot be right.
    pub(super) fn board(&mut self, n: u32) -> Result<Vec<Line>, Failure> {
        let algorithms = self.algorithms.iter();
        let line = |&algorithm| Ok(Line { n, algorithm, outcome: self.outcome(n, algorithm)? });
        let lines = algorithms.map(line).collect::<Result<Vec<Line>, Failure>>()?;
        agree(&lines)?;
        Ok(lines)
    }

    fn outcome(&mut self, n: u32, algorithm: Algorithm) -> Result<Outcome, Failure> {
        let why = match () {
            () if self.slow.contains(&algorithm) => Why::TooSlow,
            () if !self.all && n > algorithm.usual_limit() => Why::TooLarge,
            () => match best(n, algorithm, self.memory) {
                Ok(Some((found, seconds))) => {
                    if seconds > self.seconds {
                        self.slow.insert(algorithm);
                    }
                    return Ok(Outcome::Counted { found, seconds });
                }
                Ok(None) => Why::Unsuited,
                Err(Failure::States(_) | Failure::Memory(_)) => Why::Memory,
                Err(failure) => return Err(failure),
            },
        };
        Ok(Outcome::LeftOut(why))
    }
}

/// The shortest processor time of several runs, because the first run is often slow. Only a run that takes
/// longer than a second is not repeated.
fn best(n: u32, algorithm: Algorithm, memory: u64) -> Result<Option<(Found, f64)>, Failure> {
    const ENOUGH_SECONDS: f64 = 0.02;
    const MOST_SECONDS: f64 = 1.0;
    const LEAST_RUNS: u32 = 3;
    const MOST_RUNS: u32 = 20;
    let (mut best, mut all) = (f64::INFINITY, 0.0);
    let mut runs = 0;
    loop {
        let watch = Stopwatch::start();
        let Some(found) = algorithm.count(n, memory)? else { return Ok(None) };
        let seconds = watch.elapsed().as_secs_f64();
        best = seconds.min(best);
        all += seconds;
        runs += 1;
        let enough = all > ENOUGH_SECONDS && runs >= LEAST_RUNS;
        if enough || all > MOST_SECONDS || runs == MOST_RUNS {
            return Ok(Some((found, best)));
        }
    }
}

/// Checks that all algorithms that counted a board found the same total, and that it contradicts nothing that
/// is known.
fn agree(lines: &[Line]) -> Result<(), Failure> {
    let mut totals = lines.iter().filter_map(|line| match line.outcome {
        Outcome::Counted { found, .. } => Some((line.n, line.algorithm, found.total)),
        Outcome::LeftOut(_) => None,
    });
    let Some((n, first, total)) = totals.next() else { return Ok(()) };
    match totals.find(|&(.., other)| other != total) {
        None => check_total(Problem::Total { n }, total),
        Some((_, other, others)) => Err(Failure::Disagreement {
            n,
            counts: [(first.name(), total), (other.name(), others)],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(algorithm: Algorithm, total: u128) -> Line {
        let found = Found { total, nodes: None };
        Line { n: 8, algorithm, outcome: Outcome::Counted { found, seconds: 1.0 } }
    }

    #[test]
    fn totals_that_differ_are_an_error_of_this_machine() {
        let left_out =
            Line { n: 8, algorithm: Algorithm::States, outcome: Outcome::LeftOut(Why::Memory) };
        let right = counted(Algorithm::Masks, 92);
        agree(&[left_out, right, counted(Algorithm::Rows, 92)]).expect("the same");
        agree(&[left_out]).expect("nobody counted");
        let both_wrong = [counted(Algorithm::Masks, 93), counted(Algorithm::Rows, 93)];
        assert_eq!(agree(&both_wrong).map_err(|failure| failure.code()), Err(17));

        let failure = agree(&[right, left_out, counted(Algorithm::Rows, 93)]).expect_err("not so");
        assert_eq!(failure.code(), 14);
        let said = failure.to_string();
        assert!(said.contains("N = 8: masks counts 92, and rows 93"), "{said}");
    }

    #[test]
    fn who_took_too_long_is_left_out_for_larger_boards() {
        let algorithms = [Algorithm::Direct, Algorithm::Rows];
        let mut contest = Contest::new(&algorithms, 0.0, false, 0);
        let first = contest.board(6).expect("it counts");
        assert!(first.iter().all(|line| matches!(line.outcome, Outcome::Counted { .. })));
        let second = contest.board(7).expect("it counts");
        let slow = |line: &Line| matches!(line.outcome, Outcome::LeftOut(Why::TooSlow));
        assert!(second.iter().all(slow), "{second:?}");
    }
}
