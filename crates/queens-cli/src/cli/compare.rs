//! `queens compare`: every algorithm and method on the same boards, with one thread each.

use std::ops::RangeInclusive;

use board::{MethodChoice, Problem};
use clap::Args;
use count::Backend;
use literature::compare::{Algorithm, Contest, Found, Line, Measured, Why, agreed};
use serde_json::json;

use super::options::{STATES_MEMORY, in_units, memory, one_of, sizes_of_boards};
use crate::answer::check_total;
use crate::failure::Failure;
use crate::output;
use crate::table::{Column, Table, dash};

const EXAMPLE: &str = "\
Examples:
  queens compare 12 --algorithms arrays,masks,states,colours --json

Without --all, an algorithm counts boards up to the largest that takes it about two seconds: 7 for \
combinations, 8 for rooks, 11 for permutations-all; 13 for \
direct, arrays, stack and permutations; 14 for forced-columns, forced and states; 15 for masks, \
mirror, flip, mirror-flip, unique and the two by reference; 17 for rows; 18 for colours.

nodes are partial placements: whole boards looked at by the first three, queens placed by the searches from \
direct to mirror-flip and by forced, distinct states by states; the others do not count \
them. seconds are processor time of the one thread, the least of several runs; the range says how much longer the \
slowest took.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLE)]
pub(super) struct CompareArgs {
    /// Board size, or sizes as in 8..16, both ends included; 0 to 32
    #[arg(value_name = "N", value_parser = sizes_of_boards)]
    boards: RangeInclusive<u32>,
    /// What to compare [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = one_of(Algorithm::ALL.map(|it| (it.name, it, it.about))))]
    algorithms: Vec<Algorithm>,
    /// An algorithm that takes longer than this for some board is left out for larger ones
    #[arg(long, value_name = "SECONDS", default_value = "2s", value_parser = in_units(1_000, 0..=u64::MAX))]
    seconds: u64,
    /// Count boards of any size by every algorithm
    ///
    /// A count that has begun is not stopped, whatever --seconds says.
    #[arg(long)]
    all: bool,
    /// The most memory that states may take, as in 500MiB or 2GiB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    for backend in [Backend::Reference, Backend::detect()] {
        count::self_test(backend, MethodChoice::all())?;
    }
    let algorithms =
        if args.algorithms.is_empty() { &Algorithm::ALL[..] } else { &args.algorithms };
    let memory = args.memory.unwrap_or(STATES_MEMORY);
    let mut contest = Contest::new(algorithms, args.seconds as f64, args.all, memory);
    for n in args.boards.clone() {
        let board = contest.board(n)?;
        agreed(&board)?.map_or(Ok(()), |total| check_total(Problem::Total { n }, total))?;
        if args.json {
            board.iter().map(json).try_for_each(output::print)?;
        } else {
            Table::new(&board, &COLUMNS).print(&SPARED, "")?;
        }
    }
    Ok(())
}

const COLUMNS: [Column<Line>; 8] = [
    ("N", true, |line| line.n.to_string()),
    ("algorithm", false, |line| line.algorithm.name.into()),
    ("total", true, |line| found(line, |found| Some(found.total.to_string()))),
    ("seconds", true, |line| measured(line, |it| Some(format!("{:.6}", it.seconds)))),
    ("range", true, |line| measured(line, range)),
    ("nodes", true, |line| found(line, |found| found.nodes.map(|nodes| nodes.to_string()))),
    ("nodes/solution", true, |line| {
        found(line, |found| found.nodes_per_solution().map(|nodes| format!("{nodes:.2}")))
    }),
    ("", false, note),
];

/// The columns that a narrow terminal leaves out, in this order.
const SPARED: [&str; 4] = ["nodes/solution", "range", "nodes", "total"];

fn measured(line: &Line, entry: fn(Measured) -> Option<String>) -> String {
    line.outcome.ok().and_then(entry).unwrap_or_else(dash)
}

fn found(line: &Line, entry: fn(Found) -> Option<String>) -> String {
    line.outcome.ok().and_then(|measured| entry(measured.found)).unwrap_or_else(dash)
}

/// How much longer the slowest run took than the fastest one.
fn range(Measured { seconds, slowest, .. }: Measured) -> Option<String> {
    (slowest > seconds).then(|| format!("+{:.0}%", 100.0 * (slowest / seconds - 1.0)))
}

fn note(line: &Line) -> String {
    match line.outcome {
        Err(why) => reason(why).into(),
        Ok(_) if is_default(line) => "default".into(),
        Ok(_) => String::new(),
    }
}

fn json(line: &Line) -> String {
    let measured = line.outcome.ok();
    let found = measured.map(|measured| measured.found);
    json!({
        "n": line.n,
        "algorithm": line.algorithm.name,
        "total": found.map(|found| found.total.to_string()),
        "seconds": measured.map(|measured| measured.seconds),
        "slowest_seconds": measured.map(|measured| measured.slowest),
        "nodes": found.and_then(|found| found.nodes),
        "nodes_per_solution": found.and_then(|found| found.nodes_per_solution()),
        "default": is_default(line),
        "left_out": line.outcome.err().map(reason),
    })
    .to_string()
}

/// Whether `queens count` uses this algorithm by default on a board of this size.
fn is_default(line: &Line) -> bool {
    MethodChoice::suggested(Problem::Total { n: line.n }).name() == line.algorithm.name
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Unsuited => "no such cut",
        Why::TooLarge => "left out without --all",
        Why::TooSlow => "left out by --seconds",
        Why::Memory => "left out by --memory",
    }
}
