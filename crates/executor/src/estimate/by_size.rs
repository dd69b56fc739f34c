//! A sample of long tasks, which are drawn the more often the larger they promise to be.
//!
//! A few dozen tasks must stand for millions whose counts differ by large factors. So very many candidates are
//! drawn first, evenly from all over the plan, and the size x of each is guessed ([`guess`](super::guess)), which is
//! cheap. Then candidates are drawn with probability proportional to x, with replacement, and counted. With U units
//! in the plan, M candidates with the sum X of sizes, and n draws with values y,
//!
//! ```text
//!   Y = U/M X mean(y/x)        variance of Y = (U/M X)² s²(y/x)/n + U²/M s²(y)
//! ```
//!
//! The first term is the error of the draws, the second that of the candidates. The estimate has no bias, however bad
//! the guesses are (M. H. Hansen and W. N. Hurwitz, "On the theory of sampling from finite populations", 1943): bad ones
//! only make the error larger. Its error is t times the square root of the variance, where t is Student's quantile with
//! n - 1 degrees of freedom. Where a value is
//! itself an estimate without a bias, its error is in s²(y/x).

use std::ops::Range;

use rand::RngExt;
use rand::rngs::StdRng;

use super::strata::{Moments, student};
use super::{Design, Estimate};

/// The fewest draws for an error bar.
const LEAST_DRAWS: u64 = 3;

/// Units that promise little are drawn as if their size were this share of the mean: a guess may miss what they have.
const LEAST_SIZE: f64 = 0.02;

/// Candidates, and the results of those that were drawn. A candidate is a run of tasks.
pub(super) struct BySize {
    /// Number of units in the plan.
    units: u64,
    candidates: Vec<Range<u64>>,
    /// For each candidate, the sum of its size and of those before it.
    sums: Vec<f64>,
    counts: Values,
    seconds: Values,
}

/// A candidate to be counted.
pub(super) struct Candidate {
    size: f64,
}

/// What candidates gave.
#[derive(Default)]
struct Values {
    /// Values by sizes.
    ratios: Moments,
    /// Squares of values by sizes.
    squares: Moments,
}

impl BySize {
    /// Of a plan of `units` units, these candidates were drawn evenly, each with its size.
    pub(super) fn new(units: u64, candidates: Vec<(Range<u64>, f64)>) -> BySize {
        let mean = candidates.iter().map(|(_, size)| size).sum::<f64>() / candidates.len() as f64;
        let least = if mean > 0.0 { LEAST_SIZE * mean } else { 1.0 };
        let mut sum = 0.0;
        let sums = candidates.iter().map(|(_, size)| {
            sum += size.max(least);
            sum
        });
        let sums = sums.collect();
        let candidates = candidates.into_iter().map(|(unit, _)| unit).collect();
        let (counts, seconds) = (Values::default(), Values::default());
        BySize { units, candidates, sums, counts, seconds }
    }

    fn estimate(&self, Values { ratios, squares }: &Values) -> Estimate {
        let (units, candidates) = (self.units as f64, self.candidates.len() as f64);
        let draws = ratios.draws() as f64;
        let scale = units / candidates * self.sum();
        let value = scale * ratios.mean();
        // The variance of a unit's value among candidates, of which draws are no even sample.
        let mean = self.sum() / candidates * ratios.mean();
        let between = (self.sum() / candidates * squares.mean() - mean * mean).max(0.0);
        let variance =
            scale * scale * ratios.variance() / draws + units * units * between / candidates;
        Estimate { value, error: student(draws - 1.0) * variance.sqrt() }
    }

    fn sum(&self) -> f64 {
        *self.sums.last().expect("there is a candidate")
    }
}

impl Design for BySize {
    type Draw = Candidate;

    fn draw(&mut self, random: &mut StdRng) -> Option<(Candidate, Range<u64>)> {
        let place = self.sum() * random.random::<f64>();
        let index = self.sums.partition_point(|sum| *sum <= place).min(self.sums.len() - 1);
        let before = if index == 0 { 0.0 } else { self.sums[index - 1] };
        Some((Candidate { size: self.sums[index] - before }, self.candidates[index].clone()))
    }

    fn is_enough(&self) -> bool {
        self.counts.ratios.draws() >= LEAST_DRAWS
    }

    fn note(&mut self, candidate: &Candidate, count: u64, seconds: f64) {
        self.counts.add(count as f64, candidate.size);
        self.seconds.add(seconds, candidate.size);
    }

    fn count(&self) -> Estimate {
        self.estimate(&self.counts)
    }

    fn seconds(&self) -> Estimate {
        self.estimate(&self.seconds)
    }

    fn is_whole(&self) -> bool {
        false
    }
}

impl Values {
    fn add(&mut self, value: f64, size: f64) {
        self.ratios.add(value / size);
        self.squares.add(value * value / size);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const UNITS: u64 = 100_000;

    /// What a unit counts: from 1,000 to 300,000.
    fn count_of(unit: u64) -> u64 {
        let noise = unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        1_000 + noise * noise / 1_000_000_000
    }

    /// Estimates the sum of all units' counts, by guesses that `guess` makes of a unit's count and a random factor.
    fn estimate(seed: u64, draws: usize, guess: impl Fn(f64, f64) -> f64) -> Estimate {
        let mut random = StdRng::seed_from_u64(seed);
        let candidates = (0..2_000).map(|_| {
            let unit = random.random_range(0..UNITS);
            (unit..unit + 1, guess(count_of(unit) as f64, random.random_range(0.5..2.0)))
        });
        let mut sample = BySize::new(UNITS, candidates.collect());
        for _ in 0..draws {
            let (candidate, ordinals) = sample.draw(&mut random).expect("there is one");
            sample.note(&candidate, count_of(ordinals.start), 1.0);
        }
        assert!(sample.is_enough());
        sample.count()
    }

    #[test]
    fn good_and_bad_guesses_make_no_bias_and_their_error_bars_hold() {
        let truth = (0..UNITS).map(count_of).sum::<u64>() as f64;
        const SEEDS: u64 = 1_000;
        let alike = |_: f64, _: f64| 1.0;
        let good = |count: f64, factor: f64| count * factor;
        let none = |_: f64, _: f64| 0.0;
        let guesses: [&dyn Fn(f64, f64) -> f64; 3] = [&good, &alike, &none];
        let mut errors = Vec::new();
        for guess in guesses {
            let estimates: Vec<_> = (0..SEEDS).map(|seed| estimate(seed, 40, guess)).collect();
            let mean = |of: &dyn Fn(&Estimate) -> f64| {
                estimates.iter().map(of).sum::<f64>() / SEEDS as f64
            };
            let (value, error) = (mean(&|it| it.value), mean(&|it| it.error));
            let held = mean(&|it| f64::from((it.value - truth).abs() <= it.error));
            assert!(
                (value - truth).abs() < 2.0 * error / (SEEDS as f64).sqrt(),
                "{value}: {truth}"
            );
            assert!((0.92..=0.98).contains(&held), "{held} with guess {}", errors.len());
            errors.push(error);
        }
        assert!(errors[0] < 0.8 * errors[1], "good guesses make it smaller: {errors:?}");
    }

    #[test]
    fn a_bar_needs_three_draws() {
        let mut sample = BySize::new(10, vec![(0..1, 1.0)]);
        let mut random = StdRng::seed_from_u64(1);
        for is_enough in [false, false, true] {
            let (candidate, _) = sample.draw(&mut random).expect("there is one");
            assert!(!sample.is_enough() || is_enough, "what is not counted yet is no draw");
            sample.note(&candidate, 1, 1.0);
            assert_eq!(sample.is_enough(), is_enough);
        }
    }
}
