//! Tasks from all over a plan, as many as take a while.

use std::ops::Range;
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
    pub(super) n: u32,
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
        let mut sample = Sample { n, method, backend, tasks: Tasks::new(), share: 0.0, kernel };
        let mut wanted = 1;
        loop {
            sample.tasks.clear();
            for ordinals in spread(method, cut.len(), wanted) {
                cut.fill(ordinals, &mut sample.tasks);
            }
            sample.share = sample.tasks.len() as f64 / cut.len() as f64;
            let seconds = sample.count()?.seconds;
            if seconds >= ROUND.as_secs_f64() || sample.tasks.len() as u64 == cut.len() {
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

/// About `wanted` of `tasks` ordinals: a run in the middle of each of equal parts of the plan, or all.
fn spread(method: Method, tasks: u64, wanted: u64) -> impl Iterator<Item = Range<u64>> {
    let run = match method {
        Method::Rows { .. } => 1,
        Method::Ring { .. } | Method::Halves => (wanted / PLACES).clamp(1, RUN),
    };
    let (run, places) = if wanted < tasks { (run, wanted / run) } else { (tasks, 1) };
    let part = move |place| (u128::from(place) * u128::from(tasks) / u128::from(places)) as u64;
    (0..places).map(move |place| {
        let start = part(place) + (part(place + 1) - part(place) - run) / 2;
        start..start + run
    })
}

fn count(kernel: &mut Kernel, tasks: TaskSlice<'_>) -> Result<Counted, Failure> {
    let before = kernel.nodes();
    let begun = Instant::now();
    let solutions = kernel.count(tasks).map_err(anyhow::Error::from)?;
    let seconds = begun.elapsed().as_secs_f64();
    let nodes = kernel.nodes().zip(before).map(|(after, before)| after - before);
    Ok(Counted { seconds, solutions, nodes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_each_task_once_and_a_large_one_has_all() {
        for method in [Method::Rows { rows: 2 }, Method::Ring { width: 1 }, Method::Halves] {
            for tasks in [1, 21, 272, 3206] {
                for wanted in (0..13).map(|power| 1 << power) {
                    let ordinals: Vec<u64> = spread(method, tasks, wanted).flatten().collect();
                    assert!(ordinals.is_sorted_by(|a, b| a < b), "{method}: {wanted} of {tasks}");
                    assert!(ordinals.iter().all(|ordinal| *ordinal < tasks));
                    assert!(wanted < tasks || ordinals.len() as u64 == tasks);
                }
            }
        }
    }
}
