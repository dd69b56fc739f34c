//! The counting loops on one core, against the seed's recursion in the same run.
//!
//! Another program on the machine slows one measurement and not the next. So every backend counts
//! the same tasks in turn, round after round, and the best round of each is shown: its ratio to
//! `reference` holds where seconds do not.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use board::rows::{RowsPlan, suggested_rows};
use board::{Prefix, TaskSlice, Tasks};
use clap::Args;
use count::{Backend, Kernel};

use crate::cli::available_backend;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct KernelsBenchArgs {
    /// Board sizes, 8 to 22
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [16, 18],
          value_parser = clap::value_parser!(u32).range(8..=MAX_N))]
    n: Vec<u32>,
    /// Counting loops to measure beside reference [default: all that this processor has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = available_backend)]
    backend: Vec<Backend>,
    /// How often each of them counts the same tasks
    #[arg(long, value_name = "R", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Only show the counting loops that this processor has, slowest first
    #[arg(long)]
    list: bool,
}

/// The largest board of which `reference` counts a single task in about a second.
const MAX_N: i64 = 22;

/// How long `reference` counts in a round, about.
const ROUND: Duration = Duration::from_millis(150);

pub(super) fn run(args: KernelsBenchArgs) -> Result<(), Failure> {
    if args.list {
        return Backend::available().try_for_each(output::print);
    }
    let backends: Vec<Backend> = Backend::available()
        .filter(|b| *b == Backend::Reference || args.backend.is_empty() || args.backend.contains(b))
        .collect();
    for n in args.n {
        let sample = Sample::of(n)?;
        output::print(sample.heading())?;
        let Measured { seconds, frequency } = sample.measure(&backends, args.rounds)?;
        output::print("backend           Q/s     against reference     cycles a solution")?;
        for (backend, best) in backends.iter().zip(&seconds) {
            let rate = sample.completions as f64 / best;
            let ratio = seconds[0] / best;
            let cycles = frequency.map_or("-".into(), |hz| format!("{:.1}", hz / rate));
            output::print(format_args!("{backend:<12}{rate:>9.2e}{ratio:>20.1} x{cycles:>22}"))?;
        }
    }
    Ok(())
}

/// Tasks from all over a plan.
struct Sample {
    n: u32,
    rows: u32,
    share: f64,
    tasks: Tasks,
    /// Mirror images counted.
    completions: u64,
    nodes: u64,
}

/// The best seconds of each backend, and the core's cycles a second meanwhile, where known.
struct Measured {
    seconds: Vec<f64>,
    frequency: Option<f64>,
}

impl Sample {
    /// As many tasks as `reference` counts in a [`ROUND`].
    fn of(n: u32) -> Result<Sample, Failure> {
        let rows = suggested_rows(n);
        let plan = RowsPlan::new(n, rows)?;
        let mut kernel = Kernel::new(Backend::Reference, n, rows);
        let mut step = plan.len();
        loop {
            step = step.div_ceil(2);
            let mut tasks = Tasks::new();
            for ordinal in (step / 2..plan.len()).step_by(step as usize) {
                plan.fill(ordinal..ordinal + 1, &mut tasks);
            }
            let (time, completions) = timed(&mut kernel, tasks.as_slice())?;
            if time >= ROUND.as_secs_f64() || step == 1 {
                let nodes = (0..tasks.len())
                    .map(|i| tasks.get(i))
                    .map(|(task, weight)| u64::from(weight) * nodes(n, task, n - rows))
                    .sum();
                let share = tasks.len() as f64 / plan.len() as f64;
                return Ok(Sample { n, rows, share, tasks, completions, nodes });
            }
        }
    }

    fn heading(&self) -> String {
        let Sample { n, rows, tasks, completions, nodes, .. } = self;
        format!(
            "N = {n}, rows (M = {rows}): {} tasks ({:.3}% of the plan), {completions} solutions, \
             {:.1} nodes each in the whole tree below",
            tasks.len(),
            100.0 * self.share,
            *nodes as f64 / *completions as f64
        )
    }

    fn measure(&self, backends: &[Backend], rounds: u32) -> Result<Measured, Failure> {
        let kernel = |&backend: &Backend| Kernel::new(backend, self.n, self.rows);
        let mut kernels: Vec<Kernel> = backends.iter().map(kernel).collect();
        let mut seconds = vec![f64::INFINITY; kernels.len()];
        let mut fastest_clock = None;
        for _ in 0..rounds {
            fastest_clock = frequency().map(|hz| hz.max(fastest_clock.unwrap_or(hz)));
            for (i, kernel) in kernels.iter_mut().enumerate() {
                let (time, completions) = timed(kernel, self.tasks.as_slice())?;
                let (backend, expected) = (backends[i], self.completions);
                if completions != expected {
                    let wrong = anyhow!("{backend} counts {completions}, reference {expected}");
                    return Err(wrong.into());
                }
                seconds[i] = seconds[i].min(time);
            }
        }
        Ok(Measured { seconds, frequency: fastest_clock })
    }
}

/// The seconds that a count takes, and the count.
fn timed(kernel: &mut Kernel, tasks: TaskSlice<'_>) -> Result<(f64, u64), Failure> {
    let begun = Instant::now();
    let completions = kernel.count(tasks).map_err(anyhow::Error::from)?;
    Ok((begun.elapsed().as_secs_f64(), completions))
}

/// The queens that the plain search places in `rows_left` rows below `prefix`.
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

/// The core's cycles a second. The time stamp counter does not tell them, but each multiplication
/// of a chain takes three, as on every x86-64 processor of the last ten years.
fn frequency() -> Option<f64> {
    const CHAIN: u32 = 1_000_000;
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let begun = Instant::now();
    let product = (0..CHAIN).fold(black_box(3_u64), |x, _| x.wrapping_mul(x));
    black_box(product);
    Some(3.0 * f64::from(CHAIN) / begun.elapsed().as_secs_f64())
}
