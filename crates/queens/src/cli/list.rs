//! `queens list`.

use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use solve::{Listing, Notation, Placement};

use super::queens_input::GivenArgs;
use crate::failure::Failure;
use crate::output::Lines;

const EXAMPLES: &str = "\
A placement comes as soon as it is found, in lexicographic order of the column on each rank from 1 on. \
Files are a, b, … z, aa, …; rank 1 is at the bottom of a drawn board. A board without a placement \
prints nothing, and that is no failure. The search is a plain one: the first placement of a board of 30 \
takes a second, and that of one of 100 for ever.

Examples:
  queens list 8 --limit 5
  queens list 8 --fundamental --format fen
  queens list 6 --given b1 --format board";

/// Prints placements, one after the other.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Board size, 0 to 10000
    #[arg(value_parser = clap::value_parser!(u32).range(..=10_000))]
    n: u32,
    /// Print one placement of each orbit: rotations and reflections of it are left out
    #[arg(long)]
    fundamental: bool,
    /// How placements are written
    #[arg(long, value_enum, default_value_t = FormatName::Squares)]
    format: FormatName,
    /// Print at most so many
    #[arg(long, value_name = "K")]
    limit: Option<u64>,
    #[command(flatten)]
    given: GivenArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// The squares, file by file: a1 b5 c8 d6 …
    Squares,
    /// The column on each rank from 1 on: 1 5 8 6 …
    Permutation,
    /// The position as in chess: 3Q4/1Q6/…; longer runs as decimal numbers
    Fen,
    /// One JSON object a line, with n, permutation and squares
    Json,
    /// Drawn boards, with an empty line between two
    Board,
}

impl FormatName {
    fn notation(self) -> Notation {
        match self {
            FormatName::Squares => Notation::Squares,
            FormatName::Permutation => Notation::Permutation,
            FormatName::Fen => Notation::Fen,
            FormatName::Json => Notation::Json,
            FormatName::Board => Notation::Board,
        }
    }
}

pub(super) fn run(args: &ListArgs) -> Result<(), Failure> {
    let given = args.given.read_for(args.n)?.unwrap_or_default();
    let listing = Listing::new(args.n, given).map_err(|error| Failure::Usage(error.to_string()))?;
    let listing = if args.fundamental { listing.fundamental() } else { listing };

    let limit = args.limit.unwrap_or(u64::MAX);
    if limit == 0 {
        return Ok(());
    }
    let mut out = Lines::new();
    let mut printed = 0;
    let ended_early = listing.visit(|placement: &Placement| {
        let text = args.format.notation().of(placement);
        let between =
            if printed > 0 && matches!(args.format, FormatName::Board) { "\n" } else { "" };
        printed += 1;
        match out.print(format_args!("{between}{text}")) {
            Ok(()) if printed < limit => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(Ok(())),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    });
    match ended_early {
        ControlFlow::Break(Err(error)) => out.failed(error),
        _ => out.end(),
    }
}
