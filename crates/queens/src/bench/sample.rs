//! Tasks from all over a plan, as many as take a while.

use std::time::{Duration, Instant};

use board::{Cut, Method, TaskSlice, Tasks};
use count::{Backend, Kernel};

use crate::failure::Failure;

/// How long a sample takes to count, at least, unless it is the whole plan.
const ROUND: Duration = Duration::from_millis(150);

/// The fewest places of the plan that many tasks are taken from: tasks differ along it.
const PLACES: u64 = 32;

/// The most neighbours that are taken together where they share work.
const RUN: u64 = 64;

/// Some tasks of a plan and a kernel that counts them.
pub(super) struct Sample {
    pub(super) method: Method,
    pub(super) backend: Backend,
    pub(super) tasks: Tasks,
    /// The share of the plan that they are.
    pub(super) share: f64,
    kernel: Kernel,
}

/// What one round measured.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) seconds: f64,
    /// Weight times completions: solutions of the whole board.
    pub(super) solutions: u64,
    /// States that the kernel stored, where it does.
    pub(super) nodes: Option<u64>,
}

impl Sample {
    /// A sample that suits the speed of `backend`.
    pub(super) fn of(n: u32, method: Method, backend: Backend) -> Result<Sample, Failure> {
        let cut = Cut::new(n, method)?;
        let kernel = Kernel::new(backend, n, method);
        let mut sample = Sample { method, backend, tasks: Tasks::new(), share: 0.0, kernel };
        let mut wanted = 1;
        loop {
            let run = match method {
                Method::Rows { .. } => 1,
                Method::Ring { .. } => (wanted / PLACES).clamp(1, RUN),
            };
            let places = (wanted / run).min(cut.len() / run);
            sample.tasks.clear();
            for place in 0..places {
                // In the middle of each of equal parts of the plan.
                let start = (2 * place + 1) * (cut.len() - run) / (2 * places);
                cut.fill(start..start + run, &mut sample.tasks);
            }
            sample.share = sample.tasks.len() as f64 / cut.len() as f64;
            let seconds = sample.count()?.seconds;
            if seconds >= ROUND.as_secs_f64() || places < wanted / run {
                return Ok(sample);
            }
            wanted *= 2;
        }
    }

    /// Counts the sample once.
    pub(super) fn count(&mut self) -> Result<Counted, Failure> {
        let Sample { kernel, tasks, .. } = self;
        count(kernel, tasks.as_slice())
    }

    /// The solutions of another sample of the same board and method.
    pub(super) fn solutions_of(&mut self, other: &Sample) -> Result<u64, Failure> {
        Ok(count(&mut self.kernel, other.tasks.as_slice())?.solutions)
    }
}

fn count(kernel: &mut Kernel, tasks: TaskSlice<'_>) -> Result<Counted, Failure> {
    let before = kernel.nodes();
    let begun = Instant::now();
    let solutions = kernel.count(tasks).map_err(anyhow::Error::from)?;
    let seconds = begun.elapsed().as_secs_f64();
    let nodes = kernel.nodes().zip(before).map(|(after, before)| after - before);
    Ok(Counted { seconds, solutions, nodes })
}
