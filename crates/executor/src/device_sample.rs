//! How fast a device counts a board, by a sample of its tasks.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use board::{Method, PlanIndex, Problem, Task};
use count::pool::Pool;
use gpu::{Counter, Device, Error};

use crate::devices::THREADS;

/// What a device counted of a board, and how fast.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSample {
    /// The solutions that the counted tasks stand for: the sum of weight times completions,
    /// rounded.
    pub solutions: f64,
    /// The number of tasks that were counted. A task that was counted twice counts as two.
    pub tasks: u64,
    /// The number of tasks as a share of the plan. It is more than 1 if a small board was counted
    /// several times.
    pub share: f64,
    /// Seconds on the wall that these tasks took.
    pub seconds: f64,
    /// The placements of single colours that the device found in a second.
    pub placements_per_second: f64,
}

/// The most tasks that are counted at a time.
const MOST_TASKS: u64 = 1 << 14;

impl DeviceSample {
    /// Counts batches of neighbouring tasks from all over the plan of an N x N board for about
    /// `time`, and then only the placements of such batches for about `time` again. N must be one
    /// of the device's [boards](Device::boards). This fails if the device does.
    pub fn new(device: &Device, n: u32, time: Duration) -> Result<Self, Error> {
        let plan = PlanIndex::new(Problem::Total { n }, Method::Colours);
        let plan = plan.expect("it is one of the boards");
        let most = MOST_TASKS.min(plan.len());
        let mut counters = Vec::new();
        // Batches grow until one takes an eighth of the time, so that those of a slow device are
        // small.
        let mut len = 1;
        for _ in 0..THREADS {
            let mut counter = Counter::new(device, n)?;
            loop {
                let begun = Instant::now();
                counter.count_each(&batch(&plan, 0, len), drop)?;
                if len == most || 8 * begun.elapsed() > time {
                    break;
                }
                len = (2 * len).min(most);
            }
            counters.push(counter);
        }
        let counters: Arc<[Mutex<Counter>]> = counters.into_iter().map(Mutex::new).collect();
        // Batches are drawn one after the other, by all threads together.
        let (plan, drawn) = (Arc::new(plan), Arc::new(AtomicU64::new(0)));
        let tasks_of_plan = plan.len();
        let measured = |count: Count| -> Result<Measured, Error> {
            let begun = Instant::now();
            let (counters, plan, drawn) = (counters.clone(), plan.clone(), drawn.clone());
            let of_thread = move |thread: usize| -> Result<(f64, u64), Error> {
                let mut counter = counters[thread].lock().expect("a thread has its own");
                let (mut sum, mut tasks) = (0.0, 0);
                // A small board is counted several times as a whole.
                while tasks == 0 || begun.elapsed() < time {
                    let batch = batch(&plan, drawn.fetch_add(1, Ordering::Relaxed), len);
                    sum += count(&mut counter, &batch)?;
                    tasks += len;
                }
                Ok((sum, tasks))
            };
            let threads = NonZero::new(THREADS).expect("it is not 0");
            let pool = Pool::start(threads, move |thread, send| {
                send(of_thread(thread));
            });
            let mut pool = pool.expect("failed to spawn thread");
            let mut all = Measured { sum: 0.0, tasks: 0, seconds: 0.0 };
            // All threads are waited for, so that none of them uses the device any more when an
            // error is returned.
            let counted: Vec<_> = std::iter::from_fn(|| pool.next(None).ok()).collect();
            for counted in counted {
                let (sum, tasks) = counted?;
                (all.sum, all.tasks) = (all.sum + sum, all.tasks + tasks);
            }
            Ok(Measured { seconds: begun.elapsed().as_secs_f64(), ..all })
        };
        let solutions = measured(|counter, tasks| {
            let mut solutions = 0.0;
            counter.count_each(tasks, |count| solutions += count as f64)?;
            Ok(solutions)
        })?;
        let placements = measured(|counter, tasks| Ok(counter.placements(tasks)? as f64))?;
        Ok(DeviceSample {
            solutions: solutions.sum,
            tasks: solutions.tasks,
            share: solutions.tasks as f64 / tasks_of_plan as f64,
            seconds: solutions.seconds,
            placements_per_second: placements.sum / placements.seconds,
        })
    }
}

/// Counts the solutions or the placements of a batch.
type Count = fn(&mut Counter, &[Task]) -> Result<f64, Error>;

/// What all threads counted together.
struct Measured {
    sum: f64,
    tasks: u64,
    seconds: f64,
}

/// The tasks of one batch of `len` tasks.
fn batch(plan: &PlanIndex, drawn: u64, len: u64) -> Vec<Task> {
    // The fractional parts of the multiples of an irrational number are spread evenly.
    const GOLDEN_SECTION: u64 = 0x9e37_79b9_7f4a_7c15;
    let places = plan.len() / len;
    let place = (u128::from(drawn.wrapping_mul(GOLDEN_SECTION)) * u128::from(places)) >> 64;
    let start = place as u64 * len;
    plan.tasks(start..start + len).expect("the plan has the range")
}
