//! Measures what it costs to count tasks class by class, and to count one class of each again, beside a plain count
//! of the same tasks.
//!
//! For each task a class is drawn. A kernel serves one class, so that all tasks of one class are counted by one
//! kernel. What it prepares for them is measured apart, because a sample has far fewer tasks than the board.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use board::halves::Class;
use board::{Method, Problem};
use bytesize::ByteSize;
use clap::Args;
use count::{Backend, ClassKernel, Kernel, SubtotalKernel, Subtotals};
use executor::Sample;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::args::{available_backend, bytes};
use crate::print;

#[derive(Debug, Args)]
pub(crate) struct ClassesBenchArgs {
    /// Board sizes, 8 to 29
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [18, 20, 22],
          value_parser = clap::value_parser!(u32).range(8..=29))]
    n: Vec<u32>,
    /// Counting loop [default: the fastest that this processor has]
    #[arg(long, value_name = "NAME", value_parser = available_backend)]
    backend: Option<Backend>,
    /// About how many tasks are counted, from all over the plan
    #[arg(long, value_name = "COUNT", default_value_t = 54,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    tasks: u64,
    /// Seed of the classes that are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The most memory that a kernel may take, as in 500MiB or 2GiB [default: half of what the machine or the
    /// container has]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
}

pub(crate) fn run(args: &ClassesBenchArgs) -> Result<()> {
    let backend = args.backend.unwrap_or_else(Backend::detect);
    let memory = bytes(args.memory);
    print(format!(
        "halves by {backend}, one core, {} classes. Times are in plain counts of the same tasks; those of making the \
         kernels, a task of each included, in plain counts of the whole board",
        Class::COUNT
    ))?;
    print(format!(
        "{:>2}  {:>7}  {:>12}  {:>14}  {:>14}  {:>10}  {:>13}",
        "N", "tasks", "plain", "with subtotals", "one class each", "kernels", "largest class"
    ))?;
    for &n in &args.n {
        let mut sample = Sample::new(n, Method::Halves, backend, 0)?;
        sample.choose(args.tasks);
        let tasks = sample.tasks();

        let mut plain = Kernel::of(memory, backend, Problem::Total { n }, Method::Halves)?;
        let mut by_class = SubtotalKernel::new(memory, backend, n)?;
        // The system provides memory only when it is touched.
        let (task, weight) = tasks.get(0);
        plain.count(tasks.slice(0..1))?;
        by_class.count(task, weight)?;

        let begun = Instant::now();
        let count = plain.count(tasks.as_slice())?;
        let plain = begun.elapsed();

        let begun = Instant::now();
        let mut subtotals: Vec<Subtotals> = Vec::new();
        for (task, weight) in (0..tasks.len()).map(|i| tasks.get(i)) {
            subtotals.push(by_class.count(task, weight)?);
        }
        let with_subtotals = begun.elapsed();
        let sum: u64 = subtotals.iter().flatten().sum();
        ensure!(sum == count, "N = {n}: the subtotals add up to {sum}, and the tasks to {count}");

        let mut drawn: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
        let mut random = StdRng::seed_from_u64(args.seed);
        for task in 0..tasks.len() {
            let number = random.random_range(0..Class::COUNT);
            let class = Class::from_number(number).expect("there is such a class");
            drawn.entry(class).or_default().push(task);
        }
        let (mut prepared, mut opened) = (Duration::ZERO, Duration::ZERO);
        for (class, places) in drawn {
            let begun = Instant::now();
            let mut kernel = ClassKernel::new(memory, backend, n, class)?;
            let (task, weight) = tasks.get(places[0]);
            kernel.count(task, weight)?;
            prepared += begun.elapsed();
            let begun = Instant::now();
            for place in places {
                let (task, weight) = tasks.get(place);
                let (found, expected) =
                    (kernel.count(task, weight)?, subtotals[place][class.number()]);
                ensure!(
                    found == expected,
                    "N = {n}: a class counts {found}, and {expected} before"
                );
            }
            opened += begun.elapsed();
        }

        let largest: u64 = (0..Class::COUNT)
            .map(|class| subtotals.iter().map(|subtotals| subtotals[class]).sum())
            .max()
            .expect("there are classes");
        let times = |time: Duration| time.as_secs_f64() / plain.as_secs_f64();
        print(format!(
            "{n:>2}  {:>7}  {:>10.3} s  {:>14.3}  {:>14.3}  {:>10.4}  {:>11.1} %",
            tasks.len(),
            plain.as_secs_f64(),
            times(with_subtotals),
            times(opened),
            times(prepared) * sample.share(),
            100.0 * largest as f64 / count as f64
        ))?;
    }
    Ok(())
}
