//! Measures every method and backend on one core, relative to the seed's recursion in the same run.
//!
//! Another program on the machine may slow one measurement and not the next. So all measurements take
//! turns, round after round, each with a sample of tasks that suits its speed, and the best round of
//! each is shown. Ratios of these are reproducible even where seconds are not. All boards take part in
//! every round, so that they can be compared with each other.
//!
//! Each measurement has a process of its own, so that its memory can be measured. Kernels that do not fit
//! into the memory together free theirs after every count.

mod child;
mod table;

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use board::ring::suggested_width;
use bytesize::ByteSize;
use clap::Args;
use count::Backend;
use executor::{TooLittleMemory, fit};
use farm::{Method, Plan, Problem};

use self::child::{Fitted, SampleProcess};
pub(crate) use self::child::{SampleArgs, serve};
use crate::args::{available_backend, bytes};
use crate::print;

#[derive(Debug, Args)]
pub(crate) struct MethodsBenchArgs {
    /// Board sizes, 8 to 26, all in one run; above 20 by halves only
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [16, 18],
          value_parser = clap::value_parser!(u32).range(8..=26))]
    n: Vec<u32>,
    /// Board size whose recursion, rows by reference, is the unit of all ratios, 8 to 20 [default:
    /// each board's own, and 20 for larger ones]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=20))]
    unit: Option<u32>,
    /// Methods to measure, besides the unit of all ratios [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = ["rows", "ring", "halves"])]
    method: Vec<String>,
    /// Counting loops to measure besides reference [default: all that this processor has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = available_backend)]
    backend: Vec<Backend>,
    /// How often each counting loop counts its sample
    #[arg(long, value_name = "R", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// The least time of a counting loop in each round, milliseconds. Above N = 20 a single task may take
    /// this long, and tasks differ: more time gives a sample that is more typical of the board
    #[arg(long, value_name = "MS", default_value_t = 150,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    sample_ms: u64,
    /// The most memory that kernels may take together, as in 500MiB or 2GiB [default:
    /// half of what the machine or the container has]
    #[arg(long, value_name = "SIZE", env = "QUEENS_MEMORY")]
    memory: Option<ByteSize>,
    /// Only show the counting loops that this processor has, slowest first
    #[arg(long)]
    list: bool,
}

/// The largest board of which `reference` counts a single task in about a second.
const MAX_SEARCHED: u32 = 20;

pub(crate) fn run(mut args: MethodsBenchArgs) -> Result<()> {
    if args.list {
        return Backend::available().try_for_each(print);
    }
    args.n.sort_unstable();
    args.n.dedup();
    let memory = bytes(args.memory);
    let wanted = args.wanted()?;
    let bytes = wanted.iter().map(|&(n, method, _)| kernel_bytes(n, method, memory));
    let bytes: Vec<u64> = bytes.collect::<Result<_, _>>()?;
    let together = bytes.iter().sum::<u64>();
    let crowded = together > memory;
    if crowded {
        let [memory, together] = [memory, together].map(|bytes| ByteSize(bytes).display().iec());
        print(format_args!(
            "kernels take turns within {memory}: together they would take {together}"
        ))?;
    }
    let mut lines = Vec::new();
    for ((n, method, backend), bytes) in wanted.into_iter().zip(bytes) {
        let process = SampleProcess::start(n, method, backend, bytes, crowded)?;
        lines.push(Line::new(n, method, backend, process, args.sample_ms)?);
    }
    for group in lines.chunk_by_mut(|a, b| (a.n, a.method) == (b.n, b.method)) {
        print(agreement(group)?)?;
    }
    let hz = measure(&mut lines, args.rounds)?;
    let boards: Vec<Vec<&Line>> = args.n.iter().map(|&n| of_board(&lines, n)).collect();
    boards.iter().try_for_each(|board| whole_boards(board))?;
    for board in &boards {
        let unit = args.unit_of(board[0].n);
        let unit = lines.iter().find(|line| line.is_unit(unit)).expect("it was measured");
        table::board(board, unit, hz)?;
    }
    table::halves(&lines)
}

fn of_board(lines: &[Line], n: u32) -> Vec<&Line> {
    lines.iter().filter(|line| line.n == n).collect()
}

impl MethodsBenchArgs {
    /// The board whose recursion is the unit of the ratios for board `n`.
    fn unit_of(&self, n: u32) -> u32 {
        self.unit.unwrap_or(n.min(MAX_SEARCHED))
    }

    fn wants(&self, method: Method) -> bool {
        self.method.is_empty() || self.method.iter().any(|name| name == method.name())
    }

    /// The measurements; neighbours share board and method.
    fn wanted(&self) -> Result<Vec<(u32, Method, Backend)>> {
        let chosen = |b: &Backend| self.backend.is_empty() || self.backend.contains(b);
        let is_wanted = |b: &Backend| *b == Backend::Reference || chosen(b);
        let all: Vec<Backend> = Backend::available().filter(is_wanted).collect();
        let mut wanted = Vec::new();
        let mut units: Vec<u32> = self.n.iter().map(|&n| self.unit_of(n)).collect();
        units.sort_unstable();
        units.dedup();
        let is_apart = |unit: &u32| !self.n.contains(unit) || !self.wants(recursion(*unit));
        for unit in units.into_iter().filter(is_apart) {
            wanted.push((unit, recursion(unit), Backend::Reference));
        }
        for &n in &self.n {
            if n > MAX_SEARCHED {
                if all == [Backend::Reference] {
                    bail!(
                        "N = {n} takes reference too long: give another backend, or boards up to \
                         {MAX_SEARCHED}"
                    );
                }
                if !self.wants(Method::Halves) {
                    bail!(
                        "N = {n} is measured by halves only: give that method, or boards up to {MAX_SEARCHED}"
                    );
                }
                let fast = all.iter().filter(|backend| **backend != Backend::Reference);
                wanted.extend(fast.map(|&backend| (n, Method::Halves, backend)));
                continue;
            }
            let ring = Method::Ring { width: suggested_width(n) };
            let methods = [recursion(n), ring, Method::Halves];
            for method in methods.into_iter().filter(|method| self.wants(*method)) {
                wanted.extend(all.iter().map(|&backend| (n, method, backend)));
            }
        }
        Ok(wanted)
    }
}

/// The memory that a kernel for this board may take, out of `memory` bytes.
fn kernel_bytes(n: u32, method: Method, memory: u64) -> Result<u64, TooLittleMemory> {
    let plan = Plan { problem: Problem::Total { n }, method, tasks: 0 };
    Ok(fit(plan, NonZero::<usize>::MIN, memory)?.bytes)
}

/// The method of the seed. A quarter of the rows are placed, as in all recorded figures: with fewer and longer tasks the
/// recursion, which is the unit of ratios, takes 6% less.
fn recursion(n: u32) -> Method {
    Method::Rows { rows: (n + 2) / 4 }
}

/// Lets all backends of one board and method count the smallest of their samples, and reports that they
/// agree.
fn agreement(lines: &mut [Line]) -> Result<String> {
    let Line { n, method, .. } = lines[0];
    let smallest = lines.iter().map(|line| line.fitted).min_by_key(|fitted| fitted.tasks);
    let smallest = smallest.expect("a group has lines");
    let mut found = Vec::new();
    for line in lines.iter_mut() {
        found.push((line.backend, line.process.solutions_of(&smallest)?));
    }
    let (first, expected) = found[0];
    if let Some((other, count)) = found.iter().find(|(_, count)| *count != expected) {
        let text = format!("N = {n}, {method}: {other} counts {count}, and {first} {expected}");
        return Err(anyhow!(text));
    }
    let names: Vec<&str> = found.iter().map(|(backend, _)| backend.name()).collect();
    Ok(match names.as_slice() {
        [alone] => format!("not checked: N = {n}, {method}: {alone} is alone"),
        all => format!(
            "checked: N = {n}, {method}: {} agree on {} task{}",
            all.join(", "),
            smallest.tasks,
            if smallest.tasks == 1 { "" } else { "s" }
        ),
    })
}

/// Compares the totals of those methods whose samples were the whole board, and reports that they agree.
fn whole_boards(board: &[&Line]) -> Result<()> {
    let mut whole: Vec<&Line> =
        board.iter().filter(|line| line.fitted.share == 1.0).copied().collect();
    let [first, others @ ..] = whole.as_slice() else { return Ok(()) };
    if let Some(other) = others.iter().find(|other| other.solutions != first.solutions) {
        let text = format!(
            "N = {}: {} counts {}, and {} {}",
            first.n, other.method, other.solutions, first.method, first.solutions
        );
        return Err(anyhow!(text));
    }
    let n = first.n;
    whole.dedup_by_key(|line| line.method);
    if whole.len() < 2 {
        return Ok(());
    }
    let methods: Vec<String> = whole.iter().map(|line| line.method.to_string()).collect();
    print(format!("checked: N = {}: {} agree on the total", n, methods.join(", ")))
}

/// One line of a table.
struct Line {
    n: u32,
    method: Method,
    backend: Backend,
    process: SampleProcess,
    fitted: Fitted,
    best_seconds: f64,
    solutions: u64,
    nodes: Option<u64>,
}

impl Line {
    fn new(
        n: u32,
        method: Method,
        backend: Backend,
        mut process: SampleProcess,
        sample_ms: u64,
    ) -> Result<Line> {
        let fitted = process.fit(sample_ms)?;
        let best_seconds = f64::INFINITY;
        Ok(Line { n, method, backend, process, fitted, best_seconds, solutions: 0, nodes: None })
    }

    fn is_unit(&self, n: u32) -> bool {
        (self.n, self.method, self.backend) == (n, recursion(n), Backend::Reference)
    }

    fn rate(&self) -> f64 {
        self.solutions as f64 / self.best_seconds
    }

    /// Nodes per solution. For the reference these are the nodes of the plain tree, which it visits.
    fn nodes(&self) -> Option<f64> {
        let nodes = self.nodes.or(self.fitted.plain_nodes)?;
        Some(nodes as f64 / self.solutions as f64)
    }
}

/// Measures all lines in turn, `rounds` times. Returns the core's cycles per second, if known.
fn measure(lines: &mut [Line], rounds: u32) -> Result<Option<f64>> {
    let mut fastest_clock = None;
    for _ in 0..rounds {
        fastest_clock = frequency().map(|hz| hz.max(fastest_clock.unwrap_or(hz)));
        for line in &mut *lines {
            let counted = line.process.count()?;
            line.best_seconds = line.best_seconds.min(counted.seconds);
            (line.solutions, line.nodes) = (counted.solutions, counted.nodes);
        }
    }
    Ok(fastest_clock)
}

/// The core's cycles per second, which the time stamp counter does not tell. In a chain of dependent
/// multiplications each takes three cycles on every x86-64 processor of the last ten years.
pub(crate) fn frequency() -> Option<f64> {
    const CHAIN: u32 = 1_000_000;
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let begun = Instant::now();
    let product = (0..CHAIN).fold(black_box(3_u64), |x, _| x.wrapping_mul(x));
    black_box(product);
    Some(3.0 * f64::from(CHAIN) / begun.elapsed().as_secs_f64())
}
