//! `queens complete`: finds a placement with the given queens, or proves that there is none.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use solve::{Completion, Effort, Notation, Opening, Start, complete_within};

use super::options::in_units;
use super::placement_output::{self, FormatArgs};
use super::queens_input::GivenArgs;
use super::rules::{BlockedArgs, RulesArgs};
use super::solve::{LARGEST_SEARCHED, check};
use crate::failure::Failure;
use crate::stderr;

const EXAMPLES: &str = "\
Examples:
  queens complete 8 --given a1,g2    a1 is the lower left corner
  queens complete --board FILE       a drawn board, its lines from the highest row down:
                                     Q a queen, . or - an empty square; # begins a comment
  queens complete 8 --board FILE     ... or a list of squares, which needs N
  queens complete 100000 --random-given 50000 --stats
  queens complete 13 --problem toroidal --given a1

Exit codes: 0 completed; 1 proven that no placement has these queens; 15 undecided, because \
--limit-seconds were over.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CompleteArgs {
    /// Board size, 0 to 10000000
    ///
    /// A drawn board says its own.
    n: Option<u32>,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    blocked: BlockedArgs,
    /// Give so many queens of a random placement
    ///
    /// So there is a completion; --seed chooses them [default: none].
    #[arg(long, value_name = "Q", requires = "n", env = "QUEENS_RANDOM_GIVEN",
          conflicts_with_all = ["given", "board", "problem", "blocked"])]
    random_given: Option<u32>,
    /// How to fill free rows at first [default: few]
    #[arg(long, value_enum, env = "QUEENS_START")]
    start: Option<OpeningName>,
    /// Print what the search took
    ///
    /// It goes to standard error, or with JSON into the object.
    #[arg(long, env = "QUEENS_STATS")]
    stats: bool,
    /// Give up after so long
    ///
    /// A bare number is seconds.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = in_units(1_000, 0..=u64::MAX))]
    limit_seconds: u64,
    /// Seed of the search
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u32,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OpeningName {
    /// With few attacks: each queen where none attacks it, if such a square is found soon
    Few,
    /// In any order, with attacks on half of the diagonals
    Random,
}

pub(super) fn run(args: &CompleteArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let given = start(args)?;
    let n = given.n();
    let notation = args.format.for_board(n)?;
    let limit = Duration::from_secs(args.limit_seconds);
    let stop = || started.elapsed() >= limit;
    let opening = match args.start {
        None | Some(OpeningName::Few) => Opening::Few,
        Some(OpeningName::Random) => Opening::Random,
    };
    let (completion, effort) = complete_within(&given, opening, args.seed.into(), u64::MAX, stop);
    if args.stats && notation != Notation::Json {
        stderr::print(table(&effort));
    }
    match completion {
        Completion::Found(placement) => {
            let columns = placement.columns().iter().copied();
            check(n, columns.clone())?;
            if !given.admits(&placement) {
                return Err(anyhow!("what was found for N = {n} is no completion").into());
            }
            let fields = if args.stats { fields(&effort).to_vec() } else { Vec::new() };
            placement_output::print(notation.of_rows(n, columns, &fields))
        }
        Completion::Impossible => Err(Failure::NoPlacement(match given.queens_given() {
            _ if !given.is_plain() => {
                format!("no placement of {n} queens stands so: everything was searched")
            }
            0 => format!("there is no placement of {n} queens on a board of size {n}"),
            1 => format!("no placement of {n} queens has the given one: everything was searched"),
            many => {
                format!("no placement of {n} queens has the {many} given: everything was searched")
            }
        })),
        Completion::Undecided => Err(Failure::Undecided(format!(
            "undecided: {} s did not suffice to find a completion or to prove that there is none; give more time with \
             --limit-seconds, or another --seed",
            args.limit_seconds
        ))),
    }
}

fn fields(effort: &Effort) -> [(&'static str, u64); 4] {
    let Effort { attempts, swaps, conflicts, nodes } = *effort;
    [("attempts", attempts), ("swaps", swaps), ("conflicts", conflicts), ("exact_nodes", nodes)]
}

fn table(effort: &Effort) -> String {
    let Effort { attempts, swaps, conflicts, nodes } = effort;
    format!(
        "attempts   {attempts:>12}  of the local search\n\
         conflicts  {conflicts:>12}  on diagonals when the last attempt began\n\
         swaps      {swaps:>12}  in all attempts\n\
         exact      {nodes:>12}  queens placed by the exact search\n"
    )
}

/// The board's size and the given queens, from the options and the file.
fn start(args: &CompleteArgs) -> Result<Start, Failure> {
    let usage = |words: &str| Failure::Usage(words.into());
    let given = args.given.read()?;
    let drawn = given.as_ref().and_then(|(drawn, _)| *drawn);
    if given.is_none() && args.random_given.is_none() && !args.blocked.is_given() {
        return Err(usage(
            "say which queens stand: give --given, --board or --random-given, or which squares are --blocked",
        ));
    }
    let n = args.n.or(drawn);
    let n = n.ok_or_else(|| usage("squares do not say how large the board is: give N"))?;
    if let Some(drawn) = drawn.filter(|&drawn| drawn != n) {
        let reason = format!("the drawn board has size {drawn}, not {n}: leave out {n}");
        return Err(Failure::Usage(reason));
    }
    if n > LARGEST_SEARCHED {
        return Err(Failure::Usage(format!(
            "a board of size {n}: give a size of at most {LARGEST_SEARCHED}"
        )));
    }
    match (given, args.random_given) {
        (_, Some(queens)) if queens > n => Err(Failure::Usage(format!(
            "--random-given {queens} on a board of size {n}: give at most {n}"
        ))),
        (_, Some(queens)) => Start::random(n, queens, args.seed.into()).ok_or_else(|| {
            Failure::NoPlacement(format!("there is no placement of {n} queens to take them from"))
        }),
        (given, None) => {
            let (_, queens) = given.unwrap_or_default();
            let blocked = args.blocked.squares(n)?;
            Start::with_rules(n, args.rules.rules(), &queens)
                .and_then(|start| start.blocking(&blocked))
                .map_err(|error| Failure::Usage(error.to_string()))
        }
    }
}
