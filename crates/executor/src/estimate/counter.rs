//! Counts runs of tasks and measures them, in full or in parts.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::PlanIndex;
use count::{CountError, Kernel};
use farm::Plan;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Effort;
use crate::stopwatch::Stopwatch;

/// The least time that a run lasts, so that the overhead per run is negligible.
const LEAST_RUN: Duration = Duration::from_micros(500);

/// A run lasts about the time of the estimate divided by this number, from 0.5 to 5 ms. It lasts
/// longer if there would otherwise be more runs than [`MOST_RUNS`].
const RUNS: u32 = 1_000;

/// At most about this many runs are counted, because all are held in memory.
const MOST_RUNS: f64 = 1e6;

/// A thread's kernel.
pub(super) struct Counter {
    index: Arc<PlanIndex>,
    kernel: Kernel,
    /// One of this many parts of each task is counted.
    every: NonZeroU32,
    seed: u64,
}

/// The result of counting a run. If only parts of its tasks were counted, the count and the
/// processor time are estimates for whole tasks.
pub(super) struct Run {
    /// The number of its tasks.
    pub(super) tasks: u64,
    /// The sum of weight times completions.
    pub(super) count: u64,
    /// Seconds of processor time that it takes.
    pub(super) seconds: f64,
    /// The time that was spent on it, on the wall.
    pub(super) spent: Duration,
}

impl Run {
    /// Seconds that a task takes on average.
    pub(super) fn task_seconds(&self) -> f64 {
        self.seconds / self.tasks as f64
    }
}

impl Counter {
    /// Makes a kernel that counts one of `every` parts of a task.
    pub(super) fn new(effort: Effort, index: Arc<PlanIndex>, every: NonZeroU32) -> Counter {
        let Effort { plan: Plan { problem, method, .. }, backend, seed, .. } = effort;
        let kernel = Kernel::new(backend, problem, method).expect("the plan was made");
        Counter { index, kernel, every, seed }
    }

    /// The number of tasks in a run, if tasks are counted in full. In the middle of the plan, this
    /// many tasks take long enough to be measured.
    pub(super) fn run_length(effort: Effort, index: Arc<PlanIndex>) -> Result<u64, CountError> {
        let Effort { plan: Plan { tasks, .. }, time, threads, .. } = effort;
        let mut counter = Counter::new(effort, index, NonZeroU32::MIN);
        let at_least = (time / RUNS).clamp(LEAST_RUN, 10 * LEAST_RUN);
        let at_least = at_least.max(time.mul_f64(threads.get() as f64 / MOST_RUNS));
        // The first run also pays for memory that was never touched. Beside a long task this is
        // nothing.
        if tasks == 0 || counter.count(middle(tasks, 1))?.spent > 10 * at_least {
            return Ok(1);
        }
        let mut run = 1;
        while counter.count(middle(tasks, run))?.spent < at_least && 2 * run <= tasks {
            run *= 2;
        }
        Ok(run)
    }

    /// Counts a run, which must not be empty.
    pub(super) fn count(&mut self, ordinals: Range<u64>) -> Result<Run, CountError> {
        let mut random = StdRng::seed_from_u64(self.seed ^ ordinals.start);
        let first = random.random_range(0..self.every.get());
        let tasks = self.index.tasks(ordinals)?;
        let (begun, watch) = (Instant::now(), Stopwatch::start());
        let count = self.kernel.sample(&tasks, self.every, first)?;
        let seconds = f64::from(self.every.get()) * watch.elapsed().as_secs_f64();
        Ok(Run { tasks: tasks.len() as u64, count, seconds, spent: begun.elapsed() })
    }
}

/// The run of this length in the middle of a plan.
fn middle(tasks: u64, run: u64) -> Range<u64> {
    let start = (tasks - run) / 2;
    start..start + run
}
