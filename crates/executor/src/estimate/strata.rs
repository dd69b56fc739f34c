//! A stratified random sample, and the estimate of the whole that follows from it. This module does
//! arithmetic only.
//!
//! ```text
//!   tasks    |0.....................................................T|   in plan order
//!   units    |--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|  runs of neighbours
//!   strata   |        h=1        |        h=2        |      h=3      |   U(h) units each
//!   draws          x        x     x              x      x     x          n(h) of them so far
//! ```
//!
//! Units of a stratum are drawn without replacement and with equal probability. Let y(h) be the mean
//! and s²(h) the variance of the units drawn from stratum h. Then the whole is estimated as
//!
//! ```text
//!   Y = Σ U(h) y(h)        variance of Y = Σ g(h) s²(h),   g(h) = U(h) (U(h) - n(h)) / n(h)
//! ```
//!
//! This estimate has no bias. Its error is t times the square root of the variance, where t is Student's
//! quantile with (Σ g s²)² / Σ (g s²)²/(n - 1) degrees of freedom (W. G. Cochran, "Sampling
//! Techniques", 3rd edition, 1977, sections 5.3 and 5.4). A stratum whose units were all drawn adds no
//! error.

use std::collections::HashMap;
use std::ops::Range;

use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use super::Design;

/// The units of a plan, divided into strata, and the results for those that were drawn.
pub(super) struct Strata {
    tasks: u64,
    /// Number of units. Their sizes differ by one task at most: a short last unit would be taken for a
    /// cheap one.
    units: u64,
    strata: Vec<Stratum>,
    /// The stratum that the next unit is drawn from.
    next: usize,
    /// Number of units not drawn yet.
    left: u64,
}

struct Stratum {
    units: Range<u64>,
    order: Shuffle,
    counts: Moments,
    seconds: Moments,
}

/// A unit to be counted.
#[derive(Debug)]
pub(super) struct Draw {
    stratum: usize,
}

/// A sum over all tasks of a plan, estimated from a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Half the width of the 95% confidence interval; 0 if every task was counted.
    pub error: f64,
}

impl Strata {
    /// Divides a plan of `tasks` tasks into units of `run` tasks or one less, and the units into `strata`
    /// strata of about equal size; if there are fewer units, each has a stratum of its own.
    pub(super) fn new(tasks: u64, run: u64, strata: u64) -> Strata {
        let units = tasks.div_ceil(run);
        let strata = strata.clamp(1, units.max(1));
        let bound = |h| part(units, h, strata);
        let stratum = |h| {
            let units = bound(h)..bound(h + 1);
            let order = Shuffle::new(units.end - units.start);
            Stratum { units, order, counts: Moments::default(), seconds: Moments::default() }
        };
        let strata = (0..strata).map(stratum).collect();
        Strata { tasks, units, strata, next: 0, left: units }
    }

    fn estimate(&self, moments: impl Fn(&Stratum) -> Moments) -> Estimate {
        let (mut value, mut variance, mut spread) = (0.0, 0.0, 0.0);
        for stratum in &self.strata {
            let (units, seen) = (stratum.units_len(), moments(stratum));
            if seen.draws == units {
                value += seen.sum;
                continue;
            }
            assert!(seen.draws >= 2, "a stratum that is drawn from once has no variance");
            let draws = seen.draws as f64;
            value += units as f64 * (seen.sum / draws);
            let part = units as f64 * (units - seen.draws) as f64 / draws * seen.variance();
            variance += part;
            spread += part * part / (draws - 1.0);
        }
        let error = if variance > 0.0 {
            student(variance * variance / spread) * variance.sqrt()
        } else {
            0.0
        };
        Estimate { value, error }
    }
}

impl Design for Strata {
    type Draw = Draw;

    /// Draws a unit, from one stratum after the other.
    fn draw(&mut self, random: &mut StdRng) -> Option<(Draw, Range<u64>)> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let index = self.next;
            self.next = (index + 1) % self.strata.len();
            let stratum = &mut self.strata[index];
            if let Some(unit) = stratum.order.next(random) {
                let unit = stratum.units.start + unit;
                let bound = |unit| part(self.tasks, unit, self.units);
                return Some((Draw { stratum: index }, bound(unit)..bound(unit + 1)));
            }
        }
    }

    /// Every stratum needs two counts, or those of all of its units.
    fn is_enough(&self) -> bool {
        let is_enough = |stratum: &Stratum| stratum.counts.draws >= stratum.units_len().min(2);
        self.strata.iter().all(is_enough)
    }

    fn note(&mut self, draw: &Draw, count: u64, seconds: f64) {
        let stratum = &mut self.strata[draw.stratum];
        stratum.counts.add(count as f64);
        stratum.seconds.add(seconds);
    }

    fn count(&self) -> Estimate {
        self.estimate(|stratum| stratum.counts)
    }

    fn seconds(&self) -> Estimate {
        self.estimate(|stratum| stratum.seconds)
    }

    fn is_whole(&self) -> bool {
        self.strata.iter().all(|stratum| stratum.counts.draws == stratum.units_len())
    }
}

impl Stratum {
    fn units_len(&self) -> u64 {
        self.units.end - self.units.start
    }
}

/// The beginning of part number `index` when `whole` is divided into `parts` equal parts.
fn part(whole: u64, index: u64, parts: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(parts)) as u64
}

/// Number, running mean and variance of values, without the rounding errors of a sum of squares (B. P. Welford, 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    draws: u64,
    /// The sum of the values. It is exact as long as it is a whole number below 2^53.
    sum: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn draws(&self) -> u64 {
        self.draws
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    pub(super) fn add(&mut self, value: f64) {
        self.draws += 1;
        self.sum += value;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.draws as f64;
        self.squares += from_mean * (value - self.mean);
    }

    pub(super) fn variance(&self) -> f64 {
        self.squares / (self.draws - 1) as f64
    }
}

/// The numbers below a bound in a random order (Fisher and Yates). Only the numbers that were moved are
/// held in memory.
struct Shuffle {
    left: u64,
    moved: HashMap<u64, u64>,
}

impl Shuffle {
    fn new(bound: u64) -> Shuffle {
        Shuffle { left: bound, moved: HashMap::new() }
    }

    fn next(&mut self, random: &mut impl Rng) -> Option<u64> {
        let last = self.left.checked_sub(1)?;
        self.left = last;
        let place = random.random_range(0..=last);
        let value_of_last = self.moved.remove(&last).unwrap_or(last);
        if place == last {
            return Some(value_of_last);
        }
        Some(self.moved.insert(place, value_of_last).unwrap_or(place))
    }
}

/// The 97.5% quantile of Student's distribution with `freedom` degrees of freedom, within 0.001 of exact values. Up to 6 degrees of freedom
/// it interpolates linearly between exact values; beyond, it takes the first terms of the expansion about
/// the normal distribution (Abramowitz and Stegun 26.7.5).
#[must_use]
pub fn student(freedom: f64) -> f64 {
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
    use rand::SeedableRng;

    use super::*;

    const TASKS: u64 = 10_000;

    /// A plan whose tasks grow fifty-fold along the ordinals, and in which neighbours differ.
    fn count_of(ordinal: u64) -> u64 {
        let noise = ordinal.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((1_000 + 49_000 * ordinal / TASKS) * (1 << 31 | noise >> 1)) >> 31
    }

    fn sum_of(ordinals: Range<u64>) -> u64 {
        ordinals.map(count_of).sum()
    }

    fn draw(tasks: u64, run: u64, strata: u64, draws: usize, seed: u64) -> Strata {
        let mut strata = Strata::new(tasks, run, strata);
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..draws {
            let Some((draw, ordinals)) = strata.draw(&mut random) else { break };
            let sum = sum_of(ordinals);
            strata.note(&draw, sum, sum as f64 / 1e9);
        }
        strata
    }

    #[test]
    fn the_estimate_has_no_bias_and_its_error_bar_holds_in_95_of_100_cases() {
        let truth = sum_of(0..TASKS) as f64;
        const SEEDS: u64 = 2_000;
        for (run, strata, draws) in [(1, 50, 200), (7, 20, 45), (3, 1, 12), (64, 10, 60)] {
            let estimates = (0..SEEDS).map(|seed| draw(TASKS, run, strata, draws, seed).count());
            let (mut mean, mut held, mut error) = (0.0, 0, 0.0);
            for estimate in estimates {
                mean += estimate.value / SEEDS as f64;
                error += estimate.error / SEEDS as f64;
                held += u64::from((estimate.value - truth).abs() <= estimate.error);
            }
            let sample = format!("{draws} draws of {run} from {strata} strata");
            // Twice the standard error of the mean of all seeds.
            let allowed = 2.0 * error / (SEEDS as f64).sqrt();
            assert!((mean - truth).abs() < allowed, "{sample}: {mean} for {truth}");
            assert!((1_860..=1_950).contains(&held), "{sample}: {held} of {SEEDS}");
            assert!(error < truth, "{sample}");
        }
    }

    #[test]
    fn strata_make_the_error_smaller() {
        let error = |strata| draw(TASKS, 1, strata, 400, 1).count().error;
        assert!(error(100) < error(1) / 1.5, "{} {}", error(100), error(1));
    }

    #[test]
    fn a_plan_of_fewer_tasks_than_strata_is_counted_whole_and_exact() {
        for (tasks, run) in [(0, 1), (1, 1), (5, 1), (21, 4)] {
            let sample = draw(tasks, run, 64, usize::MAX, 1);
            assert!(sample.is_whole() && sample.is_enough());
            let truth = sum_of(0..tasks) as f64;
            assert_eq!(sample.count(), Estimate { value: truth, error: 0.0 });
        }
    }

    #[test]
    fn each_unit_is_drawn_once_and_a_plan_that_is_drawn_to_its_end_is_exact() {
        let mut strata = Strata::new(1_003, 10, 7);
        let mut random = StdRng::seed_from_u64(1);
        let mut seen = vec![0; 1_003];
        while let Some((draw, ordinals)) = strata.draw(&mut random) {
            strata.note(&draw, sum_of(ordinals.clone()), 1.0);
            ordinals.for_each(|ordinal| seen[ordinal as usize] += 1);
        }
        assert!(seen.iter().all(|&times| times == 1));
        assert!(strata.is_whole());
        let truth = sum_of(0..1_003) as f64;
        assert_eq!(strata.count(), Estimate { value: truth, error: 0.0 });
        assert_eq!(strata.seconds().value, 101.0);
    }

    #[test]
    fn two_rounds_are_enough_for_an_error_bar() {
        assert!(!draw(TASKS, 1, 30, 59, 1).is_enough());
        let twice = draw(TASKS, 1, 30, 60, 1);
        assert!(twice.is_enough() && !twice.is_whole() && twice.count().error > 0.0);
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (6.0, 2.447), (10.0, 2.228)];
        for (freedom, quantile) in table.into_iter().chain([(30.0, 2.042), (1e6, 1.960)]) {
            assert!((student(freedom) - quantile).abs() < 0.002, "{freedom}: {}", student(freedom));
        }
    }
}
