//! What the total of a job will be, by what is counted of it, and what was expected of it earlier.
//!
//! The plan is divided into strata of neighbouring cells. With W tasks in a stratum, of which t are counted and give y,
//!
//! ```text
//!   estimate = Σ W y/t        variance = Σ W (W - t) / t² · k/(k-1) Σ (y_c - t_c y/t)²
//! ```
//!
//! where c runs through the k cells of the stratum of which anything is counted (the ratio estimate by strata of W. G.
//! Cochran, "Sampling Techniques", 3rd edition, 1977, sections 6.3 and 6.10). There are 64 strata, or fewer if not all of
//! them have two such cells. A farm lends tasks from all over a plan, so that what is counted is a fair sample; within a
//! stratum it goes through them in order, so that a trend there is not in the bar.

/// The most strata, a power of two.
const STRATA: usize = 64;
/// The moments at which a job is looked at.
const MOMENTS: usize = 48;
/// An estimate needs so many cells of which anything is counted.
const LEAST_CELLS: usize = 8;

/// What a total will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The moment at which so much was counted, Unix milliseconds.
    pub unix_ms: i64,
    /// The most likely value.
    pub value: f64,
    /// Half the width of the interval that holds the total in 95 cases of 100; 0 once all is counted.
    pub error: f64,
}

/// The counts of a job by cells of its plan, and by when they were accepted.
#[derive(Clone, Debug)]
pub struct Sums {
    begun_ms: i64,
    /// The length of the time between two moments, ms.
    step_ms: i64,
    /// For each cell, how many of its tasks are wanted.
    wanted: Vec<u64>,
    /// For each moment and each cell, what was accepted since the moment before.
    new: Vec<Sum>,
}

/// Tasks, and what they count.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    tasks: f64,
    count: f64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.tasks += other.tasks;
        self.count += other.count;
    }
}

impl Sums {
    /// Nothing is counted of a job whose cells have these numbers of tasks. It was looked at from one time to
    /// another, Unix milliseconds.
    pub fn new(wanted: Vec<u64>, begun_ms: i64, ended_ms: i64) -> Sums {
        let new = vec![Sum::default(); MOMENTS * wanted.len()];
        let step_ms = (ended_ms.saturating_sub(begun_ms) / MOMENTS as i64).max(0) + 1;
        Sums { begun_ms, step_ms, wanted, new }
    }

    /// Notes that tasks of a cell were accepted.
    pub fn note(&mut self, cell: usize, unix_ms: i64, tasks: u64, count: f64) {
        let moment = unix_ms.saturating_sub(self.begun_ms).max(0) / self.step_ms;
        let moment = usize::try_from(moment).unwrap_or(MOMENTS).min(MOMENTS - 1);
        let at = moment * self.wanted.len() + cell;
        self.new[at].add(Sum { tasks: tasks as f64, count });
    }

    /// The estimates at all moments at which there was one, in the order of time.
    pub fn estimates(&self) -> Vec<Estimate> {
        let mut done = vec![Sum::default(); self.wanted.len()];
        let mut estimates = Vec::new();
        let moments = self.new.chunks(self.wanted.len().max(1)).zip(1..);
        for (new, moment) in moments {
            done.iter_mut().zip(new).for_each(|(done, new)| done.add(*new));
            if let Some((value, error)) = estimate(&self.wanted, &done) {
                let unix_ms = self.begun_ms + moment * self.step_ms;
                estimates.push(Estimate { unix_ms, value, error });
            }
        }
        estimates
    }
}

/// The estimate and its error from what is done of each cell; `None` if that is too little.
fn estimate(wanted: &[u64], done: &[Sum]) -> Option<(f64, f64)> {
    let seen = done.iter().filter(|sum| sum.tasks > 0.0).count();
    if seen < LEAST_CELLS && !is_whole(wanted, done) {
        return None;
    }
    let numbers = std::iter::successors(Some(STRATA), |strata| Some(strata / 2));
    let by = |strata: usize| {
        let size = wanted.len().div_ceil(strata).max(1);
        let strata = wanted.chunks(size).zip(done.chunks(size));
        strata.map(|(wanted, done)| of_stratum(wanted, done)).sum::<Option<Moments>>()
    };
    let Moments { value, variance } = numbers.take_while(|strata| *strata > 0).find_map(by)?;
    Some((value, 1.96 * variance.sqrt()))
}

fn is_whole(wanted: &[u64], done: &[Sum]) -> bool {
    wanted.iter().zip(done).all(|(wanted, done)| done.tasks >= *wanted as f64)
}

struct Moments {
    value: f64,
    variance: f64,
}

impl std::iter::Sum for Moments {
    fn sum<I: Iterator<Item = Moments>>(moments: I) -> Moments {
        moments.fold(Moments { value: 0.0, variance: 0.0 }, |sum, it| Moments {
            value: sum.value + it.value,
            variance: sum.variance + it.variance,
        })
    }
}

/// `None` if there are tasks of which too little is done.
fn of_stratum(wanted: &[u64], done: &[Sum]) -> Option<Moments> {
    let all: u64 = wanted.iter().sum();
    let mut sum = Sum::default();
    done.iter().for_each(|done| sum.add(*done));
    if is_whole(wanted, done) {
        return Some(Moments { value: sum.count, variance: 0.0 });
    }
    let seen = || done.iter().filter(|done| done.tasks > 0.0);
    let cells = seen().count() as f64;
    if cells < 2.0 {
        return None;
    }
    let (all, ratio) = (all as f64, sum.count / sum.tasks);
    let spread: f64 = seen().map(|done| (done.count - ratio * done.tasks).powi(2)).sum();
    let left = (all - sum.tasks).max(0.0);
    let variance = all * left / (sum.tasks * sum.tasks) * cells / (cells - 1.0) * spread;
    Some(Moments { value: all * ratio, variance })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: u64 = 4_096;
    const TASKS: u64 = 100;

    fn random(seed: u64) -> u64 {
        let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    }

    /// What a task of a cell counts: ten times as much at the end of the plan as at its beginning, and more or less by
    /// chance.
    fn count_of(seed: u64, cell: u64) -> f64 {
        (1_000 + 9_000 * cell / CELLS) as f64
            * (0.5 + (random(seed << 20 | cell) % 1_000) as f64 / 1_000.0)
    }

    fn total(seed: u64) -> f64 {
        (0..CELLS).map(|cell| TASKS as f64 * count_of(seed, cell)).sum()
    }

    /// A tenth of the cells is counted half, by chance, in ten seconds.
    fn sums(seed: u64) -> Sums {
        let mut sums = Sums::new(vec![TASKS; CELLS as usize], 0, 10_000);
        for cell in (0..CELLS).filter(|cell| random(seed ^ cell << 32).is_multiple_of(10)) {
            let count = TASKS as f64 / 2.0 * count_of(seed, cell);
            sums.note(cell as usize, (random(cell) % 10_000) as i64, TASKS / 2, count);
        }
        sums
    }

    #[test]
    fn bars_hold_in_95_of_100_cases_and_shrink() {
        let mut held = 0;
        for seed in 0..200 {
            let estimates = sums(seed).estimates();
            let (first, last) = (estimates[0], estimates[estimates.len() - 1]);
            held += u32::from((last.value - total(seed)).abs() <= last.error);
            assert!(
                last.error < first.error && last.error < 0.1 * last.value,
                "{first:?} {last:?}"
            );
        }
        assert!((182..=198).contains(&held), "{held} of 200");
    }

    #[test]
    fn what_is_counted_as_a_whole_is_exact() {
        for cells in [1, 3, 100, CELLS] {
            let mut sums = Sums::new(vec![TASKS; cells as usize], 0, 0);
            for cell in 0..cells {
                sums.note(cell as usize, 5, TASKS, 7.0);
            }
            let last = sums.estimates().pop().expect("all is counted");
            assert_eq!((last.value, last.error), (7.0 * cells as f64, 0.0));
        }
    }

    #[test]
    fn little_is_no_estimate_and_times_beyond_the_end_do_no_harm() {
        let mut sums = Sums::new(vec![TASKS; 4_096], 1_000, 2_000);
        for cell in 0..LEAST_CELLS - 1 {
            sums.note(cell * 100, i64::MAX, 1, 1.0);
            sums.note(cell * 100, i64::MIN, 1, 1.0);
        }
        assert_eq!(sums.estimates(), []);
        sums.note(4_000, 1_500, 1, 1.0);
        let estimates = sums.estimates();
        assert!(
            estimates.iter().all(|it| it.unix_ms > 1_500 && it.value == 409_600.0),
            "{estimates:?}"
        );
        assert!(!estimates.is_empty());
        assert_eq!(Sums::new(Vec::new(), 0, 1).estimates(), []);
    }
}
