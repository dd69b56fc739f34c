//! `queens complete`: the placement around given queens, or the proof that there is none.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use board::squares::{Square, parse_board, parse_squares};
use clap::Args;
use solve::{Completion, Given, complete};

use super::placement_output::{self, FormatArgs};
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
    /// The queens' squares
    #[arg(long, value_name = "SQUARES", required_unless_present = "board")]
    given: Option<String>,
    /// A file with a drawn board or with squares; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "given")]
    board: Option<PathBuf>,
    /// Give up after so long
    #[arg(long, value_name = "S", default_value_t = 60)]
    limit_seconds: u64,
    /// Another one where there are several: the same seed finds the same
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u32,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &CompleteArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let (n, queens) = queens(args)?;
    if n > LARGEST_SEARCHED {
        return Err(Failure::Usage(format!(
            "a board of size {n}: give a size of at most {LARGEST_SEARCHED}"
        )));
    }
    let format = args.format.for_board(n)?;
    let given = Given::new(n, &queens).map_err(|error| Failure::Usage(error.to_string()))?;
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

/// The board's size and what stands on it, by the words of the command and the file.
fn queens(args: &CompleteArgs) -> Result<(u32, Vec<Square>), Failure> {
    let usage = Failure::Usage;
    let (drawn, queens) = match &args.board {
        None => {
            let squares = parse_squares(args.given.as_deref().unwrap_or_default());
            (None, squares.map_err(|error| usage(format!("--given: {error}")))?)
        }
        Some(path) => {
            let text = read(path)?;
            let board = parse_board(&text);
            board.map_err(|error| usage(format!("the board {}: {error}", path.display())))?
        }
    };
    let n = match (args.n, drawn) {
        (Some(n), Some(drawn)) if n != drawn => {
            return Err(usage(format!("the drawn board has size {drawn}, not {n}: leave out {n}")));
        }
        (Some(n), _) | (None, Some(n)) => n,
        (None, None) => {
            return Err(usage("squares do not say how large the board is: give N".into()));
        }
    };
    Ok((n, queens))
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    read.map(|()| text).map_err(|error| {
        Failure::Usage(format!("cannot read the board {}: {error}", path.display()))
    })
}
