//! `queens solve`: one placement.

use anyhow::anyhow;
use clap::Args;
use solve::{ConstructError, Construction, is_placement, random_placement};

use super::placement_output::{self, FormatArgs};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  queens solve 8                     d1 f2 h3 b4 g5 a6 c7 e8; a1 is the lower left corner
  queens solve 8 --format board      a drawn board
  queens solve 100000000 > columns   a column number a line
  queens solve 1000 --random --seed 7

Every placement is checked before it is printed. Exit code 1: there is none, as for N = 2 and 3.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SolveArgs {
    /// Board size, 0 to 100000000; with --random at most 10000000
    n: u32,
    /// Print a random placement instead of the constructed one; not all are equally likely
    #[arg(long)]
    random: bool,
    /// Seed of the random placement [default: another one each time]
    #[arg(long, value_name = "S", requires = "random")]
    seed: Option<u32>,
    #[command(flatten)]
    format: FormatArgs,
}

/// The largest board that is searched. The search holds it in memory, with about 30 bytes per row.
pub(super) const LARGEST_SEARCHED: u32 = 10_000_000;

pub(super) fn run(args: &SolveArgs) -> Result<(), Failure> {
    let n = args.n;
    let construction = Construction::new(n).map_err(|error| match error {
        ConstructError::NoPlacement(_) => Failure::NoPlacement(error.to_string()),
        ConstructError::TooLarge(_) => Failure::Usage(error.to_string()),
    })?;
    let format = args.format.for_board(n)?;
    if !args.random {
        check(n, construction.columns())?;
        return placement_output::print(format, n, construction.columns(), None);
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
    placement_output::print(format, n, columns, Some(seed))
}

/// Checks a placement once more before it is printed.
pub(super) fn check(n: u32, columns: impl Iterator<Item = u32>) -> Result<(), Failure> {
    if is_placement(n, columns) {
        return Ok(());
    }
    Err(anyhow!("what was found for N = {n} is no placement").into())
}
