//! A sample of runs that are spread evenly over a plan, and the estimate of the whole that follows
//! from it. This module does arithmetic only.
//!
//! ```text
//!   tasks    |0.....................................................T|   in plan order
//!   units    |--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|  runs of neighbours
//!   draws              3           1        4           2           5    each a golden section beyond the last
//! ```
//!
//! The first unit is random, and every unit is equally likely to be among the first n. Wherever the
//! sample ends, what was drawn is spread evenly. Afterwards every four drawn units that are
//! neighbours make a stratum. It has the units around them, as far as half of the way to the next
//! stratum. Let y(h) be the mean and s²(h) the variance of the n(h) units drawn from stratum h,
//! which has U(h) units. Then the whole is estimated as
//!
//! ```text
//!   Y = Σ U(h) y(h)        variance of Y = Σ g(h) s²(h),   g(h) = U(h) (U(h) - n(h)) / n(h)
//! ```
//!
//! So it makes hardly any error that values grow along the plan. The error is t times the square
//! root of the variance, where t is Student's quantile with (Σ g s²)² / Σ (g s²)²/(n - 1) degrees
//! of freedom (W. G. Cochran, "Sampling Techniques", 3rd edition, 1977, sections 5.3, 5.4 and
//! 5A.9). Once all units were counted in full, there is no error. If units are counted in part,
//! their values are themselves estimates, without a bias. Their errors are contained in s²(h), and
//! remain when all units are drawn. Therefore g(h) then has U(h) in the place of U(h) - n(h).

use std::ops::Range;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::sets::MOST_DRAWS;

/// A sum over all tasks of a plan, estimated from a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Half the width of the 95% confidence interval; 0 if every task was counted.
    pub error: f64,
}

/// The draws of a stratum.
const STRATUM: usize = 4;

/// The units of a plan, in the order in which they are drawn.
pub(super) struct Spread {
    tasks: u64,
    /// Number of units. Their sizes differ by one task at most: a short last unit would be taken
    /// for a cheap one.
    units: u64,
    first: u64,
    /// How far each unit is from the one that is drawn before it.
    step: u64,
    drawn: u64,
    /// Whether the values are themselves estimates, from parts of tasks.
    in_parts: bool,
}

impl Spread {
    /// Divides a plan of `tasks` tasks into units of `run` tasks or one less.
    pub(super) fn new(tasks: u64, run: u64, in_parts: bool, seed: u64) -> Spread {
        let units = tasks.div_ceil(run);
        let golden_section = (units as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden_section..=units).find(|&step| common_divisor(step, units) == 1);
        let first = StdRng::seed_from_u64(seed).random_range(0..units.max(1));
        Spread { tasks, units, first, step: step.unwrap_or(1), drawn: 0, in_parts }
    }

    /// The next unit and its ordinals. `None` once all units were drawn, or [`MOST_DRAWS`] that are
    /// counted in part.
    pub(super) fn draw(&mut self) -> Option<(u64, Range<u64>)> {
        let is_enough = self.in_parts && self.drawn == MOST_DRAWS;
        if self.drawn == self.units || is_enough {
            return None;
        }
        let place = u128::from(self.first) + u128::from(self.drawn) * u128::from(self.step);
        let unit = (place % u128::from(self.units)) as u64;
        self.drawn += 1;
        Some((unit, board::equal_block(self.tasks, unit, self.units)))
    }

    /// Whether this number of draws is that of all units, and each was counted in full.
    pub(super) fn is_whole(&self, draws: usize) -> bool {
        !self.in_parts && draws as u64 == self.units
    }

    /// The sum of all units' values. `drawn` has at least two units with their values, or all units
    /// that there are.
    pub(super) fn estimate(&self, mut drawn: Vec<(u64, f64)>) -> Estimate {
        drawn.sort_unstable_by_key(|(unit, _)| *unit);
        if self.is_whole(drawn.len()) {
            return Estimate { value: drawn.iter().map(|(_, value)| value).sum(), error: 0.0 };
        }
        let strata = (drawn.len() / STRATUM).max(1);
        let (mut value, mut variance, mut spread) = (0.0, 0.0, 0.0);
        let (mut first, mut begin) = (0, 0.0);
        for past in (1..=strata).map(|h| drawn.len() * h / strata) {
            let end = match drawn.get(past) {
                Some((next, _)) => f64::midpoint((drawn[past - 1].0 + 1) as f64, *next as f64),
                None => self.units as f64,
            };
            let (units, draws) = (end - begin, (past - first) as f64);
            let stratum = || drawn[first..past].iter().map(|(_, value)| value);
            let mean = stratum().sum::<f64>() / draws;
            let squares = stratum().map(|value| (value - mean).powi(2)).sum::<f64>();
            let open = if self.in_parts { units } else { units - draws };
            let part = units * open / draws * squares / (draws - 1.0);
            value += units * mean;
            variance += part;
            spread += part * part / (draws - 1.0);
            (first, begin) = (past, end);
        }
        let error = if variance > 0.0 {
            student(variance * variance / spread) * variance.sqrt()
        } else {
            0.0
        };
        Estimate { value, error }
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The 97.5% quantile of Student's distribution with `freedom` degrees of freedom, within 0.001 of
/// exact values. Up to 6 degrees of freedom it interpolates linearly between exact values; beyond,
/// it takes the first terms of the expansion about the normal distribution (Abramowitz and Stegun
/// 26.7.5).
fn student(freedom: f64) -> f64 {
    const FEW: [f64; 6] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469];
    const NORMAL: f64 = 1.959_964;
    if freedom < 6.0 {
        let from = freedom.max(1.0);
        let index = (from as usize - 1).min(FEW.len() - 2);
        let beyond = from - (index + 1) as f64;
        return FEW[index] + beyond * (FEW[index + 1] - FEW[index]);
    }
    let z = NORMAL;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: u64 = 10_000;

    /// One of many plans whose tasks grow fifty-fold along the ordinals, and in which neighbours
    /// differ.
    fn count_of(plan: u64, ordinal: u64) -> u64 {
        let mut noise = (plan * TASKS + ordinal + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        noise = (noise ^ noise >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        noise = (noise ^ noise >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((1_000 + 49_000 * ordinal / TASKS) * (1 << 31 | noise >> 33)) >> 31
    }

    fn sum_of(plan: u64, ordinals: Range<u64>) -> f64 {
        ordinals.map(|ordinal| count_of(plan, ordinal)).sum::<u64>() as f64
    }

    fn estimate(tasks: u64, run: u64, draws: usize, seed: u64) -> Estimate {
        let mut spread = Spread::new(tasks, run, false, seed);
        let drawn = std::iter::from_fn(|| spread.draw()).take(draws);
        let drawn = drawn.map(|(unit, ordinals)| (unit, sum_of(seed, ordinals))).collect();
        spread.estimate(drawn)
    }

    #[test]
    fn the_estimate_has_no_bias_and_its_error_bar_holds_in_95_of_100_cases() {
        const SEEDS: u64 = 400;
        for (run, draws) in [(1, 200), (7, 45), (3, 12), (64, 60)] {
            let (mut off, mut held, mut error) = (0.0, 0, 0.0);
            for seed in 0..SEEDS {
                let truth = sum_of(seed, 0..TASKS);
                let estimate = estimate(TASKS, run, draws, seed);
                off += (estimate.value / truth - 1.0) / SEEDS as f64;
                error += estimate.error / truth / SEEDS as f64;
                held += u64::from((estimate.value - truth).abs() <= estimate.error);
            }
            let sample = format!("{draws} draws of {run}");
            // Twice the standard error of the mean of all seeds.
            let allowed = 2.0 * error / (SEEDS as f64).sqrt();
            assert!(off.abs() < allowed, "{sample}: {off}");
            assert!(held >= SEEDS * 93 / 100, "{sample}: {held} of {SEEDS}");
            assert!(error < 0.25, "{sample}: {error}");
        }
    }

    #[test]
    fn each_unit_is_drawn_once_and_a_plan_that_is_drawn_to_its_end_is_exact() {
        for (tasks, run) in [(0, 1), (1, 1), (5, 1), (21, 4), (1_003, 10), (1_003, 1)] {
            let mut spread = Spread::new(tasks, run, false, 1);
            let mut seen = vec![0; tasks as usize];
            while let Some((_, ordinals)) = spread.draw() {
                ordinals.for_each(|ordinal| seen[ordinal as usize] += 1);
            }
            assert!(seen.iter().all(|&times| times == 1), "{tasks} in runs of {run}");
            let exact = Estimate { value: sum_of(1, 0..tasks), error: 0.0 };
            assert_eq!(estimate(tasks, run, usize::MAX, 1), exact);
        }
    }

    #[test]
    fn units_that_were_counted_in_part_are_never_exact() {
        let mut spread = Spread::new(100, 1, true, 1);
        let drawn = std::iter::from_fn(|| spread.draw());
        let drawn: Vec<_> = drawn.map(|(unit, ordinals)| (unit, sum_of(1, ordinals))).collect();
        assert!(drawn.len() == 100 && !spread.is_whole(drawn.len()));
        assert!(spread.estimate(drawn).error > 0.0);
    }

    #[test]
    fn wherever_a_sample_ends_it_is_spread_evenly() {
        for draws in [10, 77, 400] {
            let mut spread = Spread::new(TASKS, 1, false, 5);
            let mut drawn: Vec<u64> =
                std::iter::from_fn(|| spread.draw()).take(draws).map(|(unit, _)| unit).collect();
            drawn.sort_unstable();
            let widest = drawn.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(widest <= Some(3 * TASKS / draws as u64), "{draws}: {widest:?}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (6.0, 2.447), (10.0, 2.228)];
        for (freedom, quantile) in table.into_iter().chain([(30.0, 2.042), (1e6, 1.960)]) {
            assert!((student(freedom) - quantile).abs() < 0.002, "{freedom}: {}", student(freedom));
        }
    }
}
