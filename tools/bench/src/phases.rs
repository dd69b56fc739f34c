//! Measures where the time of the method `halves` goes, in tasks from all over the plan.

use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use board::Method;
use bytesize::ByteSize;
use clap::Args;
use count::{Backend, Kernel, Phase};
use executor::{Fit, Sample, fit};
use farm::{Plan, Problem};

use super::methods::frequency;
use crate::args::{available_backend, bytes};
use crate::print;

#[derive(Debug, Args)]
pub(crate) struct PhasesBenchArgs {
    /// Board sizes, 8 to 29
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [18, 20, 22],
          value_parser = clap::value_parser!(u32).range(8..=29))]
    n: Vec<u32>,
    /// Counting loop, of which reference has no phases [default: the fastest that this processor has]
    #[arg(long, value_name = "NAME", value_parser = available_backend)]
    backend: Option<Backend>,
    /// About how many tasks are counted, from all over the plan
    #[arg(long, value_name = "COUNT", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    tasks: u64,
    /// The most memory that counting may take, as in 500MiB or 2GiB [default: half of what the machine
    /// or the container has]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
}

pub(crate) fn run(args: &PhasesBenchArgs) -> Result<()> {
    let backend = args.backend.unwrap_or_else(Backend::detect);
    let names: String =
        Phase::ALL.iter().map(|phase| format!("  {:>8}", phase.to_string())).collect();
    print(format!(
        "halves by {backend}, one core; cycles per solution, or nanoseconds where a clock is unknown"
    ))?;
    print(format!("{:>2}  {:>7}  {:>8}{names}  {:>8}", "N", "tasks", "Q/s", "all"))?;
    for &n in &args.n {
        let mut sample = Sample::new(n, Method::Halves, backend, 0)?;
        sample.choose(args.tasks);
        let tasks = sample.tasks();
        let problem = Problem::Total { n };
        let plan = Plan { problem, method: Method::Halves, tasks: 0 };
        let Fit { bytes, .. } = fit(plan, NonZero::<usize>::MIN, bytes(args.memory))?;
        let mut kernel = Kernel::of(bytes, backend, problem, Method::Halves)?;
        kernel.start_phases();
        if kernel.phases().is_none() {
            bail!("{backend} has no phases: choose another --backend");
        }
        // The system provides memory only when it is touched.
        kernel.count(tasks.slice(0..1))?;
        kernel.start_phases();
        let begun = Instant::now();
        let solutions = kernel.count(tasks.as_slice())? as f64;
        let took = begun.elapsed();
        let phases = kernel.phases().expect("they were started");
        let hz = frequency().unwrap_or(1e9);
        let per_solution = |time: Duration| time.as_secs_f64() * hz / solutions;
        let columns: String =
            phases.iter().map(|(_, time)| format!("  {:>8.2}", per_solution(*time))).collect();
        print(format!(
            "{n:>2}  {:>7}  {:>8.2e}{columns}  {:>8.2}",
            tasks.len(),
            solutions / took.as_secs_f64(),
            per_solution(took)
        ))?;
    }
    Ok(())
}
