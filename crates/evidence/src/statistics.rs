//! Derives statements about a whole from random draws. This module only computes; `SAMPLING.md`
//! derives the formulas.
//!
//! ```text
//!   n draws, w of them wrong    the share that is wrong is at most p, where p solves
//!                               P(at most w of n | p) = 1 - confidence
//!                               w = 0:  p = 1 - (1 - confidence)^(1/n)
//!                               (Clopper and Pearson, 1934)
//!
//!   values y, each drawn with   the mean of y / q over the draws has the sum of all y as its
//!   probability q               expectation; its standard error is their standard deviation
//!                               divided by sqrt(n) (Hansen and Hurwitz, 1943)
//! ```

/// The fewest draws for an error bar. With fewer, neither the standard error nor the normal
/// distribution is accurate enough.
pub(super) const LEAST_DRAWS: usize = 30;

/// The upper confidence limit for the share of wrong units, if `wrong` of `draws` independent draws
/// were wrong. It is too low with a probability of at most `risk` (C. J. Clopper and E. S. Pearson,
/// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
/// 26, 1934). It is 1 without draws.
pub(super) fn at_most(draws: usize, wrong: usize, risk: f64) -> f64 {
    if wrong >= draws {
        return 1.0;
    }
    let (mut low, mut high) = (wrong as f64 / draws as f64, 1.0);
    for _ in 0..60 {
        let share = f64::midpoint(low, high);
        if binomial(draws, wrong, share) > risk { low = share } else { high = share }
    }
    high
}

/// The probability of at most `wrong` hits in `draws` draws. Each hits with probability `share`,
/// which is between 0 and 1.
fn binomial(draws: usize, wrong: usize, share: f64) -> f64 {
    let (hit, miss) = (share.ln(), (-share).ln_1p());
    let mut ways = 0.0;
    let mut sum = 0.0;
    for hits in 0..=wrong {
        sum += (ways + hits as f64 * hit + (draws - hits) as f64 * miss).exp();
        ways += ((draws - hits) as f64).ln() - ((hits + 1) as f64).ln();
    }
    sum
}

/// A sum that is estimated from draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, estimated from the same draws.
    pub standard_error: f64,
    /// The number of draws.
    pub draws: usize,
}

impl Estimate {
    /// Estimates the sum of all y from the quotients y / q of independent draws (M. H. Hansen and
    /// W. N. Hurwitz, "On the theory of sampling from finite populations", Annals of Mathematical
    /// Statistics 14, 1943). `None` if there are too few draws for a standard error.
    pub(super) fn of(quotients: &[f64]) -> Option<Estimate> {
        let draws = quotients.len();
        if draws < LEAST_DRAWS {
            return None;
        }
        let value = quotients.iter().sum::<f64>() / draws as f64;
        let squares = quotients.iter().map(|quotient| (quotient - value).powi(2)).sum::<f64>();
        let variance = squares / (draws - 1) as f64 / draws as f64;
        Some(Estimate { value, standard_error: variance.sqrt(), draws })
    }

    /// Half the width of the interval that contains the sum with 95% confidence, by Student's
    /// distribution.
    #[must_use]
    pub fn error(&self) -> f64 {
        executor::student(self.draws as f64 - 1.0) * self.standard_error
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn limits_are_those_of_the_tables() {
        // The rule of three, and two limits from tables of the binomial distribution (one-sided
        // 95%).
        assert!((at_most(100, 0, 0.05) - 0.029_513).abs() < 1e-6);
        assert!((at_most(10, 1, 0.05) - 0.394_163).abs() < 1e-5);
        assert!((at_most(20, 2, 0.05) - 0.282_619).abs() < 1e-5);
        assert_eq!(at_most(0, 0, 0.05), 1.0);
        assert_eq!(at_most(5, 5, 0.05), 1.0);
        for draws in [1, 7, 300, 100_000] {
            let exact = 1.0 - 0.05_f64.powf(1.0 / draws as f64);
            assert!((at_most(draws, 0, 0.05) - exact).abs() < 1e-12, "{draws}");
        }
    }

    #[test]
    fn a_limit_holds_in_at_least_95_of_100_cases() {
        const CASES: usize = 4_000;
        for (draws, share) in [(50, 0.02), (100, 0.02), (100, 0.10), (37, 0.3), (200, 0.004)] {
            let mut random = StdRng::seed_from_u64(1);
            let mut wrong = || (0..draws).filter(|_| random.random_bool(share)).count();
            let held = (0..CASES).filter(|_| at_most(draws, wrong(), 0.05) >= share).count();
            // Four standard deviations of the number of cases are 55.
            assert!(held + 55 >= CASES * 95 / 100, "{share} in {draws}: {held} of {CASES}");
        }
    }

    #[test]
    fn an_estimate_has_no_bias_and_its_error_bar_holds() {
        const CASES: u64 = 2_000;
        // The values grow twenty-fold and differ among neighbours. They are drawn with unequal
        // probabilities.
        let values: Vec<f64> = (0..500_u64)
            .map(|at| (25 + at) as f64 * (1.0 + (at.wrapping_mul(0x9e37_79b9) % 97) as f64 / 97.0))
            .collect();
        let sum: f64 = values.iter().sum();
        for draws in [30, 100, 200] {
            let (mut mean, mut held) = (0.0, 0);
            for seed in 0..CASES {
                let mut random = StdRng::seed_from_u64(seed);
                let quotients: Vec<f64> = (0..draws)
                    .map(|draw| {
                        // Half of the draws go to the last fifth, as if it claimed everything.
                        let last = draw % 2 == 0;
                        let at = random.random_range(if last { 400..500 } else { 0..500 });
                        let share = 0.5 / 500.0 + if at >= 400 { 0.5 / 100.0 } else { 0.0 };
                        values[at] / share
                    })
                    .collect();
                let estimate = Estimate::of(&quotients).expect("there are enough");
                mean += estimate.value / CASES as f64;
                held += u64::from((estimate.value - sum).abs() <= estimate.error());
            }
            assert!((mean / sum - 1.0).abs() < 0.01, "{draws}: {mean} for {sum}");
            assert!(held >= CASES * 93 / 100, "{draws}: {held} of {CASES}");
        }
        assert_eq!(Estimate::of(&[1.0; 29]), None);
    }
}
