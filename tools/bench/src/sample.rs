//! A sample of tasks from all over a plan, large enough to measure a kernel with.

use std::ops::Range;
use std::time::{Duration, Instant};

use board::{Cut, CutError, Locality, Method, Prefix, Tasks};
use count::{Backend, CountError, Kernel};
use farm::{Plan, Problem};
use serde::{Deserialize, Serialize};

/// The least number of places that a large sample is taken from, because tasks differ along the plan.
const PLACES: u64 = 32;

/// The least number of places if neighbours share work. A long run is then more important: at N = 19 a run of
/// 64 tasks takes half as long again for each task as a run of 512.
const PLACES_OF_SHARED_WORK: u64 = 8;

/// The most neighbouring tasks that are taken together if they share tables.
const RUN_OF_SHARED_TABLES: u64 = 64;

/// Some tasks of a plan and a kernel that counts them.
pub(crate) struct Sample {
    cut: Cut,
    plan: Plan,
    backend: Backend,
    /// Bytes of memory that the kernel may take.
    memory: u64,
    tasks: Tasks,
    /// The neighbours that were taken together, by their places in `tasks`.
    runs: Vec<Range<usize>>,
    /// The approximate number of tasks that was asked for. It decides which tasks are chosen.
    wanted: u64,
    kernel: Option<Kernel>,
}

/// The result of counting a sample once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// The sum of weight times completions: solutions of the whole board.
    pub(crate) solutions: u64,
    /// Number of states that the kernel stored, if it stores any.
    pub(crate) nodes: Option<u64>,
}

impl Sample {
    /// A sample of the total of an N x N board. It has a single task until [`Sample::fit`] or
    /// [`Sample::choose`] changes it. The kernel may take `memory` bytes.
    ///
    /// # Errors
    ///
    /// [`CutError`], if there is no such plan.
    pub(crate) fn new(
        n: u32,
        method: Method,
        backend: Backend,
        memory: u64,
    ) -> Result<Sample, CutError> {
        let problem = Problem::Total { n };
        let cut = Cut::new(problem, method)?;
        let plan = Plan { problem, method, tasks: cut.len() };
        let tasks = Tasks::new();
        let runs = Vec::new();
        let mut sample =
            Sample { cut, plan, backend, memory, tasks, runs, wanted: 1, kernel: None };
        sample.choose(1);
        Ok(sample)
    }

    /// Doubles the sample until counting it takes at least `least`, or until it has all tasks.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted.
    pub(crate) fn fit(&mut self, least: Duration) -> Result<(), CountError> {
        self.choose(1);
        while self.count()?.seconds < least.as_secs_f64() && self.share() < 1.0 {
            self.choose(2 * self.wanted);
        }
        Ok(())
    }

    /// Chooses about `wanted` tasks, the same ones for every backend.
    pub(crate) fn choose(&mut self, wanted: u64) {
        self.wanted = wanted;
        self.tasks.clear();
        self.runs.clear();
        for ordinals in spread(self.locality(), self.plan.tasks, wanted) {
            let start = self.tasks.len();
            self.cut.fill(ordinals, &mut self.tasks).expect("a part of the plan");
            self.runs.push(start..self.tasks.len());
        }
    }

    fn locality(&self) -> Locality {
        self.plan.method.locality(self.plan.problem.n())
    }

    /// The chosen tasks.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The approximate number of tasks that was asked for. [`Sample::choose`] makes the same sample from
    /// it again.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted
    }

    /// The number of chosen tasks as a share of the plan, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        self.tasks.len() as f64 / self.plan.tasks as f64
    }

    /// Counts the tasks once. A new kernel first counts one task unmeasured, because the system provides
    /// its memory only when it is touched. Where neighbours share tables, the first task of each run is
    /// counted once more before, unmeasured: a count of the whole plan makes the tables a few times only.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted.
    pub(crate) fn count(&mut self) -> Result<Counted, CountError> {
        let Plan { problem, method, .. } = self.plan;
        let warms_up = self.locality().warms_up();
        if self.kernel.is_none() {
            let kernel = Kernel::of(self.memory, self.backend, problem, method);
            let mut kernel = kernel.expect("the plan was made");
            kernel.count(self.tasks.slice(0..1))?;
            self.kernel = Some(kernel);
        }
        let kernel = self.kernel.as_mut().expect("it is there now");
        let before = kernel.nodes();
        let mut measured = |tasks| {
            let begun = Instant::now();
            let solutions = kernel.count(tasks)?;
            Ok::<_, CountError>((solutions, begun.elapsed().as_secs_f64()))
        };
        let (mut solutions, mut seconds) = (0, 0.0);
        if warms_up {
            for run in &self.runs {
                measured(self.tasks.slice(run.start..run.start + 1))?;
                let (some, took) = measured(self.tasks.slice(run.clone()))?;
                (solutions, seconds) = (solutions + some, seconds + took);
            }
        } else {
            (solutions, seconds) = measured(self.tasks.as_slice())?;
        }
        let nodes = kernel.nodes().zip(before).map(|(after, before)| after - before);
        Ok(Counted { seconds, solutions, nodes })
    }

    /// Frees the kernel's memory. The next count makes a new kernel.
    pub(crate) fn rest(&mut self) {
        self.kernel = None;
    }

    /// Number of queens that the plain recursion places below the tasks. `None` for methods other than
    /// `rows`.
    pub(crate) fn plain_nodes(&self) -> Option<u64> {
        let n = self.plan.problem.n();
        let rows = match self.plan.method {
            Method::Rows { rows } | Method::Prefixes { rows } => rows,
            Method::Ring { .. } | Method::Halves => return None,
        };
        let below = |i| nodes(n, self.tasks.get(i).0, n - rows);
        Some((0..self.tasks.len()).map(below).sum())
    }
}

/// Chooses about `wanted` of `tasks` ordinals: a run in the middle of each of several equal parts of the
/// plan, or all of it.
fn spread(locality: Locality, tasks: u64, wanted: u64) -> impl Iterator<Item = Range<u64>> {
    let run = match locality {
        Locality::None => 1,
        Locality::SharedWork { run } | Locality::SharedLists { run } => {
            (wanted / PLACES_OF_SHARED_WORK).clamp(1, run)
        }
        Locality::SharedTables => (wanted / PLACES).clamp(1, RUN_OF_SHARED_TABLES),
    };
    let (run, places) = if wanted < tasks { (run, wanted / run) } else { (tasks, 1) };
    let part = move |place| (u128::from(place) * u128::from(tasks) / u128::from(places)) as u64;
    (0..places).map(move |place| {
        let start = part(place) + (part(place + 1) - part(place) - run) / 2;
        start..start + run
    })
}

/// Number of queens that the plain search places in `rows_left` rows below `prefix`.
fn nodes(n: u32, prefix: Prefix, rows_left: u32) -> u64 {
    if rows_left == 0 {
        return 0;
    }
    let mut free = prefix.free(n);
    let mut placed = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        placed += 1 + nodes(n, prefix.place(n, bit), rows_left - 1);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_each_task_once_and_a_large_one_has_all() {
        let shared_work = Locality::SharedWork { run: 16 };
        let shared_lists = Locality::SharedLists { run: 512 };
        for locality in [Locality::None, shared_work, shared_lists, Locality::SharedTables] {
            for tasks in [1, 21, 272, 3206] {
                for wanted in (0..13).map(|power| 1 << power) {
                    let ordinals: Vec<u64> = spread(locality, tasks, wanted).flatten().collect();
                    assert!(
                        ordinals.is_sorted_by(|a, b| a < b),
                        "{locality:?}: {wanted} of {tasks}"
                    );
                    assert!(ordinals.iter().all(|ordinal| *ordinal < tasks));
                    assert!(wanted < tasks || ordinals.len() as u64 == tasks);
                }
            }
        }
    }

    #[test]
    fn a_fitted_sample_takes_as_long_as_asked_or_is_the_whole_plan() {
        let mut sample =
            Sample::new(12, Method::Halves, Backend::Portable, u64::MAX).expect("such a plan");
        sample.fit(Duration::ZERO).expect("it counts");
        assert!(sample.share() < 1.0);

        sample.fit(Duration::from_secs(3600)).expect("it counts");
        assert_eq!(sample.share(), 1.0);
        let first = sample.count().expect("it counts").solutions;
        sample.rest();
        assert_eq!(sample.count().expect("it counts").solutions, first);
    }

    /// The kernel has too little memory for shared tables, so that their making does not take seconds.
    #[test]
    fn what_warms_up_is_not_counted() {
        let n = 23;
        assert!(Method::Halves.locality(n).warms_up());
        let backend = Backend::detect();
        let mut sample = Sample::new(n, Method::Halves, backend, 0).expect("such a plan");
        sample.choose(3);
        let counted = sample.count().expect("it counts").solutions;
        let kernel = Kernel::of(0, backend, Problem::Total { n }, Method::Halves);
        let tasks = sample.tasks().as_slice();
        assert_eq!(kernel.expect("such a kernel").count(tasks), Ok(counted));
    }
}
