//! `queens bench`: which counting loops this processor has, and how fast they are.

use std::num::NonZero;
use std::time::Duration;

use board::ring::suggested_width;
use board::rows::suggested_rows;
use board::{Method, Problem};
use clap::Args;
use count::Backend;
use executor::{Sample, fit};
use farm::Plan;
use serde_json::json;

use super::args::available_backend;
use crate::failure::Failure;
use crate::memory::MemoryBound;
use crate::output;
use crate::progress::{clock, si};

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Board size, 8 to 20
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(8..=20))]
    n: u32,
    /// Counting loops to measure [default: all that this processor has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = available_backend)]
    backend: Vec<Backend>,
    /// How long each of them counts, at least, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    sample_ms: u64,
    /// The most memory that one of them may take, as in 500MiB or 2GiB, or as in 25% of what this process may
    /// use
    #[arg(long, value_name = "SIZE", env = "QUEENS_MEMORY", default_value = MemoryBound::HALF)]
    memory: MemoryBound,
    /// Only show the names of the counting loops that this processor has, slowest first
    #[arg(long)]
    list: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let is_wanted = |b: &Backend| args.backend.is_empty() || args.backend.contains(b);
    let backends = || Backend::available().filter(is_wanted);
    if args.list {
        return backends().try_for_each(output::print);
    }
    let n = args.n;
    let methods = [
        Method::Rows { rows: suggested_rows(n) },
        Method::Ring { width: suggested_width(n) },
        Method::Halves,
    ];
    if !args.json {
        output::print(format!("N = {n}, one thread; the whole board is estimated from a sample"))?;
        output::print("backend    method           solutions/s  whole board")?;
    }
    for backend in backends() {
        for method in methods {
            output::print(line(args, backend, method)?)?;
        }
    }
    Ok(())
}

/// Measures one backend and method on a sample. Returns a line of the table.
fn line(args: &BenchArgs, backend: Backend, method: Method) -> Result<String, Failure> {
    let plan = Plan { problem: Problem::Total { n: args.n }, method, tasks: 0 };
    let bytes = fit(plan, NonZero::<usize>::MIN, args.memory.bytes())?.bytes;
    let mut sample = Sample::new(args.n, method, backend, bytes)?;
    sample.fit(Duration::from_millis(args.sample_ms)).map_err(anyhow::Error::from)?;
    let counted = sample.count().map_err(anyhow::Error::from)?;
    let rate = counted.solutions as f64 / counted.seconds;
    let board_seconds = counted.seconds / sample.share();
    if args.json {
        let object = json!({
            "n": args.n,
            "backend": backend.name(),
            "method": method.name(),
            "solutions_per_second": rate,
            "board_seconds": board_seconds,
        });
        return Ok(object.to_string());
    }
    let board =
        if board_seconds < 10.0 { format!("{board_seconds:.3} s") } else { clock(board_seconds) };
    Ok(format!("{:<9}  {:<15}  {:>11}  {board:>11}", backend.name(), method.to_string(), si(rate)))
}
