//! The counting loops and methods on one core, against the seed's recursion in the same run.
//!
//! Another program on the machine slows one measurement and not the next. So all take turns, round
//! after round, each with a sample of tasks that suits its speed, and the best round of each is
//! shown: its ratio to the first holds where seconds do not.

use std::hint::black_box;
use std::time::Instant;

use anyhow::anyhow;
use board::ring::suggested_width;
use board::rows::suggested_rows;
use board::{Method, Prefix};
use clap::Args;
use count::Backend;

use super::sample::Sample;
use crate::cli::available_backend;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct KernelsBenchArgs {
    /// Board sizes, 8 to 26; above 20 by halves only, against the recursion at 20
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [16, 18],
          value_parser = clap::value_parser!(u32).range(8..=26))]
    n: Vec<u32>,
    /// Counting loops to measure beside reference [default: all that this processor has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = available_backend)]
    backend: Vec<Backend>,
    /// How often each of them counts its sample
    #[arg(long, value_name = "R", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Only show the counting loops that this processor has, slowest first
    #[arg(long)]
    list: bool,
}

/// The largest board of which `reference` counts a single task in about a second.
const MAX_SEARCHED: u32 = 20;

pub(super) fn run(args: KernelsBenchArgs) -> Result<(), Failure> {
    if args.list {
        return Backend::available().try_for_each(output::print);
    }
    let backends: Vec<Backend> = Backend::available()
        .filter(|b| *b == Backend::Reference || args.backend.is_empty() || args.backend.contains(b))
        .collect();
    for n in args.n {
        let mut lines = Vec::new();
        if n > MAX_SEARCHED {
            let rows = suggested_rows(MAX_SEARCHED);
            let method = Method::Rows { rows };
            lines.push(Line::new(Sample::of(MAX_SEARCHED, method, Backend::Reference)?));
            for &backend in backends.iter().filter(|backend| **backend != Backend::Reference) {
                lines.push(Line::new(Sample::of(n, Method::Halves, backend)?));
            }
        } else {
            let rows = Method::Rows { rows: suggested_rows(n) };
            let ring = Method::Ring { width: suggested_width(n) };
            for method in [rows, ring, Method::Halves] {
                let samples = backends.iter().map(|&backend| Sample::of(n, method, backend));
                let samples = agreeing(samples.collect::<Result<_, _>>()?)?;
                lines.extend(samples.into_iter().map(Line::new));
            }
        }
        let frequency = measure(&mut lines, args.rounds)?;
        print(n, &lines, frequency)?;
    }
    Ok(())
}

/// Refuses to measure loops that differ on the first one's sample.
fn agreeing(mut samples: Vec<Sample>) -> Result<Vec<Sample>, Failure> {
    let Some((reference, others)) = samples.split_first_mut() else { return Ok(samples) };
    let expected = reference.count()?.solutions;
    for other in others {
        let found = other.solutions_of(reference)?;
        if found != expected {
            let (method, backend) = (other.method, other.backend);
            return Err(anyhow!("{method}: {backend} counts {found}, not {expected}").into());
        }
    }
    Ok(samples)
}

/// One loop of the table.
struct Line {
    sample: Sample,
    best_seconds: f64,
    solutions: u64,
    nodes: Option<u64>,
}

impl Line {
    fn new(sample: Sample) -> Line {
        Line { sample, best_seconds: f64::INFINITY, solutions: 0, nodes: None }
    }

    fn rate(&self) -> f64 {
        self.solutions as f64 / self.best_seconds
    }

    /// Nodes a solution; of the reference, those of the plain tree, which it visits.
    fn nodes(&self) -> Option<f64> {
        let Sample { n, method, ref tasks, .. } = self.sample;
        let nodes = match (self.nodes, method) {
            (Some(nodes), _) => nodes,
            (None, Method::Rows { rows }) => (0..tasks.len())
                .map(|i| tasks.get(i))
                .map(|(task, _)| nodes(n, task, n - rows))
                .sum(),
            (None, _) => return None,
        };
        Some(nodes as f64 / self.solutions as f64)
    }
}

/// All in turn, `rounds` times. Returns the core's cycles a second meanwhile, where known.
fn measure(lines: &mut [Line], rounds: u32) -> Result<Option<f64>, Failure> {
    let mut fastest_clock = None;
    for _ in 0..rounds {
        fastest_clock = frequency().map(|hz| hz.max(fastest_clock.unwrap_or(hz)));
        for line in &mut *lines {
            let counted = line.sample.count()?;
            line.best_seconds = line.best_seconds.min(counted.seconds);
            (line.solutions, line.nodes) = (counted.solutions, counted.nodes);
        }
    }
    Ok(fastest_clock)
}

fn print(n: u32, lines: &[Line], frequency: Option<f64>) -> Result<(), Failure> {
    let unit = lines[0].sample.n;
    output::print(format_args!("N = {n}, one core; the first line (N = {unit}) is the unit"))?;
    output::print(
        "method          backend    of the plan       Q/s      ratio   cycles/Q   nodes/Q   MiB",
    )?;
    for line in lines {
        let Sample { method, backend, share, .. } = &line.sample;
        let (rate, ratio) = (line.rate(), line.rate() / lines[0].rate());
        let or_none = |figure: Option<f64>| figure.map_or("-".into(), |f| format!("{f:.1}"));
        let cycles = or_none(frequency.map(|hz| hz / rate));
        let nodes = or_none(line.nodes());
        let mib = count::memory_needed(n, *method).most.div_ceil(1 << 20);
        output::print(format_args!(
            "{:<16}{backend:<11}{:>10.3}%{rate:>10.2e}{ratio:>9.1} x{cycles:>11}{nodes:>10}{mib:>6}",
            method.to_string(),
            100.0 * share
        ))?;
    }
    Ok(())
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
