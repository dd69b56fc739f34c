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

use super::spread::{Estimate, student};

/// Units that promise little are drawn as if their size were this share of the mean: a guess may miss what they have.
const LEAST_SIZE: f64 = 0.02;

/// Candidates, each of which is a run of tasks.
pub(super) struct BySize {
    /// Number of units in the plan.
    units: u64,
    candidates: Vec<Range<u64>>,
    /// For each candidate, the sum of its size and of those before it.
    sums: Vec<f64>,
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
        BySize { units, sums, candidates: candidates.into_iter().map(|(unit, _)| unit).collect() }
    }

    /// A candidate and its ordinals.
    pub(super) fn draw(&self, random: &mut StdRng) -> (u64, Range<u64>) {
        let place = self.sum() * random.random::<f64>();
        let index = self.sums.partition_point(|sum| *sum <= place).min(self.sums.len() - 1);
        (index as u64, self.candidates[index].clone())
    }

    /// The sum of all units' values. There are three draws.
    pub(super) fn estimate(&self, drawn: &[(u64, f64)]) -> Estimate {
        let (units, candidates) = (self.units as f64, self.candidates.len() as f64);
        let draws = drawn.len() as f64;
        let mean_by_size = |of: &dyn Fn(f64, f64) -> f64| {
            let by_size = drawn.iter().map(|&(index, value)| of(value, self.size(index as usize)));
            by_size.sum::<f64>() / draws
        };
        let scale = units / candidates * self.sum();
        let ratio = mean_by_size(&|value, size| value / size);
        let spread = mean_by_size(&|value, size| (value / size - ratio).powi(2));
        // The variance of a unit's value among candidates, of which draws are no even sample.
        let mean = self.sum() / candidates * ratio;
        let square = self.sum() / candidates * mean_by_size(&|value, size| value * value / size);
        let between = (square - mean * mean).max(0.0);
        let variance =
            scale * scale * spread / (draws - 1.0) + units * units * between / candidates;
        Estimate { value: scale * ratio, error: student(draws - 1.0) * variance.sqrt() }
    }

    fn size(&self, index: usize) -> f64 {
        self.sums[index] - if index == 0 { 0.0 } else { self.sums[index - 1] }
    }

    fn sum(&self) -> f64 {
        *self.sums.last().expect("there is a candidate")
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
        let sample = BySize::new(UNITS, candidates.collect());
        let drawn: Vec<(u64, f64)> = (0..draws)
            .map(|_| {
                let (candidate, ordinals) = sample.draw(&mut random);
                (candidate, count_of(ordinals.start) as f64)
            })
            .collect();
        sample.estimate(&drawn)
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
}
