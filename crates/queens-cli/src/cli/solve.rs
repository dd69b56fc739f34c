//! `queens solve`: one placement, constructed, random, or searched with given queens.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use clap::Args;
use console::Term;
use solve::{
    Completion, ConstructError, Construction, Effort, Notation, Opening, Placement, Rules, Start,
    complete_within, is_placement, random_placement,
};

use super::options::{in_units, one_of};
use super::placement_output::FormatArgs;
use super::queens_input::GivenArgs;
use super::rules::{BlockedArgs, RulesArgs};
use crate::failure::{Failure, usage};
use crate::terminal::{self, is_coloured};
use crate::{output, stderr};

const EXAMPLES: &str = "\
Examples:
  queens solve 8                     a6 b4 c7 d1 e8 f2 g5 h3; a1 is the lower left corner
  queens solve 8 --format board      a drawn board
  queens solve 100000000 > columns   a column number a line
  queens solve 14 --construction mod12 --by-file -o permutation
  queens solve 1000 --random --seed 7
  queens solve 13 --problem toroidal
  queens solve 8 --blocked a1-h8,d1
  queens solve 8 --given a1,g2       a placement that has these queens
  queens solve --board FILE          a drawn board, its lines from the highest row down:
                                     Q a queen, . or - an empty square; # begins a comment
  queens solve 8 --board FILE        ... or a list of squares, which needs N
  queens solve 100000 --random-given 50000 --stats

Superqueens and boards with given queens or blocked squares are searched. Every placement is checked before it is \
printed.

Exit codes: 0 solved; 1 there is none, as for N = 2 and 3, and on a torus for every N that is not prime to 6; \
15 undecided, because --limit-seconds were over.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SolveArgs {
    /// Board size, 0 to 100000000
    ///
    /// Random and searched boards have at most 10000000. A drawn board says its own.
    #[arg(required_unless_present = "board")]
    n: Option<u32>,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    blocked: BlockedArgs,
    /// Give Q queens of a random placement
    ///
    /// So a placement that has them exists. --seed chooses them [default: none].
    #[arg(hide_short_help = true, long, value_name = "Q", requires = "n",
          conflicts_with_all = ["given", "board", "rules", "blocked"])]
    random_given: Option<u32>,
    /// The rule by which it is constructed [default: pauls]
    #[arg(long, value_name = "RULE", value_parser = one_of(RULES),
          conflicts_with_all = ["random", "given", "board", "random_given", "rules", "blocked"])]
    construction: Option<Rule>,
    /// Print a random one; not all are equally likely
    #[arg(long)]
    random: bool,
    /// Seed of what is random, and of a search
    ///
    /// [default: 0, and another one each time with --random]
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    /// Write a permutation as the rank on each file
    ///
    /// Files are taken from a on [default: as the column on each rank].
    #[arg(long, conflicts_with = "random")]
    by_file: bool,
    /// How a search fills free rows at first [default: few]
    #[arg(hide_short_help = true, long, value_name = "START", value_parser = one_of(OPENINGS))]
    start: Option<Opening>,
    /// Print what a search took
    ///
    /// It goes to standard error, or with JSON into the object.
    #[arg(long)]
    stats: bool,
    /// Give a search up after this time [default: 60s]
    ///
    /// In seconds, or with a unit as in 5m.
    #[arg(long, value_name = "SECONDS", value_parser = in_units(1_000, 0..=u64::MAX))]
    limit_seconds: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
}

type Rule = fn(u32) -> Result<Construction, ConstructError>;
const RULES: [(&str, Rule, &str); 2] = [
    ("pauls", Construction::new, "Two staircases of knight's moves, by E. Pauls (1874)"),
    (
        "mod12",
        Construction::mod12,
        "File by file the even ranks, then the odd ones, with exceptions by N mod 12",
    ),
];

const OPENINGS: [(&str, Opening, &str); 2] = [
    ("few", Opening::Few, "Each queen where none attacks it, if such a square is found soon"),
    ("random", Opening::Random, "In any order, with attacks on half of the diagonals"),
];

/// The largest board of --random and of a search, which are held in memory with about 30 bytes per
/// row.
const LARGEST_HELD: u32 = 10_000_000;

pub(super) fn run(args: &SolveArgs) -> Result<(), Failure> {
    let given = args.given.read()?;
    let n = args.given.size(args.n)?;
    let usual = if n <= 26 { Notation::Squares } else { Notation::Columns };
    let notation = args.format.notation(n, usual)?;
    let is_searched = given.is_some()
        || args.random_given.is_some()
        || args.blocked.is_given()
        || args.rules.rules == Rules::Superqueens;
    let of_searches = [
        ("--seed", args.seed.is_some() && !args.random),
        ("--start", args.start.is_some()),
        ("--stats", args.stats),
        ("--limit-seconds", args.limit_seconds.is_some()),
    ];
    if let Some((option, _)) = of_searches.iter().find(|(_, is_given)| *is_given && !is_searched) {
        return usage(format!("nothing is searched here: leave out {option}"));
    }
    if args.by_file && args.stats && notation == Notation::Json {
        return usage("JSON by file has no statistics: leave out --by-file, --stats or --json");
    }
    if !is_searched && !args.random {
        return construct(args, n, notation);
    }
    if n > LARGEST_HELD {
        return Err(Failure::Plan(format!(
            "a board of size {n} is too large for --random or a search: give at most {LARGEST_HELD}"
        )));
    }
    let seed = args.seed.unwrap_or_else(|| if args.random { rand::random() } else { 0 });
    let mut fields: Vec<(&str, u64)> = Vec::new();
    fields.extend(args.random.then_some(("seed", seed.into())));
    if is_searched {
        let queens = given.map(|given| given.squares.clone()).unwrap_or_default();
        let start = match args.random_given {
            Some(given) if given > n => {
                return usage(format!(
                    "--random-given {given} on a board of size {n}: give at most {n}"
                ));
            }
            Some(given) => Start::random(n, given, seed.into()).ok_or_else(|| {
                Failure::NoPlacement(format!(
                    "there is no placement of {n} queens to take them from"
                ))
            })?,
            None => Start::with_rules(n, args.rules.rules, &queens)?
                .blocking(&args.blocked.squares(n)?)?,
        };
        let (placement, effort) = search(args, &start, seed, notation)?;
        if args.stats && notation == Notation::Json {
            let Effort { attempts, swaps, conflicts, nodes } = effort;
            fields.extend([("attempts", attempts), ("swaps", swaps)]);
            fields.extend([("conflicts", conflicts), ("exact_nodes", nodes)]);
        }
        return print(args, notation, &placement, &fields);
    }
    if args.rules.rules == Rules::Torus {
        return usage("a placement on a torus has a construction of its own: leave out --random");
    }
    let placement = random_placement(n, seed.into())
        .ok_or_else(|| anyhow!("no placement by chance for N = {n}, seed {seed}"))?;
    print(args, notation, &placement, &fields)
}

/// Prints a placement by a rule. A large one is not held in memory.
fn construct(args: &SolveArgs, n: u32, notation: Notation) -> Result<(), Failure> {
    let is_torus = args.rules.rules == Rules::Torus;
    let usual = if is_torus { Construction::toroidal } else { Construction::new };
    let construction = args.construction.unwrap_or(usual)(n).map_err(|error| match error {
        ConstructError::TooLarge(_) => Failure::Plan(error.to_string()),
        _ => Failure::NoPlacement(error.to_string()),
    })?;
    check(n, construction.columns())?;
    if is_torus {
        admitted(&Start::with_rules(n, Rules::Torus, &[])?, &construction.placement())?;
    }
    if args.by_file {
        return shown(notation, notation.by_file(&construction.placement()));
    }
    shown(notation, notation.of_rows(n, construction.columns(), &[]))
}

/// A placement that `start` admits, and what the search for it took.
fn search(
    args: &SolveArgs,
    start: &Start,
    seed: u32,
    notation: Notation,
) -> Result<(Placement, Effort), Failure> {
    let begun = Instant::now();
    let seconds = args.limit_seconds.unwrap_or(60);
    let limit = Duration::from_secs(seconds);
    let opening = args.start.unwrap_or(Opening::Few);
    let stop = || begun.elapsed() >= limit;
    let (completion, effort) = complete_within(start, opening, seed.into(), stop);
    if args.stats && notation != Notation::Json {
        let Effort { attempts, swaps, conflicts, nodes } = &effort;
        stderr::print(format_args!(
            "attempts   {attempts:>12}  of the local search\n\
             conflicts  {conflicts:>12}  on diagonals when the last attempt began\n\
             swaps      {swaps:>12}  in all attempts\n\
             exact      {nodes:>12}  queens placed by the exact search\n"
        ));
    }
    match completion {
        Completion::Found(placement) => {
            admitted(start, &placement)?;
            Ok((placement, effort))
        }
        Completion::Impossible => Err(Failure::NoPlacement(format!(
            "there is no such placement of {} queens: everything was searched",
            start.n()
        ))),
        Completion::Undecided => Err(Failure::Undecided(format!(
            "undecided: {seconds} s did not suffice to find a placement or to prove that there is none; give more time with \
             --limit-seconds, or another --seed"
        ))),
    }
}

/// Checks a placement once more and prints it.
fn print(
    args: &SolveArgs,
    notation: Notation,
    placement: &Placement,
    fields: &[(&'static str, u64)],
) -> Result<(), Failure> {
    let (n, columns) = (placement.n(), placement.columns());
    check(n, columns.iter().copied())?;
    if args.by_file {
        return shown(notation, notation.by_file(placement));
    }
    shown(notation, notation.of_rows(n, columns.iter().copied(), fields))
}

/// Prints a placement, a board with two colours where standard output takes them.
fn shown(notation: Notation, placement: impl Display) -> Result<(), Failure> {
    match notation {
        Notation::Board if is_coloured(&Term::stdout()) => {
            output::print(terminal::board(&placement.to_string()))
        }
        _ => output::print(placement),
    }
}

fn check(n: u32, columns: impl Iterator<Item = u32>) -> anyhow::Result<()> {
    ensure!(is_placement(n, columns), "what was found for N = {n} is no placement");
    Ok(())
}

fn admitted(start: &Start, placement: &Placement) -> anyhow::Result<()> {
    ensure!(start.admits(placement), "what was found for N = {} is no such one", start.n());
    Ok(())
}
