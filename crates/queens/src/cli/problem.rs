//! Which problem is meant.

use std::io::Read;
use std::path::{Path, PathBuf};

use board::squares::{parse_board, parse_squares};
use board::{Given, Problem, Square};
use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// What is counted, beside the board's size.
#[derive(Debug, Args)]
pub(crate) struct ProblemArgs {
    /// What is counted [default: total, and completions where queens are given]
    #[arg(long, value_enum, env = "QUEENS_PROBLEM")]
    problem: Option<ProblemName>,
    /// Count the completions of these queens, as in a1,c2: files are columns, ranks are rows
    #[arg(long, value_name = "SQUARES")]
    given: Option<String>,
    /// The same, from a file of squares, or of a board drawn with Q and . ("-": standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "given")]
    board: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProblemName {
    /// All placements (A000170)
    Total,
    /// Placements up to the symmetries of the square (A002562), and how many have which symmetry
    Fundamental,
    /// Placements on a torus, where diagonals go on at the opposite edge (A007705)
    Toroidal,
    /// Placements of queens that also move as knights (A051223)
    Superqueens,
    /// Placements that have the given queens, N up to 64
    Completions,
}

impl ProblemArgs {
    /// The problem on a board of size `n`.
    pub(crate) fn problem(&self, n: u32) -> Result<Problem, Failure> {
        let given = self.queens(n)?;
        let name = match (self.problem, &given) {
            (Some(name), None) => name,
            (None, None) => ProblemName::Total,
            (None | Some(ProblemName::Completions), Some(_)) => ProblemName::Completions,
            (Some(_), Some(_)) => {
                return Err(Failure::Usage(
                    "queens are given for --problem completions alone: leave out --problem, or \
                     --given and --board"
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

    fn queens(&self, n: u32) -> Result<Option<Vec<Square>>, Failure> {
        if let Some(squares) = &self.given {
            let squares = parse_squares(squares);
            return squares.map(Some).map_err(|error| Failure::Usage(format!("--given: {error}")));
        }
        let Some(path) = &self.board else { return Ok(None) };
        let in_file = |error: String| Failure::Usage(format!("{}: {error}", path.display()));
        let text = read(path).map_err(|error| in_file(format!("cannot be read: {error}")))?;
        let (size, squares) = parse_board(&text).map_err(|error| in_file(error.to_string()))?;
        match size {
            Some(size) if size != n => {
                Err(in_file(format!("a board of size {size} is drawn, and N is {n}")))
            }
            _ => Ok(Some(squares)),
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}
