//! Counts without the farm: threads with kernels take tasks from one shared list.

use std::sync::atomic::{AtomicUsize, Ordering};

use board::{Cut, Method, Problem, Tasks};
use count::{Backend, CountError, Kernel};

use anyhow::Result;

/// The most tasks that a thread takes at a time.
const MOST_CHUNK: usize = 64;

/// Counts a whole board, plan and threads included.
pub(crate) fn count(n: u32, method: Method, backend: Backend, threads: usize) -> Result<u128> {
    let cut = Cut::new(Problem::Total { n }, method)?;
    let mut tasks = Tasks::new();
    cut.fill(0..cut.len(), &mut tasks).map_err(anyhow::Error::from)?;
    count_tasks(&tasks, threads, || Kernel::new(backend, n, method).expect("the plan was made"))
}

/// Counts `tasks` on `threads` threads, each with a kernel of its own.
pub(crate) fn count_tasks(
    tasks: &Tasks,
    threads: usize,
    kernel: impl Fn() -> Kernel + Sync,
) -> Result<u128> {
    let next = AtomicUsize::new(0);
    // The chunks are small enough that all threads end together.
    let at_a_time = (tasks.len() / (16 * threads)).clamp(1, MOST_CHUNK);
    let count = || {
        let mut kernel = kernel();
        let mut sum = 0_u128;
        loop {
            let start = next.fetch_add(at_a_time, Ordering::Relaxed);
            if start >= tasks.len() {
                return Ok(sum);
            }
            let chunk = tasks.slice(start..tasks.len().min(start + at_a_time));
            sum += u128::from(kernel.count(chunk)?);
        }
    };
    let sums: Result<Vec<u128>, CountError> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(count)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("the kernels do not panic")
        };
        threads.into_iter().map(join).collect()
    });
    Ok(sums?.into_iter().sum())
}

/// The shortest of several times.
pub(crate) fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The median of the ratios of values that were measured side by side.
pub(crate) fn median_ratio(over: &[f64], under: &[f64]) -> f64 {
    let ratios: Vec<f64> = over.iter().zip(under).map(|(over, under)| over / under).collect();
    median(&ratios)
}

/// The value in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
