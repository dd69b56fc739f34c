//! Derives the verdict on a bundle from recounts: how much of it may be wrong. `SAMPLING.md`
//! derives the formulas.

use crate::draw::{Drawn, is_by_count};

/// The probability with which a statement about a sample may be wrong.
const RISK: f64 = 0.05;

/// The statements about a bundle that follow from recounts.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether every range was counted again.
    pub is_exact: bool,
    /// Number of draws whose units were counted again.
    pub draws: usize,
    /// The largest share of the claimed total that is wrong, with 95% confidence.
    pub wrong_of_total: f64,
    /// The largest share of the tasks that are in wrong ranges, with 95% confidence. If the counts
    /// of tasks are reported, wrong tasks count instead of wrong ranges.
    pub wrong_of_tasks: f64,
    /// The probability of missing a single wrong range or task, for the one that is hardest to hit.
    pub missed: f64,
}

impl Verdict {
    /// The verdict on a bundle that counts `counted`. `alike` has an item for each draw in order,
    /// up to the first one whose unit was not begun in time: whether its unit was counted again,
    /// with the same count.
    pub(super) fn of(counted: u128, drawn: &Drawn, alike: &[bool], is_exact: bool) -> Verdict {
        let (mut draws, mut unknown) = ([0; 2], [0; 2]);
        for (draw, is_alike) in alike.iter().enumerate() {
            let of = usize::from(!is_by_count(draw, counted));
            draws[of] += 1;
            unknown[of] += usize::from(!is_alike);
        }
        let done = alike.len() - unknown.iter().sum::<usize>();
        let [wrong_of_total, wrong_of_tasks] =
            [0, 1].map(|of| if is_exact { 0.0 } else { at_most(draws[of], unknown[of], RISK) });
        // A wrong unit may have no chance of being hit by one of the two kinds of draws, so draws
        // count in pairs. A unit that takes too long to count is missed even if it is hit.
        let fair = if counted == 0 { draws[1] } else { 2 * draws[0].min(draws[1]) };
        let missed = match () {
            () if is_exact => 0.0,
            () if unknown != [0; 2] => 1.0,
            () => (1.0 - drawn.least_share).powf(fair as f64),
        };
        Verdict { is_exact, draws: done, wrong_of_total, wrong_of_tasks, missed }
    }
}

/// The upper confidence limit for the share of wrong units, if `wrong` of `draws` independent draws
/// were wrong. It is too low with a probability of at most `risk` (C. J. Clopper and E. S. Pearson,
/// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
/// 26, 1934). It is 1 without draws.
fn at_most(draws: usize, wrong: usize, risk: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use farm::{CountResult, Digest, Range};

    use super::*;
    use crate::draw::{Drawing, Sample, Seed, Unit};

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

    /// A hundred ranges of a hundred tasks, of which `wrong` at the end claim too much.
    fn drawn(wrong: u64, claim: u128, seed: u64) -> (u128, Drawn) {
        let unit = |at: u64| Unit {
            range: Range::new(100 * at, 100 * at + 100).expect("it has tasks"),
            result: CountResult {
                count: if at < 100 - wrong { 1_000 } else { claim },
                digest: Digest(0),
            },
            is_task: false,
        };
        let units: Vec<Unit> = (0..100).map(unit).collect();
        let counted = units.iter().map(|unit| unit.result.count).sum();
        let sample = Sample { draws: 60, seed: Seed::Number(seed), all: false };
        let mut drawing = Drawing::new(sample, blake3::hash(b""), 100, (counted, 10_000));
        units.iter().for_each(|&unit| drawing.pass(unit, None));
        (counted, drawing.end())
    }

    /// What a forger claims is found, or it is within the limits that the verdict gives.
    #[test]
    fn limits_hold_for_forged_bundles() {
        const SEEDS: u64 = 400;
        for (wrong, claim) in [(1, 100_000), (5, 20_000), (10, 0), (10, 1_500), (30, 3)] {
            let mut false_limits = 0;
            for seed in 0..SEEDS {
                let (counted, drawn) = drawn(wrong, claim, seed);
                let begins = 100 * (100 - wrong);
                if drawn.hits.iter().any(|hit| hit.range.start() >= begins) {
                    continue;
                }
                let verdict = Verdict::of(counted, &drawn, &[true; 60], false);
                let of_total = (u128::from(wrong) * claim) as f64 / counted as f64;
                let holds = verdict.wrong_of_total >= of_total
                    && verdict.wrong_of_tasks >= wrong as f64 / 100.0;
                false_limits += u64::from(!holds);
            }
            assert!(false_limits <= SEEDS * 7 / 100, "{wrong} x {claim}: {false_limits}");
        }
    }

    #[test]
    fn draws_without_a_recount_count_as_wrong() {
        let (counted, drawn) = drawn(0, 0, 1);
        let of = |alike: &[bool], is_exact| Verdict::of(counted, &drawn, alike, is_exact);
        let all = of(&[true; 60], false);
        assert_eq!(all.wrong_of_total, at_most(30, 0, RISK));
        assert!((all.missed - 0.99_f64.powf(60.0)).abs() < 1e-12, "{all:?}");
        let mut alike = [true; 41];
        (alike[7], alike[40]) = (false, false);
        let cut = of(&alike, false);
        assert_eq!((cut.draws, cut.wrong_of_total), (39, at_most(21, 1, RISK)));
        assert_eq!(cut.wrong_of_tasks, at_most(20, 1, RISK));
        let none = of(&[false], false);
        assert_eq!((none.draws, none.wrong_of_total, none.wrong_of_tasks), (0, 1.0, 1.0));
        let exact = of(&[true; 60], true);
        assert_eq!((exact.wrong_of_total, exact.wrong_of_tasks, exact.missed), (0.0, 0.0, 0.0));
    }
}
