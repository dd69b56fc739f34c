//! Reads the queens that the user gives, as options or files.

use std::io::Read;
use std::path::{Path, PathBuf};

use board::squares::{Square, parse_squares};
use clap::Args;

use crate::failure::Failure;

/// The size of the board, if the text says it, and the queens on it.
pub(super) type Queens = (Option<u32>, Vec<Square>);

/// The options for queens that are given.
#[derive(Clone, Debug, Args)]
pub(crate) struct GivenArgs {
    /// Queens that stand already, as in a1,c2: files are columns, ranks are rows, a1 is the lower left
    /// corner
    #[arg(long, value_name = "SQUARES")]
    given: Option<String>,
    /// Given queens from a file: a board drawn from the highest row down with Q and ., or squares (-:
    /// standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "given")]
    board: Option<PathBuf>,
}

impl GivenArgs {
    /// Reads the given queens, if there are any.
    pub(super) fn read(&self) -> Result<Option<Queens>, Failure> {
        let squares = |given| match parse_squares(given) {
            Ok(squares) if squares.is_empty() => Err(Failure::Usage(
                "--given has no square: name at least one, as in a1,c2, or leave it out".into(),
            )),
            Ok(squares) => Ok((None, squares)),
            Err(error) => Err(Failure::Usage(format!("--given: {error}"))),
        };
        let queens = self.given.as_deref().map(squares);
        queens.or_else(|| self.board.as_deref().map(read_file)).transpose()
    }

    /// Reads the given queens of a board of size `n`.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`], if they cannot be read or stand on a board of another size.
    pub(super) fn read_for(&self, n: u32) -> Result<Option<Vec<Square>>, Failure> {
        match self.read()? {
            Some((Some(size), _)) if size != n => Err(Failure::Usage(format!(
                "the queens are given on a board of size {size}, and N is {n}"
            ))),
            given => Ok(given.map(|(_, queens)| queens)),
        }
    }
}

/// Reads queens in any notation: there is one at least. Errors name `source`.
pub(super) fn read(text: &str, source: &str) -> Result<Queens, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::Usage(format!(
            "{source}: there is no queen; name at least one, as in a1"
        )));
    }
    solve::read_queens(text).map_err(|error| Failure::Usage(format!("{source}: {error}")))
}

/// Reads a permutation as the rank of the queen on each file. Errors name `source`.
pub(super) fn read_ranks(text: &str, source: &str) -> Result<Queens, Failure> {
    solve::read_ranks(text).map_err(|_| {
        Failure::Usage(format!(
            "{source}: --by-file reads a permutation, the rank of the queen on each file, as in 2 4 1 3"
        ))
    })
}

/// Reads queens from a file, or from standard input if it is called `-`.
pub(super) fn read_file(path: &Path) -> Result<Queens, Failure> {
    let (text, name) = text_of(path)?;
    read(&text, &name)
}

/// The text of a file, or of standard input if it is called `-`, and what errors call it.
pub(super) fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".into() } else { path.display().to_string() };
    let text = if stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| {
        Failure::Usage(format!("cannot read {name} ({error}); give a text file that can be read"))
    })?;
    Ok((text, name))
}
