//! `queens complete`: finds a placement with the given queens, or proves that there is none.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use board::squares::Square;
use clap::Args;
use solve::{Completion, Start, complete};

use super::placement_output::{self, FormatArgs};
use super::queens_input::GivenArgs;
use super::solve::{LARGEST_SEARCHED, check};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  queens complete 8 --given a1,g2    a1 is the lower left corner
  queens complete --board FILE       a drawn board, its lines from the highest row down:
                                     Q a queen, . or - an empty square; # begins a comment
  queens complete 8 --board FILE     ... or a list of squares, which needs N

Exit codes: 0 completed; 1 proven that no placement has these queens; 15 undecided, because \
--limit-seconds were over.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompleteArgs {
    /// Board size, 0 to 10000000; a drawn board says its own
    n: Option<u32>,
    #[command(flatten)]
    given: GivenArgs,
    /// Give up after so long
    #[arg(long, value_name = "S", default_value_t = 60)]
    limit_seconds: u64,
    /// Where there are several placements, another seed may find another one
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u32,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &CompleteArgs) -> Result<(), Failure> {
    let (n, queens) = queens(args)?;
    let started = Instant::now();
    if n > LARGEST_SEARCHED {
        return Err(Failure::Usage(format!(
            "a board of size {n}: give a size of at most {LARGEST_SEARCHED}"
        )));
    }
    let format = args.format.for_board(n)?;
    let given = Start::new(n, &queens).map_err(|error| Failure::Usage(error.to_string()))?;
    let limit = Duration::from_secs(args.limit_seconds);
    match complete(&given, args.seed.into(), || started.elapsed() >= limit) {
        Completion::Found(placement) => {
            let columns = placement.columns().iter().copied();
            check(n, columns.clone())?;
            if !given.is_in(&placement) {
                return Err(anyhow!("a completion for N = {n} lacks a given queen").into());
            }
            placement_output::print(format, n, columns, None)
        }
        Completion::None => Err(Failure::NoPlacement(match queens.len() {
            0 => format!("there is no placement of {n} queens on a board of size {n}"),
            1 => format!("no placement of {n} queens has the given one: everything was searched"),
            many => {
                format!("no placement of {n} queens has the {many} given: everything was searched")
            }
        })),
        Completion::Undecided => Err(Failure::Undecided { seconds: args.limit_seconds }),
    }
}

/// The board's size and the given queens, from the options and the file.
fn queens(args: &CompleteArgs) -> Result<(u32, Vec<Square>), Failure> {
    let usage = |words: &str| Failure::Usage(words.into());
    let given = args.given.read()?;
    let (drawn, queens) =
        given.ok_or_else(|| usage("say which queens stand: give --given or --board"))?;
    let n = args.n.or(drawn);
    let n = n.ok_or_else(|| usage("squares do not say how large the board is: give N"))?;
    match drawn {
        Some(drawn) if drawn != n => {
            Err(Failure::Usage(format!("the drawn board has size {drawn}, not {n}: leave out {n}")))
        }
        _ => Ok((n, queens)),
    }
}
