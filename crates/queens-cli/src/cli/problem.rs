//! The options that choose a problem.

use board::squares::Square;
use board::{Given, Problem};
use clap::{Args, ValueEnum};
use solve::{Rules, Start};

use super::count::search::{LARGEST, Search};
use super::queens_input::GivenArgs;
use crate::failure::{Failure, usage};

/// The options that choose what is counted, besides the board's size.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProblemArgs {
    /// What to count: total, fundamental, toroidal, …
    ///
    /// [default: total, and completions where queens are given]
    #[arg(long, value_enum)]
    problem: Option<ProblemName>,
    #[command(flatten)]
    pub(super) given: GivenArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProblemName {
    /// All placements (A000170)
    Total,
    /// Placements up to the symmetries of the square (A002562), and how many have which symmetry
    Fundamental,
    /// Placements on a torus, where diagonals go on at the opposite edge (A007705); modular is
    /// another word for it
    #[value(alias = "modular")]
    Toroidal,
    /// Placements of queens that also move as knights (A051223)
    Superqueens,
    /// Placements that contain the given queens; N up to 64 on a farm
    Completions,
}

impl ProblemArgs {
    /// The plain search that counts a board of size `n`, if blocked squares, `ranks` or given
    /// queens make it a problem that has no plan. `None` if it has one.
    pub(super) fn search(
        &self,
        n: u32,
        blocked: Vec<Square>,
        ranks: Option<u32>,
    ) -> Result<Option<Search>, Failure> {
        let is_restricted = !blocked.is_empty() || ranks.is_some();
        // There are plans for completions by the usual rules, up to 64 columns.
        let (problem, rules, has_cut) = match self.problem {
            None | Some(ProblemName::Total | ProblemName::Completions) => {
                ("completions", Rules::Plain, n <= Given::MAX_N)
            }
            Some(ProblemName::Fundamental) => ("completions", Rules::Plain, true),
            Some(ProblemName::Toroidal) => ("toroidal", Rules::Torus, false),
            Some(ProblemName::Superqueens) => ("superqueens", Rules::Superqueens, false),
        };
        if !is_restricted && (has_cut || !self.given.is_given()) {
            return Ok(None);
        }
        if self.problem == Some(ProblemName::Fundamental) {
            return usage(
                "--problem fundamental has neither --blocked nor --ranks: leave them out",
            );
        }
        let given = self.given.read_for(n)?.unwrap_or_default();
        match ranks {
            Some(_) if rules == Rules::Torus => {
                return usage("a torus has as many ranks as files: leave out --ranks or --problem");
            }
            Some(_) if n > Given::MAX_N => {
                return Err(Failure::Plan(format!(
                    "--ranks on a board of {n} files: give at most {}",
                    Given::MAX_N
                )));
            }
            Some(ranks) if given.iter().any(|queen| queen.row >= ranks) => {
                return usage(format!(
                    "a given queen stands above rank {ranks}, the last one by --ranks"
                ));
            }
            None if n > LARGEST => {
                return Err(Failure::Plan(format!(
                    "a board of size {n}: completions are counted up to size {LARGEST}"
                )));
            }
            _ => {}
        }
        let start = Start::with_rules(n, rules, &given)?.blocking(&blocked)?;
        Ok(Some(Search { problem, n, start, given, blocked, ranks }))
    }

    /// The problem on a board of size `n`.
    pub(crate) fn problem(&self, n: u32) -> Result<Problem, Failure> {
        let given = self.given.read_for(n)?;
        let name = match (self.problem, &given) {
            (Some(name), None) => name,
            (None, None) => ProblemName::Total,
            (None | Some(ProblemName::Total | ProblemName::Completions), Some(_)) => {
                ProblemName::Completions
            }
            (Some(ProblemName::Fundamental), Some(_)) => {
                return usage(
                    "completions are not counted up to symmetry: leave out --problem fundamental, or --given and --board",
                );
            }
            (Some(ProblemName::Toroidal | ProblemName::Superqueens), Some(_)) => {
                return usage(
                    "with given queens, tori and superqueens are counted by `queens count` alone: leave out \
                     --problem, or --given and --board",
                );
            }
        };
        Ok(match name {
            ProblemName::Total => Problem::Total { n },
            ProblemName::Fundamental => Problem::Fundamental { n },
            ProblemName::Toroidal => Problem::Toroidal { n },
            ProblemName::Superqueens => Problem::Superqueens { n },
            ProblemName::Completions => {
                Problem::Completions(Given::new(n, &given.unwrap_or_default())?)
            }
        })
    }
}
