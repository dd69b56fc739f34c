//! Estimates the total of a plan, and the time to count it, from a sample of its tasks.
//!
//! Tasks differ by large factors along the ordinals of a plan, so the sample is taken from all over
//! it. [`spread`] chooses the tasks and computes the estimates with their error bars. This module
//! counts them, on all threads, until the time is over.
//!
//! D. E. Knuth's estimator for search trees ("Estimating the efficiency of backtrack programs",
//! Mathematics of Computation 29, 1975) follows one random path down the tree. Here only the choice
//! of tasks is random, and each chosen task is counted in full, because kernels do that fast. A run
//! is as many neighbouring tasks as take long enough to be measured. A count in the middle of the
//! plan shows how many these are. By `colours` the board alone decides how many tasks a run has,
//! and how large a part of each task is counted ([`sets`]).
//!
//! A run that is not done when the time is over is abandoned, with its thread. Runs that take long
//! would be abandoned more often than others, and the estimates would be too low. Therefore no run
//! is begun that would pass the end if it took as long as the longest one before.

mod counter;
mod sets;
mod spread;

use std::num::{NonZero, NonZeroU32};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use board::{Method, PlanIndex};
use count::pool::Pool;
use count::{Backend, CountError};
use farm::Plan;

use self::counter::{Counter, Run};
pub use self::spread::Estimate;
use self::spread::Spread;

/// The fewest draws for an error bar.
const LEAST_DRAWS: usize = 3;

/// How far the processor time of a count is from the time that a sample predicts, as a share of the
/// predicted time, with 95% confidence. Other programs use the caches and the memory now and then,
/// and tasks from all over a plan find other things in the caches than neighbours do. By
/// `tools/bench/interval.py`, 35 of 36 plans of N = 17 to 20 were off by less, 0.16 in the root
/// mean square, on two cores on which 10 to 20 other threads ran.
const DRIFT: f64 = 0.25;

/// What to estimate, with which resources, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The plan to estimate.
    pub plan: Plan,
    /// The backend that counts the sample.
    pub backend: Backend,
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// How long to sample.
    pub time: Duration,
    /// Seed that decides which tasks are drawn.
    pub seed: u64,
}

/// The estimates that follow from a sample.
#[derive(Clone, Copy, Debug)]
pub struct Estimated {
    /// The sum over all tasks: the number of placements, symmetric ones counted separately. `None`
    /// if the counted tasks have no placement, because this says nothing of the other tasks.
    pub total: Option<Estimate>,
    /// Whether every task was counted in full, so that the total is exact.
    pub is_exact: bool,
    /// Seconds of processor time that one thread of this machine takes for all tasks. The error is
    /// that of the sample and that of the machine, whose speed drifts.
    pub core_seconds: Estimate,
    /// Seconds that a task of the longest run took. Where tasks take long, a run is one task. Where
    /// parts of tasks were counted, it is an estimate.
    pub longest_task_seconds: f64,
    /// Number of tasks in the sample.
    pub tasks_counted: u64,
    /// One of this many parts of each task in the sample was counted. The parts are sets of
    /// columns. 1 if tasks were counted in full.
    pub parts_per_draw: NonZeroU32,
}

impl Effort {
    /// Counts a sample of the plan whose tasks `index` enumerates, in the `time` of this effort.
    /// Returns `None` if the time is over before there are enough runs for an error bar, as a
    /// single task may take days. Panics if the system refuses to start the threads.
    pub fn estimate(self, index: PlanIndex) -> Result<Option<Estimated>, CountError> {
        let end = Instant::now() + self.time;
        let index = Arc::new(index);
        let Some((every, run)) = self.unit(&index, end)? else { return Ok(None) };
        let spread = Spread::new(self.plan.tasks, run, every.get() > 1, self.seed);
        let draws = Arc::new(Mutex::new(Draws { spread, most_spent: Duration::ZERO }));
        let of_threads = draws.clone();
        let pool = Pool::start(self.threads, move |_, send| {
            let mut counter = Counter::new(self, index.clone(), every);
            let mut next = draw(&of_threads, Duration::ZERO, end);
            while let Some((unit, ordinals)) = next {
                let run = counter.count(ordinals);
                let spent = run.as_ref().map_or(Duration::ZERO, |run| run.spent);
                if !send(run.map(|run| (unit, run))) {
                    return;
                }
                next = draw(&of_threads, spent, end);
            }
        });
        let mut pool = pool.expect("failed to spawn thread");
        let runs = std::iter::from_fn(|| pool.next(Some(end)).ok());
        let drawn = runs.collect::<Result<Vec<(u64, Run)>, CountError>>()?;
        let spread = &draws.lock().expect("no thread panics while holding it").spread;
        let is_whole = spread.is_whole(drawn.len());
        if drawn.len() < LEAST_DRAWS && !is_whole {
            return Ok(None);
        }
        let estimate = |value: fn(&Run) -> f64| {
            spread.estimate(drawn.iter().map(|(unit, run)| (*unit, value(run))).collect())
        };
        let Estimate { value, error } = estimate(|run| run.seconds);
        Ok(Some(Estimated {
            total: says(estimate(|run| run.count as f64), is_whole),
            is_exact: is_whole,
            // The error is that of the sample and that of the machine.
            core_seconds: Estimate { value, error: error.hypot(DRIFT * value) },
            longest_task_seconds: match self.plan.method {
                // The longest of many estimates from a few sets would be far too long.
                Method::Colours if every.get() > 1 => {
                    sets::LONGEST * value / self.plan.tasks as f64
                }
                _ => drawn.iter().map(|(_, run)| run.task_seconds()).fold(0.0, f64::max),
            },
            tasks_counted: drawn.iter().map(|(_, run)| run.tasks).sum(),
            parts_per_draw: every,
        }))
    }

    /// The number of parts of a task of which one is counted, and the number of tasks of a run.
    /// `None` if the time is over before they are known.
    fn unit(
        self,
        index: &Arc<PlanIndex>,
        end: Instant,
    ) -> Result<Option<(NonZeroU32, u64)>, CountError> {
        let Plan { problem, method, tasks } = self.plan;
        if method == Method::Colours {
            let n = problem.n();
            return Ok(Some((sets::every(n), sets::run(n).min(tasks.max(1)))));
        }
        let index = index.clone();
        let pool = Pool::start(NonZero::<usize>::MIN, move |_, send| {
            send(Counter::run_length(self, index.clone()));
        });
        let run = pool.expect("failed to spawn thread").next(Some(end)).ok().transpose()?;
        Ok(run.map(|run| (NonZeroU32::MIN, run)))
    }
}

/// What a sum over tasks says of the total. If the sample has no placement, this says nothing of
/// the other tasks.
fn says(sum: Estimate, is_exact: bool) -> Option<Estimate> {
    (sum.value > 0.0 || is_exact).then_some(sum)
}

/// What the threads share.
struct Draws {
    spread: Spread,
    /// The most time that was spent on a run.
    most_spent: Duration,
}

/// The next unit for a thread that has `spent` this time on its last one. `None` if the time is
/// over or enough units are drawn.
fn draw(draws: &Mutex<Draws>, spent: Duration, end: Instant) -> Option<(u64, Range<u64>)> {
    let mut draws = draws.lock().expect("no thread panics while holding it");
    draws.most_spent = draws.most_spent.max(spent);
    let is_over = Instant::now() + draws.most_spent >= end;
    if is_over { None } else { draws.spread.draw() }
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem};

    use super::*;

    const TWO: NonZero<usize> = NonZero::new(2).expect("2 is not 0");

    /// What is to be estimated in this time, and the index of its plan.
    fn effort(problem: Problem, method: Method, time: Duration) -> (Effort, PlanIndex) {
        let index = PlanIndex::new(problem, method).expect("such a plan exists");
        let plan = Plan { problem, method, tasks: index.len() };
        (Effort { plan, backend: Backend::detect(), threads: TWO, time, seed: 1 }, index)
    }

    fn estimate(n: u32, choice: MethodChoice, time: Duration, seed: u64) -> Estimated {
        let problem = Problem::Total { n };
        let (effort, index) = effort(problem, choice.for_problem(problem), time);
        // On a busy machine a short time may be over before a single task is counted.
        let attempts = (0..20).map(|doublings| {
            let effort = Effort { time: time * (1 << doublings), seed, ..effort };
            effort.estimate(index.clone()).expect("it counts")
        });
        attempts.flatten().next().expect("tasks are short")
    }

    const CHOICES: [MethodChoice; 3] = [
        MethodChoice::Rows { rows: None },
        MethodChoice::Prefixes { rows: None },
        MethodChoice::Colours,
    ];

    #[test]
    fn a_board_that_is_counted_in_time_has_an_exact_estimate() {
        for choice in CHOICES {
            for n in [4, 7, 8] {
                let counted = estimate(n, choice, Duration::from_secs(60), 1);
                let total = testkit::vectors::total(n) as f64;
                let exact = Estimate { value: total, error: 0.0 };
                assert_eq!(counted.total, Some(exact), "{n} by {choice}");
                assert!(counted.is_exact && counted.longest_task_seconds > 0.0);
                assert!(counted.core_seconds.error > 0.0, "times drift");
            }
        }
    }

    /// About one sample of some hundred tasks in ten thousand is off by more than twice its error
    /// bar. The number of its tasks depends on the machine, so a seed does not replay it; therefore
    /// up to three seeds are tried, and a busy machine gets more time.
    #[test]
    fn known_totals_are_near_their_estimates() {
        for choice in CHOICES {
            for n in [13, 14, 15] {
                let is_near = |seed| {
                    let times = (0..8).map(|doublings| Duration::from_millis(100 << doublings));
                    let mut samples = times.map(|time| estimate(n, choice, time, seed));
                    let is_large = |it: &Estimated| it.is_exact || it.tasks_counted >= 300;
                    let counted = samples.find(is_large).expect("a sample is large enough");
                    assert!(counted.tasks_counted > 0 && counted.core_seconds.value > 0.0);
                    let Estimate { value, error } = counted.total.expect("boards are many");
                    println!("{n} by {choice}: {value} +- {error}");
                    (value - testkit::vectors::total(n) as f64).abs() <= 2.0 * error
                };
                assert!((1..=3).any(is_near), "{n} by {choice}: three samples are far off");
            }
        }
    }

    #[test]
    fn only_a_count_of_all_tasks_says_that_there_is_no_placement() {
        let none = Estimate { value: 0.0, error: 0.0 };
        let some = Estimate { value: 12.0, error: 3.0 };
        assert_eq!((says(none, false), says(some, false)), (None, Some(some)));
        assert_eq!(says(none, true), Some(none));
    }

    /// Tasks of `rows` with one row take minutes from N = 20 on.
    #[test]
    fn tasks_that_take_too_long_have_no_estimate_when_the_time_is_over() {
        for problem in [Problem::Total { n: 22 }, Problem::Toroidal { n: 25 }] {
            let method = Method::Rows { rows: 1 };
            let (effort, index) = effort(problem, method, Duration::from_millis(50));
            let begun = Instant::now();
            assert!(effort.estimate(index).expect("it is no error").is_none());
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(2), "{took:?}");
        }
    }
}
