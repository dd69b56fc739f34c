//! Estimates the total of a plan, and the time to count it, from a sample of its tasks.
//!
//! Tasks differ by large factors along the ordinals of a plan, so the sample is taken from all over it.
//! [`strata`] chooses the tasks and computes the estimates with their error bars. This module counts
//! them, on all threads, until the time is over and each stratum has enough draws for an error bar.
//! D. E. Knuth's estimator for search trees ("Estimating the efficiency of backtrack programs",
//! Mathematics of Computation 29, 1975) follows one random path down the tree. Here only the choice of
//! tasks is random: each chosen task is counted in full, because kernels do that fast.
//!
//! ```text
//!   pilot    measures how long tasks take; this decides the length of a run and the
//!            number of strata; its counts are not part of the sample
//!   sample   counts a run from each stratum, again and again
//!   longest  counts the tasks of the longest run once more, one by one
//! ```
//!
//! The sample may end in the middle of a round, so that some strata have one run less than others. This
//! does not bias the estimate, because each stratum has its own mean.

mod strata;

use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use board::{Cut, Tasks};
use count::{Backend, CountError, Kernel};
use farm::Plan;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::strata::Strata;
pub use self::strata::{Estimate, student};

/// The least time that a run lasts, so that the overhead per run is negligible.
const LEAST_RUN: Duration = Duration::from_micros(500);

/// Runs per stratum that the time should be enough for. An error bar needs two; the rest is a margin,
/// because the pilot may have met cheap tasks.
const RUNS_PER_STRATUM: f64 = 5.0;

/// The most strata of a sample: more of them do not make the error smaller.
const MOST_STRATA: u64 = 4096;

/// What to estimate, with which resources, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The plan to estimate.
    pub plan: Plan,
    /// The backend that counts the sample.
    pub backend: Backend,
    /// Number of counting threads, 1 or more.
    pub threads: usize,
    /// Bytes of memory that each thread may take.
    pub memory: u64,
    /// How long to sample.
    pub time: Duration,
    /// Seed that decides which tasks are drawn.
    pub seed: u64,
}

/// The estimates that follow from a sample.
#[derive(Clone, Copy, Debug)]
pub struct Estimated {
    /// The sum over all tasks: the number of placements, symmetric ones counted separately.
    pub total: Estimate,
    /// Seconds that one thread of this machine takes for all tasks.
    pub core_seconds: Estimate,
    /// Seconds that the longest measured task took.
    pub longest_task_seconds: f64,
    /// Number of tasks in the sample.
    pub tasks_counted: u64,
    /// Whether every task of the plan was counted.
    pub is_exact: bool,
}

impl Effort {
    /// Counts a sample of the plan whose tasks `cut` enumerates. Returns `None` if the time is over
    /// before the pilot has counted a few tasks: a single one may take days.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted.
    pub fn estimate(self, cut: Cut) -> Result<Option<Estimated>, CountError> {
        let begun = Instant::now();
        let cut = Arc::new(cut);
        let Some((counter, pilot)) = self.pilot(&cut)? else { return Ok(None) };
        let left = self.time.saturating_sub(begun.elapsed());
        let runs = left.as_secs_f64() * self.threads as f64 / pilot.seconds;
        let strata = ((runs / RUNS_PER_STRATUM) as u64).min(MOST_STRATA);
        let strata = Strata::new(self.plan.tasks, pilot.run, strata);
        let random = StdRng::seed_from_u64(self.seed);
        let sample = Sample { strata, random, counted: 0, longest: (0.0, 0..0) };
        let shared = Shared { end: begun + self.time, sample: Mutex::new(sample) };

        let mut counter = std::thread::scope(|scope| {
            let (shared, cut) = (&shared, &cut);
            let begin =
                || Counter::new(self, cut.clone()).and_then(|counter| shared.count(counter));
            let others = (1..self.threads).map(|_| scope.spawn(begin));
            let others: Vec<_> = others.collect();
            let counter = shared.count(counter);
            for other in others {
                other.join().expect("a panic ends the process")?;
            }
            counter
        })?;

        let Sample { strata, counted, longest, .. } = shared.into_sample();
        Ok(Some(Estimated {
            total: strata.count(),
            core_seconds: strata.seconds(),
            longest_task_seconds: counter.longest_task(longest)?,
            tasks_counted: counted,
            is_exact: strata.is_whole(),
        }))
    }

    /// Runs the pilot on a thread of its own, and abandons that thread when the time is over.
    fn pilot(self, cut: &Arc<Cut>) -> Result<Option<(Counter, Pilot)>, CountError> {
        let (sender, receiver) = mpsc::channel();
        let cut = cut.clone();
        std::thread::spawn(move || {
            let pilot = Counter::new(self, cut).and_then(|mut counter| {
                let pilot = counter.pilot(self)?;
                Ok((counter, pilot))
            });
            // The receiver may have given up.
            let _ = sender.send(pilot);
        });
        receiver.recv_timeout(self.time).ok().transpose()
    }
}

/// What the pilot found out about runs.
#[derive(Clone, Copy, Debug)]
struct Pilot {
    /// Number of tasks in a run.
    run: u64,
    /// Seconds that a run takes on average.
    seconds: f64,
}

/// State that the threads share.
struct Shared {
    end: Instant,
    sample: Mutex<Sample>,
}

struct Sample {
    strata: Strata,
    random: StdRng,
    /// Number of tasks counted.
    counted: u64,
    /// Seconds and ordinals of the longest run.
    longest: (f64, Range<u64>),
}

impl Shared {
    /// Counts runs until there are enough, then gives the counter back.
    fn count(&self, mut counter: Counter) -> Result<Counter, CountError> {
        let lock = || self.sample.lock().expect("a panic ends the process");
        loop {
            let draw = {
                let Sample { strata, random, .. } = &mut *lock();
                let is_enough = Instant::now() >= self.end && strata.is_drawn_twice();
                if is_enough { None } else { strata.draw(random) }
            };
            let Some(draw) = draw else { return Ok(counter) };
            let (count, seconds) = counter.count(draw.ordinals.clone())?;
            let mut sample = lock();
            sample.strata.note(&draw, count, seconds);
            sample.counted += draw.ordinals.end - draw.ordinals.start;
            if seconds > sample.longest.0 {
                sample.longest = (seconds, draw.ordinals);
            }
        }
    }

    fn into_sample(self) -> Sample {
        self.sample.into_inner().expect("a panic ends the process")
    }
}

/// A thread's kernel and its buffer of tasks.
struct Counter {
    cut: Arc<Cut>,
    kernel: Kernel,
    tasks: Tasks,
    /// Whether the first task of a run is counted once before the measurement. It pays for tables that
    /// a real count makes once for thousands of tasks.
    warms_up: bool,
}

impl Counter {
    /// Makes a kernel and counts one task with it, unmeasured: the system provides a kernel's memory only
    /// when it is touched first.
    fn new(effort: Effort, cut: Arc<Cut>) -> Result<Counter, CountError> {
        let Effort { plan, backend, memory, .. } = effort;
        let Plan { problem, method, .. } = plan;
        let kernel = Kernel::of(memory, backend, problem, method).expect("the plan was made");
        let warms_up = method.locality(problem.n()).warms_up();
        let mut counter = Counter { cut, kernel, tasks: Tasks::new(), warms_up };
        if plan.tasks > 0 {
            counter.count(plan.tasks / 2..plan.tasks / 2 + 1)?;
        }
        Ok(counter)
    }

    /// Counts a run, which must not be empty. Returns the sum and the seconds that it took.
    fn count(&mut self, ordinals: Range<u64>) -> Result<(u64, f64), CountError> {
        self.tasks.clear();
        self.cut.fill(ordinals, &mut self.tasks)?;
        if self.warms_up {
            self.kernel.count(self.tasks.slice(0..1))?;
        }
        let begun = Instant::now();
        let count = self.kernel.count(self.tasks.as_slice())?;
        Ok((count, begun.elapsed().as_secs_f64()))
    }

    /// Doubles the length of a run in the middle of the plan until it is long enough. Then measures runs
    /// of this length at random places, for up to a tenth of the time.
    fn pilot(&mut self, effort: Effort) -> Result<Pilot, CountError> {
        let Effort { plan: Plan { problem, method, tasks }, time, .. } = effort;
        let begun = Instant::now();
        let mut random = StdRng::seed_from_u64(!effort.seed);
        let mut run = 1;
        if tasks == 0 {
            return Ok(Pilot { run, seconds: LEAST_RUN.as_secs_f64() });
        }
        let fair = method.locality(problem.n()).fair_run();
        let at_most = time.as_secs_f64() / 32.0;
        let mut seconds = loop {
            let start = (tasks - run) / 2;
            let (_, seconds) = self.count(start..start + run)?;
            let is_fair = run >= fair || 2.0 * seconds > at_most;
            if is_fair && seconds >= LEAST_RUN.as_secs_f64() || 2 * run > tasks {
                break seconds;
            }
            run *= 2;
        };
        let mut runs = 1.0;
        while begun.elapsed() < time / 10 && runs < 64.0 {
            let start = random.random_range(0..=tasks - run);
            seconds += self.count(start..start + run)?.1;
            runs += 1.0;
        }
        Ok(Pilot { run, seconds: (seconds / runs).max(1e-9) })
    }

    /// Seconds of the longest task in the longest run.
    fn longest_task(&mut self, (seconds, run): (f64, Range<u64>)) -> Result<f64, CountError> {
        if run.end - run.start <= 1 {
            return Ok(seconds);
        }
        let mut longest = 0.0_f64;
        for ordinal in run {
            longest = longest.max(self.count(ordinal..ordinal + 1)?.1);
        }
        Ok(longest)
    }
}

#[cfg(test)]
mod tests {
    use board::{Method, MethodChoice, Problem};

    use super::*;

    fn estimate(n: u32, choice: MethodChoice, time: Duration, seed: u64) -> Estimated {
        let problem = Problem::Total { n };
        let method = choice.for_problem(problem);
        let cut = Cut::new(problem, method).expect("such a plan exists");
        let plan = Plan { problem, method, tasks: cut.len() };
        let effort =
            Effort { plan, backend: Backend::detect(), threads: 2, memory: 1 << 28, time, seed };
        // On a busy machine a short time may be over before a single task is counted.
        let mut attempts = (0..20).map(|doublings| {
            let effort = Effort { time: time * (1 << doublings), ..effort };
            effort.estimate(cut.clone()).expect("it counts")
        });
        attempts.find_map(|estimated| estimated).expect("tasks are short")
    }

    const CHOICES: [MethodChoice; 3] = [
        MethodChoice::Rows { rows: None },
        MethodChoice::Ring { width: None },
        MethodChoice::Halves,
    ];

    #[test]
    fn a_board_that_is_counted_in_time_has_an_exact_estimate() {
        for choice in CHOICES {
            for n in [4, 7, 8] {
                let counted = estimate(n, choice, Duration::from_secs(60), 1);
                let total = vectors::total(n) as f64;
                assert_eq!(counted.total, Estimate { value: total, error: 0.0 }, "{n} by {choice}");
                assert!(counted.is_exact && counted.longest_task_seconds > 0.0);
                assert_eq!(counted.core_seconds.error, 0.0);
            }
        }
    }

    /// About one sample in ten thousand is off by more than twice its error bar. The number of its tasks
    /// depends on the machine, so a seed does not replay it; therefore up to three seeds are tried.
    #[test]
    fn known_totals_are_near_their_estimates() {
        for choice in CHOICES {
            for n in [13, 14, 15] {
                let is_near = |seed| {
                    let counted = estimate(n, choice, Duration::from_millis(100), seed);
                    assert!(counted.tasks_counted > 0 && counted.core_seconds.value > 0.0);
                    let Estimate { value, error } = counted.total;
                    println!("{n} by {choice}: {value} +- {error}");
                    (value - vectors::total(n) as f64).abs() <= 2.0 * error
                };
                assert!((1..=3).any(is_near), "{n} by {choice}: three samples are far off");
            }
        }
    }

    #[test]
    fn tasks_that_take_too_long_have_no_estimate() {
        let (problem, method) = (Problem::Total { n: 20 }, Method::Rows { rows: 1 });
        let cut = Cut::new(problem, method).expect("such a plan exists");
        let plan = Plan { problem, method, tasks: cut.len() };
        let time = Duration::from_millis(20);
        let effort =
            Effort { plan, backend: Backend::detect(), threads: 1, memory: 0, time, seed: 1 };
        assert!(effort.estimate(cut).expect("it is no error").is_none());
    }
}
