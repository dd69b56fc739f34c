//! How fast a device counts a board, by a sample of its tasks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use board::{Method, PlanIndex, Problem};
use gpu::{Counter, Device, Error};

use crate::devices::{COUNTER_MEMORY, THREADS};

/// What was counted of a board by `halves`.
#[derive(Clone, Debug)]
pub struct DeviceSample {
    /// About the sum of weight times completions: solutions of the whole board.
    pub solutions: f64,
    /// The number of tasks.
    pub tasks: u64,
    /// The number of tasks as a share of the plan, from 0 to 1.
    pub share: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Pairs of half-boards that were looked up.
    pub lanes: u64,
    /// The seconds of each kernel, in a second run in which the device waits for the host after each of them.
    pub kernels: Vec<(&'static str, f64)>,
    /// Pairs of half-boards that were looked up in the second run.
    pub lanes_of_kernels: u64,
}

impl DeviceSample {
    /// Counts batches of neighbouring tasks from all over the plan of an N x N board for about `time`, and as long
    /// again for the single kernels. N must be one of [`Counter::BOARDS`].
    pub fn new(device: &Device, n: u32, time: Duration) -> Result<Self, Error> {
        let plan =
            PlanIndex::new(Problem::Total { n }, Method::Halves).expect("it is one of the boards");
        let mut counters = Vec::new();
        // A slow device counts fewer tasks at a time than a batch has.
        let mut len = 1;
        for _ in 0..THREADS {
            let mut counter = Counter::new(device, n, COUNTER_MEMORY)?;
            let most = (counter.batch_tasks() as u64).min(plan.len());
            loop {
                let begun = Instant::now();
                batch(&mut counter, &plan, 0, len)?;
                if len == most || 4 * begun.elapsed() > time {
                    break;
                }
                len = (2 * len).min(most);
            }
            counters.push(counter);
        }
        // Batches are drawn one after the other, by all threads together.
        let drawn = AtomicU64::new(0);
        let batches = |counter: &mut Counter| -> Result<(f64, u64), Error> {
            let (begun, mut solutions, mut tasks) = (Instant::now(), 0.0, 0);
            // A small board is counted whole several times.
            while tasks == 0 || begun.elapsed() < time {
                solutions += batch(counter, &plan, drawn.fetch_add(1, Ordering::Relaxed), len)?;
                tasks += len;
            }
            Ok((solutions, tasks))
        };
        let before: u64 = counters.iter().map(Counter::lanes).sum();
        let begun = Instant::now();
        let counted: Result<Vec<(f64, u64)>, Error> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                counters.iter_mut().map(|counter| scope.spawn(move || batches(counter))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let (solutions, tasks): (Vec<f64>, Vec<u64>) = counted?.into_iter().unzip();
        let (solutions, tasks) = (solutions.iter().sum(), tasks.iter().sum::<u64>());
        let lanes = counters.iter().map(Counter::lanes).sum::<u64>() - before;
        let counter = &mut counters[0];
        let before = counter.lanes();
        counter.start_times();
        batches(counter)?;
        let kernels = counter.times().into_iter().flatten();
        let kernels = kernels.map(|(name, time)| (name, time.as_secs_f64())).collect();
        let share = tasks as f64 / plan.len() as f64;
        let lanes_of_kernels = counter.lanes() - before;
        Ok(DeviceSample { solutions, tasks, share, seconds, lanes, kernels, lanes_of_kernels })
    }
}

/// The solutions of one batch of `len` tasks.
fn batch(counter: &mut Counter, plan: &PlanIndex, drawn: u64, len: u64) -> Result<f64, Error> {
    // The fractional parts of the multiples of an irrational number are spread evenly.
    const GOLDEN_SECTION: u64 = 0x9e37_79b9_7f4a_7c15;
    let places = plan.len() / len;
    let place = (u128::from(drawn.wrapping_mul(GOLDEN_SECTION)) * u128::from(places)) >> 64;
    let start = place as u64 * len;
    let tasks = plan.tasks(start..start + len).expect("the plan has the range");
    let mut solutions = 0.0;
    counter.count_each(&tasks, |count| solutions += count as f64)?;
    Ok(solutions)
}
