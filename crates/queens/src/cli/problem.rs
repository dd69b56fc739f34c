//! The options that choose a problem.

use board::squares::Square;
use board::{Given, Problem};
use clap::{Args, ValueEnum};

use super::queens_input::GivenArgs;
use crate::failure::Failure;

/// What is counted, besides the board's size.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProblemArgs {
    /// What to count: total, fundamental, toroidal, …
    ///
    /// [default: total, and completions where queens are given]
    #[arg(long, value_enum, env = "QUEENS_PROBLEM")]
    problem: Option<ProblemName>,
    /// Count mirror images too, with rows or states
    ///
    /// With the method rows, tasks are all ways to fill the first M rows, at most 5, mirror images
    /// too (8, 42, 140, 344 at N = 8). The total is counted as the completions of an empty board,
    /// which takes longer. With the method states, every state is kept as it is, and neither made
    /// one with its mirror image nor rid of attacks that meet no free square.
    #[arg(hide_short_help = true, long)]
    no_mirror: bool,
    #[command(flatten)]
    given: GivenArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProblemName {
    /// All placements (A000170)
    Total,
    /// Placements up to the symmetries of the square (A002562), and how many have which symmetry
    Fundamental,
    /// Placements on a torus, where diagonals go on at the opposite edge (A007705); modular is another word for it
    #[value(alias = "modular")]
    Toroidal,
    /// Placements of queens that also move as knights (A051223)
    Superqueens,
    /// Placements that contain the given queens, N up to 64
    Completions,
}

impl ProblemArgs {
    /// Whether mirror images are not to be left out.
    pub(super) fn no_mirror(&self) -> bool {
        self.no_mirror
    }

    /// The given queens of a board that is too large for words of 64 bits; `None` for any other problem.
    pub(super) fn beyond_words(&self, n: u32) -> Result<Option<Vec<Square>>, Failure> {
        match self.problem {
            None | Some(ProblemName::Completions) if n > Given::MAX_N && !self.no_mirror => {
                self.given.read_for(n)
            }
            _ => Ok(None),
        }
    }

    /// The problem on a board of size `n`.
    pub(crate) fn problem(&self, n: u32) -> Result<Problem, Failure> {
        let given = self.given.read_for(n)?;
        if self.no_mirror
            && (given.is_some() || !matches!(self.problem, None | Some(ProblemName::Total)))
        {
            return Err(Failure::Usage(
                "--no-mirror is for the total, whose mirror images are left out otherwise: leave it out, or --problem \
                 (QUEENS_PROBLEM), --given and --board"
                    .into(),
            ));
        }
        let name = match (self.problem, &given) {
            _ if self.no_mirror => ProblemName::Completions,
            (Some(name), None) => name,
            (None, None) => ProblemName::Total,
            (None | Some(ProblemName::Completions), Some(_)) => ProblemName::Completions,
            (Some(_), Some(_)) => {
                return Err(Failure::Usage(
                    "queens are given for --problem completions alone: leave out --problem \
                     (QUEENS_PROBLEM), or --given and --board"
                        .into(),
                ));
            }
        };
        Ok(match name {
            ProblemName::Total => Problem::Total { n },
            ProblemName::Fundamental => Problem::Fundamental { n },
            ProblemName::Toroidal => Problem::Toroidal { n },
            ProblemName::Superqueens => Problem::Superqueens { n },
            ProblemName::Completions => {
                let given = Given::new(n, &given.unwrap_or_default());
                Problem::Completions(given.map_err(|error| Failure::Usage(error.to_string()))?)
            }
        })
    }
}
