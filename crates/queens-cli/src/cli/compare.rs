//! `queens compare`: every algorithm and method on the same boards, with one thread each.

use std::ops::RangeInclusive;

use board::{MethodChoice, Problem};
use clap::Args;
use console::Term;
use count::Backend;
use literature::compare::{Algorithm, Contest, Line, Measured, Why, agreed};
use serde_json::json;

use super::options::{STATES_MEMORY, in_units, memory, one_of, sizes_of_boards};
use crate::answer::check_total;
use crate::failure::Failure;
use crate::output;
use crate::table::dash;
use crate::terminal::width;

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
    let layout = Layout::new(width(&Term::stdout()));
    if !args.json {
        output::print(layout.head())?;
    }
    for n in args.boards.clone() {
        let board = contest.board(n)?;
        agreed(&board)?.map_or(Ok(()), |total| check_total(Problem::Total { n }, total))?;
        for line in &board {
            output::print(if args.json { json(line) } else { layout.row(line) })?;
        }
    }
    Ok(())
}

/// The columns besides N and the algorithm, each with its width. All but the seconds are left out
/// where the terminal is too narrow, in this order.
const COLUMNS: [(&str, usize); 6] =
    [("total", 18), ("seconds", 13), ("range", 8), ("nodes", 17), ("nodes/solution", 16), ("", 9)];
const SPARED: [usize; 5] = [4, 2, 3, 5, 0];

/// Prints lines with those columns for which the terminal has room.
struct Layout([bool; 6]);

impl Layout {
    fn new(width: Option<usize>) -> Layout {
        const FIRST: usize = 22;
        let mut shown = [true; 6];
        for column in SPARED {
            let widths = COLUMNS.iter().zip(shown).filter(|(_, shown)| *shown);
            let taken = FIRST + widths.map(|((_, width), _)| width).sum::<usize>();
            if width.is_none_or(|width| taken <= width) {
                break;
            }
            shown[column] = false;
        }
        Layout(shown)
    }

    fn line(&self, n: &str, algorithm: &str, entries: [String; 6]) -> String {
        let mut line = format!("{n:>2}  {algorithm:<18}");
        for ((entry, (_, width)), _) in entries.iter().zip(COLUMNS).zip(self.0).filter(|it| it.1) {
            line += &format!("{entry:>width$}");
        }
        line.trim_end().into()
    }

    fn head(&self) -> String {
        self.line("N", "algorithm", COLUMNS.map(|(name, _)| name.into()))
    }

    fn row(&self, line: &Line) -> String {
        let (n, algorithm) = (line.n.to_string(), line.algorithm.name);
        let Measured { found, seconds, slowest } = match line.outcome {
            Err(why) => return format!("{n:>2}  {algorithm:<18}  {}", reason(why)),
            Ok(measured) => measured,
        };
        let more = format!("+{:.0}%", 100.0 * (slowest / seconds - 1.0));
        let each = found.nodes_per_solution().map_or_else(dash, |nodes| format!("{nodes:.2}"));
        let entries = [
            found.total.to_string(),
            format!("{seconds:.6}"),
            if slowest > seconds { more } else { dash() },
            found.nodes.map_or_else(dash, |nodes| nodes.to_string()),
            each,
            if is_default(line) { "default".into() } else { String::new() },
        ];
        self.line(&n, algorithm, entries)
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
