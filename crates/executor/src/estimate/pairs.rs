//! Estimates how many placements a board has from pairs of random half-boards, whatever the plan.
//!
//! The upper N/2 rows of a placement have their queens in N/2 columns, and the lower ones in the others; on an odd
//! board the centre row has one queen besides. Such a choice of columns is a *ground*. A placement on it is a pair of
//! half-boards whose diagonals do not meet. Neither all grounds nor all half-boards of a ground are listed:
//!
//! ```text
//!   ground     drawn by its guessed size ([`by_size`](super::by_size)), out of C(N, N/2), or N C(N - 1, (N - 1)/2)
//!     upper    D random descents: half-board u with weight w(u), the product of the numbers of choices, or nothing
//!     lower    D random descents: v with w(v)
//!   value      1/D² Σ w(u) w(v) over the pairs whose diagonals do not meet
//! ```
//!
//! Every half-board u is reached with probability 1/w(u) (D. E. Knuth, "Estimating the efficiency of backtrack
//! programs", 1975), so the value has no bias. No table and no list has to be made for it, so that it takes
//! milliseconds where a task of the plan takes minutes. It does not tell how long a task takes.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::Estimate;
use super::by_size::BySize;

/// The smallest board with a queen in each half.
const MIN_N: u32 = 2;

/// The largest board whose diagonals fit 64 bits.
const MAX_N: u32 = 32;

/// Descents for each half of a ground whose size is guessed.
const FEW_DESCENTS: u32 = 300;

/// Descents for each half of a ground that was drawn. Most of them end early. At N = 28 about one pair of
/// half-boards in a few hundred thousand fits.
const DESCENTS: u32 = 8_192;

/// The share of the time in which candidates are drawn.
const GUESSING: f64 = 0.25;

/// The fewest draws for an error bar.
const LEAST_DRAWS: u64 = 30;

/// Which columns belong to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ground {
    /// The column of the centre row's queen, as a bit; none on an even board.
    centre: u64,
    /// Those of the upper half's queens.
    upper: u64,
    /// Those of the lower half's queens.
    lower: u64,
}

/// A half-board that a descent has reached.
#[derive(Clone, Copy, Debug)]
struct Half {
    /// The diagonals that its queens stand on: a bit for each sum of row and column,
    rising: u64,
    /// and a bit for each difference.
    falling: u64,
    weight: f64,
}

/// Which half of a board.
#[derive(Clone, Copy, Debug)]
enum Side {
    Upper,
    Lower,
}

/// What was estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placements {
    /// The number of placements.
    pub(super) total: Estimate,
    /// How many grounds were drawn for it.
    pub(super) grounds: u64,
}

/// Estimates how many placements of N queens there are, on so many threads and for so long. `None` if the board is too
/// small or too large for it, or the time too short.
pub(super) fn estimate(n: u32, threads: usize, time: Duration, seed: u64) -> Option<Placements> {
    if !(MIN_N..=MAX_N).contains(&n) {
        return None;
    }
    let begun = Instant::now();
    let random = |phase: u64, thread: usize| {
        StdRng::seed_from_u64(seed ^ (thread as u64 + 1).rotate_right(16) ^ phase.rotate_right(8))
    };
    let candidates = Mutex::new(Vec::new());
    on_threads(threads, |thread| {
        let mut random = random(1, thread);
        while begun.elapsed() < time.mul_f64(GUESSING) {
            let candidate = candidate(n, FEW_DESCENTS, &mut random);
            candidates.lock().expect("a panic ends the process").push(candidate);
        }
    });
    let candidates = candidates.into_inner().expect("a panic ends the process");
    if candidates.is_empty() {
        return None;
    }
    let sample = Mutex::new(BySize::new(grounds(n), candidates));
    on_threads(threads, |thread| {
        let mut random = random(2, thread);
        while begun.elapsed() < time {
            let lock = || sample.lock().expect("a panic ends the process");
            let (drawn, ground) = lock().draw_one(&mut random);
            let value = value(n, ground, DESCENTS, &mut random);
            lock().note_count(&drawn, value);
        }
    });
    let sample = sample.into_inner().expect("a panic ends the process");
    let drawn = sample.counted();
    (drawn >= LEAST_DRAWS).then(|| Placements { total: sample.total(), grounds: drawn })
}

fn on_threads(threads: usize, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        let work = &work;
        for thread in 0..threads {
            scope.spawn(move || work(thread));
        }
    });
}

/// A random ground and its guessed size.
fn candidate(n: u32, descents: u32, random: &mut impl Rng) -> (Ground, f64) {
    let ground = Ground::random(n, random);
    let mut weigh = |side| {
        let halves = halves(n, ground, side, descents, random);
        halves.iter().map(|half| half.weight).sum::<f64>() / f64::from(descents)
    };
    (ground, weigh(Side::Upper) * weigh(Side::Lower))
}

/// An estimate without bias of how many placements there are on a ground.
fn value(n: u32, ground: Ground, descents: u32, random: &mut impl Rng) -> f64 {
    let upper = halves(n, ground, Side::Upper, descents, random);
    let lower = halves(n, ground, Side::Lower, descents, random);
    let mut sum = 0.0;
    for u in &upper {
        let mut of_u = 0.0;
        for v in &lower {
            if (u.rising & v.rising) | (u.falling & v.falling) == 0 {
                of_u += v.weight;
            }
        }
        sum += u.weight * of_u;
    }
    sum / (f64::from(descents) * f64::from(descents))
}

/// The half-boards that so many descents reach.
fn halves(n: u32, ground: Ground, side: Side, descents: u32, random: &mut impl Rng) -> Vec<Half> {
    (0..descents).filter_map(|_| descend(n, ground, side, random)).collect()
}

/// Places queens of a half at random, row by row from the centre to the edge. `None` if a row has no free square.
fn descend(n: u32, ground: Ground, side: Side, random: &mut impl Rng) -> Option<Half> {
    let rows = n / 2;
    let mut open = match side {
        Side::Upper => ground.upper,
        Side::Lower => ground.lower,
    };
    let (mut left, mut right) = (ground.centre << 1, ground.centre >> 1);
    let mut half = Half { rising: 0, falling: 0, weight: 1.0 };
    for step in 0..rows {
        let mut free = open & !left & !right;
        let choices = free.count_ones();
        if choices == 0 {
            return None;
        }
        for _ in 0..random.random_range(0..choices) {
            free &= free - 1;
        }
        let queen = free & free.wrapping_neg();
        let column = queen.trailing_zeros();
        let row = match side {
            Side::Upper => rows - 1 - step,
            Side::Lower => n - rows + step,
        };
        half.rising |= 1 << (row + column);
        half.falling |= 1 << (row + n - 1 - column);
        half.weight *= f64::from(choices);
        open ^= queen;
        (left, right) = ((left | queen) << 1, (right | queen) >> 1);
    }
    Some(half)
}

/// The number of grounds.
fn grounds(n: u32) -> u64 {
    let (half, odd) = (u64::from(n / 2), u64::from(n % 2));
    let mut binomial = 1;
    for k in 1..=half {
        binomial = binomial * (half + k) / k;
    }
    if odd == 1 { u64::from(n) * binomial } else { binomial }
}

impl Ground {
    /// One of all grounds, each with the same probability.
    fn random(n: u32, random: &mut impl Rng) -> Ground {
        let all = (1_u64 << n) - 1;
        let centre = if n % 2 == 1 { 1 << random.random_range(0..n) } else { 0 };
        let (mut open, mut upper) = (all ^ centre, 0);
        for _ in 0..n / 2 {
            let mut column = open;
            for _ in 0..random.random_range(0..open.count_ones()) {
                column &= column - 1;
            }
            column &= column.wrapping_neg();
            (open, upper) = (open ^ column, upper | column);
        }
        Ground { centre, upper, lower: open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The placements of each ground of a small board, by listing all half-boards.
    fn exact(n: u32, ground: Ground) -> f64 {
        let list = |side| {
            let mut random = StdRng::seed_from_u64(1);
            let reached = halves(n, ground, side, 3_000, &mut random);
            let mut boards: Vec<(u64, u64)> =
                reached.iter().map(|half| (half.rising, half.falling)).collect();
            boards.sort_unstable();
            boards.dedup();
            boards
        };
        let (upper, lower) = (list(Side::Upper), list(Side::Lower));
        let fits = |u: &(u64, u64), v: &(u64, u64)| u.0 & v.0 == 0 && u.1 & v.1 == 0;
        let of = |u| lower.iter().filter(|v| fits(u, v)).count();
        upper.iter().map(of).sum::<usize>() as f64
    }

    fn all_grounds(n: u32) -> Vec<Ground> {
        let all = (1_u64 << n) - 1;
        let centres = if n % 2 == 1 { (0..n).map(|column| 1 << column).collect() } else { vec![0] };
        let of = |centre: u64| {
            let uppers =
                (0..=all).filter(move |upper| upper & centre == 0 && upper.count_ones() == n / 2);
            uppers.map(move |upper| Ground { centre, upper, lower: all ^ centre ^ upper })
        };
        centres.into_iter().flat_map(of).collect()
    }

    #[test]
    fn the_grounds_of_a_board_have_all_its_placements() {
        for n in 2..=9 {
            let grounds = all_grounds(n);
            assert_eq!(grounds.len() as u64, super::grounds(n), "N={n}");
            let sum: f64 = grounds.iter().map(|&ground| exact(n, ground)).sum();
            assert_eq!(sum, vectors::total(n) as f64, "N={n}");
        }
    }

    #[test]
    fn all_grounds_are_drawn_alike_often() {
        let mut random = StdRng::seed_from_u64(1);
        for n in [4, 5] {
            let all = all_grounds(n);
            let draws = 1_000 * all.len();
            let mut times = vec![0; all.len()];
            for _ in 0..draws {
                let drawn = Ground::random(n, &mut random);
                times[all.iter().position(|ground| *ground == drawn).expect("one of all")] += 1;
            }
            assert!(times.iter().all(|times| (850..1_150).contains(times)), "N={n}: {times:?}");
        }
    }

    /// Estimates of the total from samples of so many draws, with few descents each.
    fn estimates(n: u32, seeds: u64, draws: u32) -> Vec<Estimate> {
        let of = |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            let candidates = (0..300).map(|_| candidate(n, 20, &mut random)).collect();
            let mut sample = BySize::new(grounds(n), candidates);
            for _ in 0..draws {
                let (drawn, ground) = sample.draw_one(&mut random);
                sample.note_count(&drawn, value(n, ground, 60, &mut random));
            }
            sample.total()
        };
        (0..seeds).map(of).collect()
    }

    #[test]
    fn the_estimate_has_no_bias_and_its_error_bar_holds_in_95_of_100_cases() {
        const SEEDS: u64 = 400;
        for n in [8, 9] {
            let truth = vectors::total(n) as f64;
            let estimates = estimates(n, SEEDS, 150);
            let mean = |of: &dyn Fn(&Estimate) -> f64| {
                estimates.iter().map(of).sum::<f64>() / SEEDS as f64
            };
            let (value, error) = (mean(&|it| it.value), mean(&|it| it.error));
            let held = mean(&|it| f64::from((it.value - truth).abs() <= it.error));
            // Two and a half times the standard error of the mean of all seeds.
            let allowed = 1.25 * error / (SEEDS as f64).sqrt();
            assert!((value - truth).abs() < allowed, "N={n}: {value} for {truth}");
            assert!((0.91..=0.99).contains(&held), "N={n}: {held}");
            assert!(error < truth / 2.0, "N={n}: {error} for {truth}");
        }
    }

    #[test]
    fn large_boards_are_estimated_in_a_moment() {
        for n in [22, 27] {
            let time = Duration::from_secs(1);
            let estimated = (0..6).find_map(|doublings| estimate(n, 2, time * (1 << doublings), 7));
            let Placements { total: Estimate { value, error }, .. } = estimated.expect("some time");
            let truth = vectors::total(n) as f64;
            assert!((value - truth).abs() < 2.0 * error, "N={n}: {value} +- {error}");
            assert!(error < truth, "N={n}: {error}");
        }
        assert!(estimate(MAX_N + 1, 1, Duration::from_secs(1), 1).is_none());
    }
}
