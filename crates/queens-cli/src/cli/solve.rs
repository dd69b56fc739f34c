//! `queens solve`: one placement.

use anyhow::anyhow;
use board::squares::Square;
use clap::{Args, ValueEnum};
use solve::{
    Completion, ConstructError, Construction, Rules, Start, Symmetry, complete_until, is_placement,
    random_placement,
};

use super::placement_output::{self, FormatArgs};
use super::rules::{BlockedArgs, RulesArgs};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  queens solve 8                     a6 b4 c7 d1 e8 f2 g5 h3; a1 is the lower left corner
  queens solve 8 --format board      a drawn board
  queens solve 100000000 > columns   a column number a line
  queens solve 14 --construction mod12
  queens solve 1000 --random --seed 7
  queens solve 13 --problem toroidal
  queens solve 20 --problem superqueens
  queens solve 8 --blocked a1-h8,d1

Superqueens and boards with blocked squares are searched, until a placement is found or it is proven that there is \
none. Every placement is checked before it is printed. Exit code 1: there is none, as for N = 2 and 3, and on a torus \
for every N that is not prime to 6.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SolveArgs {
    /// Board size, 0 to 100000000; with --random at most 10000000
    n: u32,
    /// The rule by which it is constructed [default: pauls]
    #[arg(
        long,
        value_enum,
        value_name = "RULE",
        conflicts_with = "random",
        env = "QUEENS_CONSTRUCTION"
    )]
    construction: Option<RuleName>,
    /// Print a random placement instead of the constructed one; not all are equally likely
    #[arg(long)]
    random: bool,
    /// Seed of the random placement [default: another one each time]
    #[arg(long, value_name = "S", requires = "random")]
    seed: Option<u32>,
    /// Read what is constructed as the rank on each file from a on, and write a permutation so
    /// [default: as the column on each rank]
    #[arg(long, env = "QUEENS_BY_FILE", conflicts_with = "random")]
    by_file: bool,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    blocked: BlockedArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuleName {
    /// Two staircases of knight's moves, by E. Pauls (1874)
    Pauls,
    /// Even columns, then odd ones, with exceptions by the remainder of N by 12
    Mod12,
}

/// The largest board that is searched. The search holds it in memory, with about 30 bytes per row.
pub(super) const LARGEST_SEARCHED: u32 = 10_000_000;

pub(super) fn run(args: &SolveArgs) -> Result<(), Failure> {
    let n = args.n;
    let (rules, blocked) = (args.rules.rules(), args.blocked.squares(n)?);
    if rules == Rules::Superqueens || !blocked.is_empty() {
        return search(args, rules, &blocked);
    }
    let construction = construction(args)?;
    let construction = construction.map_err(|error| match error {
        ConstructError::NoPlacement(_) | ConstructError::NoToroidal(_) => {
            Failure::NoPlacement(error.to_string())
        }
        ConstructError::TooLarge(_) => Failure::Usage(error.to_string()),
    })?;
    let notation = args.format.for_board(n)?;
    if !args.random {
        check(n, construction.columns())?;
        if rules == Rules::Torus {
            let start = Start::with_rules(n, rules, &[]).map_err(anyhow::Error::from)?;
            if !start.admits(&construction.placement()) {
                return Err(anyhow!("what was found for N = {n} attacks itself").into());
            }
        }
        if args.by_file {
            let placement = construction.placement().image(Symmetry::TRANSPOSITION);
            return placement_output::print(notation.by_file(&placement));
        }
        return placement_output::print(notation.of_rows(n, construction.columns(), &[]));
    }
    if n > LARGEST_SEARCHED {
        return Err(Failure::Usage(format!(
            "a board of size {n} is too large for --random: give a size of at most \
             {LARGEST_SEARCHED}, or leave out --random"
        )));
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let placement = random_placement(n, seed.into())
        .ok_or_else(|| anyhow!("no placement by chance for N = {n}, seed {seed}"))?;
    let columns = placement.columns().iter().copied();
    check(n, columns.clone())?;
    placement_output::print(notation.of_rows(n, columns, &[("seed", seed.into())]))
}

/// The construction that was asked for, or why it does not exist.
fn construction(args: &SolveArgs) -> Result<Result<Construction, ConstructError>, Failure> {
    let usage = |words: &str| Err(Failure::Usage(words.into()));
    match (args.rules.rules(), args.construction) {
        (Rules::Plain, None | Some(RuleName::Pauls)) => Ok(Construction::new(args.n)),
        (Rules::Plain, Some(RuleName::Mod12)) => Ok(Construction::mod12(args.n)),
        (Rules::Torus, None) if !args.random => Ok(Construction::toroidal(args.n)),
        (Rules::Torus, _) => usage(
            "a placement on a torus has a construction of its own: leave out --construction and --random",
        ),
        (Rules::Superqueens, _) => unreachable!("a placement of superqueens is searched"),
    }
}

/// Prints a placement that a search has found, where no construction is known.
fn search(args: &SolveArgs, rules: Rules, blocked: &[Square]) -> Result<(), Failure> {
    let n = args.n;
    if args.construction.is_some() || n > LARGEST_SEARCHED {
        return Err(Failure::Usage(format!(
            "superqueens and boards with blocked squares are searched: leave out --construction, and give a size of at \
             most {LARGEST_SEARCHED}"
        )));
    }
    let notation = args.format.for_board(n)?;
    let start = Start::with_rules(n, rules, &[]).and_then(|start| start.blocking(blocked));
    let start = start.map_err(|error| Failure::Usage(error.to_string()))?;
    let seed = if args.random { args.seed.unwrap_or_else(rand::random) } else { 0 };
    let Completion::Found(placement) = complete_until(&start, seed.into(), || false) else {
        return Err(Failure::NoPlacement(format!(
            "there is no such placement of {n} queens: everything was searched"
        )));
    };
    check(n, placement.columns().iter().copied())?;
    if !start.admits(&placement) {
        return Err(anyhow!("what was found for N = {n} attacks itself").into());
    }
    if args.by_file {
        return placement_output::print(notation.by_file(&placement));
    }
    let fields = [("seed", seed.into())];
    let fields = if args.random { &fields[..] } else { &[] };
    placement_output::print(notation.of_rows(n, placement.columns().iter().copied(), fields))
}

/// Checks a placement once more before it is printed.
pub(super) fn check(n: u32, columns: impl Iterator<Item = u32>) -> Result<(), Failure> {
    if is_placement(n, columns) {
        return Ok(());
    }
    Err(anyhow!("what was found for N = {n} is no placement").into())
}
