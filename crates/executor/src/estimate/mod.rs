//! Estimates the total of a plan, and the time to count it, from a sample of its tasks.
//!
//! Tasks differ by large factors along the ordinals of a plan, so the sample is taken from all over it.
//! [`strata`] chooses the tasks and computes the estimates with their error bars, or [`by_size`] where tasks take
//! long. This module counts them, on all threads, until the time is over and there are enough draws for an error bar.
//! D. E. Knuth's estimator for search trees ("Estimating the efficiency of backtrack programs",
//! Mathematics of Computation 29, 1975) follows one random path down the tree. Here only the choice of
//! tasks is random, and each chosen task is counted in full, because kernels do that fast. A task that takes long is
//! an exception, if its kernel can estimate it from a part of its work ([`count::Kernel::sample`]).
//!
//! ```text
//!   pilot    measures how long tasks take; this decides the length of a run, the number of
//!            strata and how much of a task is done; its counts are not part of the sample
//!   sample   counts one run after the other
//!   longest  counts the tasks of the longest run once more, one by one, if runs are long
//! ```
//!
//! The sample may end in the middle of a round, so that some strata have one run less than others. This
//! does not bias the estimate, because each stratum has its own mean.

mod by_size;
mod counter;
mod guess;
mod strata;

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use board::halves::Split;
use board::{Cut, Tasks};
use count::{Backend, CountError};
use farm::Plan;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::by_size::BySize;
use self::counter::{Counter, Pilot, Run};
use self::strata::Strata;
pub use self::strata::{Estimate, student};

/// Runs per stratum that the time should be enough for. An error bar needs two; the rest is a margin,
/// because the pilot may have met cheap tasks.
const RUNS_PER_STRATUM: f64 = 5.0;

/// The most strata of a sample: more of them do not make the error smaller.
const MOST_STRATA: u64 = 4096;

/// The fewest candidates that each thread draws, where tasks are drawn by size.
const LEAST_CANDIDATES: usize = 256;

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
    /// Of so many blocks of a task's join one was counted; 1 if tasks were counted in full.
    pub blocks_per_draw: NonZeroU32,
    /// Whether every task of the plan was counted in full.
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
        let Some((counter, pilot)) = self.pilot(cut)? else { return Ok(None) };
        let end = begun + self.time;
        let left = end.saturating_duration_since(Instant::now());
        if counter.every().get() > 1 {
            let sample = self.by_size(&counter.cut(), pilot.run, left / 20)?;
            return self.sample(sample, counter, end).map(Some);
        }
        let runs = left.as_secs_f64() * self.threads as f64 / pilot.seconds;
        let strata = ((runs / RUNS_PER_STRATUM) as u64).min(MOST_STRATA);
        self.sample(Strata::new(self.plan.tasks, pilot.run, strata), counter, end).map(Some)
    }

    /// Draws candidates of `run` tasks each, and guesses their sizes, on all threads for so long.
    fn by_size(self, cut: &Cut, run: u64, time: Duration) -> Result<BySize, CountError> {
        let units = self.plan.tasks / run;
        let end = Instant::now() + time;
        let n = self.plan.problem.n();
        let draw = |thread: u64| {
            let mut random = StdRng::seed_from_u64(self.seed ^ thread.rotate_right(8));
            let (mut tasks, mut candidates) = (Tasks::new(), Vec::new());
            while candidates.len() < LEAST_CANDIDATES || Instant::now() < end {
                let start = run * random.random_range(0..units);
                tasks.clear();
                cut.fill(start..start + 1, &mut tasks)?;
                let split = Split::unpack(n, tasks.get(0).0).expect("only splits have parts");
                candidates.push((start..start + run, guess::guess(n, split, &mut random)));
            }
            Ok(candidates)
        };
        let candidates = std::thread::scope(|scope| {
            let threads = (1..=self.threads as u64).map(|thread| scope.spawn(move || draw(thread)));
            let threads: Vec<_> = threads.collect();
            let candidates =
                threads.into_iter().map(|it| it.join().expect("a panic ends the process"));
            candidates.collect::<Result<Vec<_>, CountError>>()
        })?;
        Ok(BySize::new(units, candidates.concat()))
    }

    /// Counts runs that `design` draws, on all threads, about until `end`.
    fn sample<D: Design>(
        self,
        design: D,
        counter: Counter,
        end: Instant,
    ) -> Result<Estimated, CountError> {
        let random = StdRng::seed_from_u64(self.seed);
        let longest = Longest { seconds: 0.0, run: 0..0 };
        let sample = Sample { design, random, counted: 0, runs: 0, spent: 0.0, longest };
        let shared = Shared { end, sample: Mutex::new(sample) };
        let (every, cut) = (counter.every(), counter.cut());
        let mut counter = std::thread::scope(|scope| {
            let shared = &shared;
            let begin = || shared.count(Counter::new(self, cut.clone(), every)?);
            let others = (1..self.threads).map(|_| scope.spawn(begin));
            let others: Vec<_> = others.collect();
            let counter = shared.count(counter);
            for other in others {
                other.join().expect("a panic ends the process")?;
            }
            counter
        })?;

        let Sample { design, counted, longest, .. } = shared.into_sample();
        Ok(Estimated {
            total: design.count(),
            core_seconds: design.seconds(),
            longest_task_seconds: counter.longest_task(longest)?,
            tasks_counted: counted,
            blocks_per_draw: every,
            is_exact: design.is_whole(),
        })
    }

    /// Runs the pilot on a thread of its own, and abandons that thread when the time is over.
    fn pilot(self, cut: Cut) -> Result<Option<(Counter, Pilot)>, CountError> {
        let (sender, receiver) = mpsc::channel();
        let cut = Arc::new(cut);
        std::thread::spawn(move || {
            // The receiver may have given up.
            let _ = sender.send(Counter::with_pilot(self, cut));
        });
        receiver.recv_timeout(self.time).ok().transpose()
    }
}

/// How a sample is drawn, and what follows from it.
trait Design: Send {
    /// Something to be counted.
    type Draw: Send;

    /// Draws a run; `None` once all of the plan was drawn.
    fn draw(&mut self, random: &mut StdRng) -> Option<(Self::Draw, Range<u64>)>;
    /// Whether there are enough draws for an error bar.
    fn is_enough(&self) -> bool;
    /// Records what counting a draw gave.
    fn note(&mut self, draw: &Self::Draw, count: u64, seconds: f64);
    /// The sum of all tasks' counts, once there are enough draws.
    fn count(&self) -> Estimate;
    /// The seconds that one thread takes for all tasks, once there are enough draws.
    fn seconds(&self) -> Estimate;
    /// Whether all tasks were counted in full.
    fn is_whole(&self) -> bool;
}

/// State that the threads share.
struct Shared<D> {
    end: Instant,
    sample: Mutex<Sample<D>>,
}

struct Sample<D> {
    design: D,
    random: StdRng,
    /// Number of tasks counted.
    counted: u64,
    /// Number of runs that were counted, and seconds that were spent on them.
    runs: u64,
    spent: f64,
    longest: Longest,
}

/// The longest run so far.
struct Longest {
    /// Seconds of its longest task, or of the run as a whole.
    seconds: f64,
    /// Its ordinals, if its tasks were not measured one by one.
    run: Range<u64>,
}

impl<D: Design> Shared<D> {
    /// Counts runs until there are enough, then gives the counter back.
    fn count(&self, mut counter: Counter) -> Result<Counter, CountError> {
        let lock = || self.sample.lock().expect("a panic ends the process");
        loop {
            let draw = {
                let Sample { design, random, runs, spent, .. } = &mut *lock();
                // What would pass the end is not begun.
                let next = Duration::from_secs_f64(*spent / (*runs).max(1) as f64);
                let is_over = Instant::now() + next >= self.end;
                if is_over && design.is_enough() { None } else { design.draw(random) }
            };
            let Some((draw, ordinals)) = draw else { return Ok(counter) };
            let tasks = ordinals.end - ordinals.start;
            let Run { count, seconds, spent, longest } = counter.count(ordinals)?;
            let mut sample = lock();
            sample.design.note(&draw, count, seconds);
            sample.counted += tasks;
            sample.runs += 1;
            sample.spent += spent;
            if longest.seconds > sample.longest.seconds {
                sample.longest = longest;
            }
        }
    }

    fn into_sample(self) -> Sample<D> {
        self.sample.into_inner().expect("a panic ends the process")
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
