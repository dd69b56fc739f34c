//! Measures each algorithm on each board, and decides which ones are left out.

use std::collections::HashSet;

use executor::Stopwatch;

use super::algorithm::{Algorithm, Found, Why};

/// The outcome of one algorithm on one board.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The size of the board.
    pub n: u32,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its result, or the reason that there is none.
    pub outcome: Result<Measured, Why>,
}

/// A measured count.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The result.
    pub found: Found,
    /// Processor time, the least of several runs.
    pub seconds: f64,
    /// The longest processor time of these runs.
    pub slowest: f64,
}

/// Two algorithms find different totals.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}: this machine miscounts, or this program has a fault; do not trust it with counting before its memory and \
     cooling are checked, and report this"
)]
pub struct Disagreement(String);

/// The algorithms to compare, and their limits.
#[derive(Debug)]
pub struct Contest<'a> {
    algorithms: &'a [Algorithm],
    seconds: f64,
    all: bool,
    memory: u64,
    /// Algorithms that took too long.
    slow: HashSet<&'static str>,
}

impl Contest<'_> {
    /// A contest in which an algorithm is left out for larger boards once it takes longer than
    /// `seconds`. An algorithm that keeps states may take `memory` bytes. With `all`, boards above
    /// an algorithm's usual limit are counted, too.
    pub fn new(algorithms: &[Algorithm], seconds: f64, all: bool, memory: u64) -> Contest<'_> {
        Contest { algorithms, seconds, all, memory, slow: HashSet::new() }
    }

    /// Counts a board with each algorithm in turn, and fails if one of them does. Boards must come
    /// in ascending order, because an algorithm that was too slow is left out from then on.
    pub fn board(&mut self, n: u32) -> anyhow::Result<Vec<Line>> {
        let algorithms = self.algorithms.iter();
        let line = |&algorithm| Ok(Line { n, algorithm, outcome: self.outcome(n, algorithm)? });
        algorithms.map(line).collect()
    }

    fn outcome(&mut self, n: u32, algorithm: Algorithm) -> anyhow::Result<Result<Measured, Why>> {
        if self.slow.contains(algorithm.name) {
            return Ok(Err(Why::TooSlow));
        }
        if !self.all && n > algorithm.usual_limit {
            return Ok(Err(Why::TooLarge));
        }
        let outcome = best(n, algorithm, self.memory)?;
        if outcome.is_ok_and(|measured| measured.seconds > self.seconds) {
            self.slow.insert(algorithm.name);
        }
        Ok(outcome)
    }
}

/// The shortest and the longest processor time of several runs, because the first run is often
/// slow. A run that takes longer than a second is not repeated.
fn best(n: u32, algorithm: Algorithm, memory: u64) -> anyhow::Result<Result<Measured, Why>> {
    const ENOUGH_SECONDS: f64 = 0.02;
    const MOST_SECONDS: f64 = 1.0;
    const LEAST_RUNS: u32 = 3;
    const MOST_RUNS: u32 = 20;
    let (mut best, mut slowest, mut all) = (f64::INFINITY, 0.0, 0.0);
    let mut runs = 0;
    loop {
        let watch = Stopwatch::start();
        let found = match algorithm.count(n, memory)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let seconds = watch.elapsed().as_secs_f64();
        (best, slowest) = (seconds.min(best), seconds.max(slowest));
        all += seconds;
        runs += 1;
        let enough = all > ENOUGH_SECONDS && runs >= LEAST_RUNS;
        if enough || all > MOST_SECONDS || runs == MOST_RUNS {
            return Ok(Ok(Measured { found, seconds: best, slowest }));
        }
    }
}

/// The total that all algorithms found that counted a board; `None` if none did. It fails if two of
/// them differ.
pub fn agreed(lines: &[Line]) -> Result<Option<u128>, Disagreement> {
    let mut totals = lines.iter().filter_map(|line| {
        line.outcome.ok().map(|measured| (line.n, line.algorithm, measured.found.total))
    });
    let Some((n, first, total)) = totals.next() else { return Ok(None) };
    match totals.find(|&(.., other)| other != total) {
        None => Ok(Some(total)),
        Some((_, other, others)) => Err(Disagreement(format!(
            "N = {n}: {} counts {total}, and {} {others}",
            first.name, other.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Algorithm {
        Algorithm::ALL.into_iter().find(|it| it.name == name).expect("it is one")
    }

    fn counted(name: &str, total: u128) -> Line {
        let algorithm = named(name);
        let found = Found { total, nodes: None };
        Line { n: 8, algorithm, outcome: Ok(Measured { found, seconds: 1.0, slowest: 1.0 }) }
    }

    #[test]
    fn different_totals_are_an_error() {
        let left_out = Line { n: 8, algorithm: named("states"), outcome: Err(Why::Memory) };
        let right = counted("masks", 92);
        let same = [left_out, right, counted("rows", 92)];
        assert_eq!(agreed(&same).expect("the same"), Some(92));
        assert_eq!(agreed(&[left_out]).expect("nobody counted"), None);

        let error = agreed(&[right, left_out, counted("rows", 93)]).expect_err("not so");
        let error = error.to_string();
        assert!(error.starts_with("N = 8: masks counts 92, and rows 93: this machine"), "{error}");
    }

    #[test]
    fn a_slow_algorithm_is_left_out_for_larger_boards() {
        let algorithms = [named("direct"), named("rows")];
        let mut contest = Contest::new(&algorithms, 0.0, false, 0);
        let first = contest.board(6).expect("it counts");
        assert_eq!(agreed(&first).expect("they agree"), Some(4));
        assert!(first.iter().all(|line| line.outcome.is_ok()));
        let second = contest.board(7).expect("it counts");
        let slow = |line: &Line| line.outcome.err() == Some(Why::TooSlow);
        assert!(second.iter().all(slow), "{second:?}");
    }
}
