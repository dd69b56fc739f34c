//! Counts runs of tasks and measures them, in full or in parts.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::{PlanIndex, Task};
use count::{CountError, Kernel, Sampled};
use plan::Plan;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Effort;
use crate::stopwatch::Stopwatch;

/// The least time that a run lasts, so that the overhead per run is negligible.
const LEAST_RUN: Duration = Duration::from_micros(500);

/// A run lasts a share of this size of the time, up to 5 ms, if it can: a task that is counted between
/// its neighbours finds its lists in the caches, as in a count of the whole plan.
const RUNS: u32 = 1_000;

/// No more runs than about so many are counted, because all are held in memory.
const MOST_RUNS: f64 = 1e6;

/// Tasks are counted in parts, if they can be, where fewer than so many fit into the time. Blocks that are joined here
/// and there take longer than in a whole join: whole tasks show the time better.
const WHOLE_TASKS: u32 = 100;

/// The part of a long task's blocks that the pilot counts, and the smallest part that is counted: with a
/// smaller one the time goes to what is done as a whole.
const LEAST_PART: NonZeroU32 = NonZeroU32::new(256).unwrap();

/// A block that is shorter is measured with what surrounds it. Its task is counted in full at once, which shows whether it
/// is long.
const LEAST_BLOCK: Duration = Duration::from_micros(100);

/// The time of a part's blocks is a share of this size, or less, of the time of what is done as a whole.
const SHARE_OF_BLOCKS: f64 = 16.0;

/// A thread's kernel.
pub(super) struct Counter {
    index: Arc<PlanIndex>,
    kernel: Kernel,
    /// Of so many blocks of a task one is counted.
    every: NonZeroU32,
    seed: u64,
    /// Whether the first task of a run is counted once before the measurement. It pays for tables that
    /// a real count makes once for thousands of tasks.
    warms_up: bool,
}

/// What counting a run gave, or would have given if its tasks had been counted in full.
pub(super) struct Run {
    /// The number of its tasks.
    pub(super) tasks: u64,
    /// The sum of weight times completions.
    pub(super) count: u64,
    /// Seconds of processor time that it takes.
    pub(super) seconds: f64,
    /// The time that was spent on it, on the wall.
    pub(super) spent: Duration,
    /// Seconds of its longest task, or of one on average where they are counted together.
    pub(super) longest_task: f64,
}

impl Counter {
    /// Makes a kernel that counts one of `every` blocks.
    ///
    /// A kernel that counts tasks in full counts one before, unmeasured: the system provides a kernel's memory
    /// only when it is touched first. Where tasks take long, that is little of what they take.
    pub(super) fn new(
        effort: Effort,
        index: Arc<PlanIndex>,
        every: NonZeroU32,
    ) -> Result<Counter, CountError> {
        let mut counter = Counter::untouched(effort, index, every);
        if every.get() == 1 && effort.plan.tasks > 0 {
            counter.count(middle(effort.plan.tasks, 1))?;
        }
        Ok(counter)
    }

    /// Counts the middle task to choose `every`: one of so many blocks of each task is counted.
    /// Returns the number of tasks in a run, too.
    pub(super) fn pilot(
        effort: Effort,
        index: Arc<PlanIndex>,
    ) -> Result<(NonZeroU32, u64), CountError> {
        let Plan { problem, method, tasks } = effort.plan;
        let mut counter = Counter::untouched(effort, index, LEAST_PART);
        if tasks == 0 {
            return Ok((NonZeroU32::MIN, 1));
        }
        let task = counter.index.tasks(middle(tasks, 1))?;
        let long = effort.time / WHOLE_TASKS;
        let begun = Instant::now();
        let mut sampled = counter.sample(&task, 0)?;
        if part(sampled, long).get() > 1 && begun.elapsed() < effort.time / 10 {
            // The first task pays for what a kernel makes once and for memory that was never touched: it may look long.
            sampled = counter.sample(&task, 0)?;
        }
        let least = f64::from(LEAST_PART.get()) * LEAST_BLOCK.as_secs_f64();
        if part(sampled, long).get() > 1 && sampled.sampled_seconds < least {
            counter.every = NonZeroU32::MIN;
            sampled.seconds = counter.count(middle(tasks, 1))?.seconds;
        }
        counter.every = part(sampled, long);
        let locality = method.locality(problem.n());
        let mut run = locality.fair_run.min(tasks);
        if counter.every.get() == 1 {
            let first = if locality.needs_fair_run { run } else { 1 };
            run = counter.long_run(effort, first, run)?;
        }
        Ok((counter.every, run))
    }

    fn untouched(effort: Effort, index: Arc<PlanIndex>, every: NonZeroU32) -> Counter {
        let Effort { plan, backend, seed, .. } = effort;
        let Plan { problem, method, .. } = plan;
        let kernel = Kernel::new(backend, problem, method).expect("the plan was made");
        let warms_up = method.locality(problem.n()).shares_tables;
        Counter { index, kernel, every, seed, warms_up }
    }

    /// Counts a run, which must not be empty.
    pub(super) fn count(&mut self, ordinals: Range<u64>) -> Result<Run, CountError> {
        let first_ordinal = ordinals.start;
        let tasks = self.index.tasks(ordinals)?;
        if self.warms_up {
            self.sample(&tasks[..1], 0)?;
        }
        let len = tasks.len() as u64;
        let begun = Instant::now();
        let watch = Stopwatch::start();
        if self.every.get() == 1 {
            let count = self.kernel.count(&tasks)?;
            let seconds = watch.elapsed().as_secs_f64();
            let longest_task = seconds / len as f64;
            return Ok(Run { tasks: len, count, seconds, spent: begun.elapsed(), longest_task });
        }
        let mut random = StdRng::seed_from_u64(self.seed ^ first_ordinal);
        let (mut count, mut seconds, mut longest) = (0, 0.0, 0.0_f64);
        for task in tasks.chunks(1) {
            let first = random.random_range(0..self.every.get());
            let sampled = self.sample(task, first)?;
            count += sampled.count;
            seconds += sampled.seconds;
            longest = longest.max(sampled.seconds);
        }
        // Blocks are timed on the wall, because reading the processor's clock takes long beside one.
        let spent = begun.elapsed();
        let share = watch.elapsed().div_duration_f64(spent).min(1.0);
        let (seconds, longest_task) = (share * seconds, share * longest);
        Ok(Run { tasks: len, count, seconds, spent, longest_task })
    }

    fn sample(&mut self, tasks: &[Task], first: u32) -> Result<Sampled, CountError> {
        self.kernel.sample(tasks, self.every, first)
    }

    /// Doubles the length of a run in the middle of the plan, from `run` on, until it has `fair` tasks and takes long enough, or
    /// too long for more. Returns the length.
    fn long_run(&mut self, effort: Effort, mut run: u64, fair: u64) -> Result<u64, CountError> {
        let Effort { plan: Plan { tasks, .. }, time, threads, .. } = effort;
        let at_least = (time / RUNS).clamp(LEAST_RUN, 10 * LEAST_RUN);
        let at_least = at_least.max(time.mul_f64(threads as f64 / MOST_RUNS));
        let at_most = time / 32;
        loop {
            let spent = self.count(middle(tasks, run))?.spent;
            let is_fair = run >= fair || 2 * spent > at_most;
            if is_fair && spent >= at_least || 2 * run > tasks {
                return Ok(run);
            }
            run *= 2;
        }
    }
}

/// The run of this length in the middle of a plan.
fn middle(tasks: u64, run: u64) -> Range<u64> {
    let start = (tasks - run) / 2;
    start..start + run
}

/// Of how many blocks of a task one is counted, if a task is like this one, and tasks up to `long` are counted in full.
fn part(sampled: Sampled, long: Duration) -> NonZeroU32 {
    let Sampled { seconds, sampled_seconds, .. } = sampled;
    if seconds < long.as_secs_f64() {
        return NonZeroU32::MIN;
    }
    // A block is counted to warm up for each that is counted to stand for others.
    let whole = (seconds - sampled_seconds).max(1e-9);
    let every = (2.0 * SHARE_OF_BLOCKS * sampled_seconds / whole) as u32;
    NonZeroU32::new(every).map_or(NonZeroU32::MIN, |every| every.min(LEAST_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of(seconds: f64, sampled_seconds: f64) -> u32 {
        part(Sampled { count: 1, seconds, sampled_seconds }, Duration::from_millis(50)).get()
    }

    #[test]
    fn long_tasks_are_counted_in_parts_and_the_smaller_the_more_their_blocks_take() {
        assert_eq!(part_of(0.04, 0.039), 1, "it is short");
        assert_eq!(part_of(60.0, 0.0), 1, "it has no blocks");
        assert_eq!(part_of(60.0, 1.0), 1, "almost all of it is done as a whole");
        assert_eq!(part_of(4.0, 3.0), 96);
        assert_eq!(part_of(60.0, 59.0), 256);
    }
}
