//! Reads the queens that the user gives, as options or files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use board::squares::{Square, parse_squares};
use clap::Args;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

use crate::failure::{Failure, usage};

/// The most bytes that are read. The columns of a board of 10^8 rows, the largest that `solve` prints, take 0.83 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// The size of the board, if the text has it, and the queens on it.
pub(super) type Queens = (Option<u32>, Vec<Square>);

#[derive(Clone, Debug, Args)]
pub(crate) struct GivenArgs {
    /// Queens that stand already, as in a1,c2
    ///
    /// Files are columns, ranks are rows, a1 is the lower left corner.
    #[arg(long, value_name = "SQUARES")]
    given: Option<String>,
    /// Given queens from a file, or - for input
    ///
    /// A board drawn from the highest row down with Q and ., a matrix of 1 and 0, squares, or what
    /// `--json` prints of a placement.
    #[arg(long, value_name = "FILE", conflicts_with = "given")]
    board: Option<PathBuf>,
}

impl GivenArgs {
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some() || self.board.is_some()
    }

    /// Reads the given queens, if there are any.
    pub(super) fn read(&self) -> Result<Option<Queens>, Failure> {
        if let Some(path) = &self.board {
            let (text, name) = text_of(path)?;
            return read(&text, &name, false).map(Some);
        }
        match self.given.as_deref().map(parse_squares) {
            None => Ok(None),
            Some(Ok(squares)) if squares.is_empty() => {
                usage("--given has no square: name at least one, as in a1,c2, or leave it out")
            }
            Some(Ok(squares)) => Ok(Some((None, squares))),
            Some(Err(error)) => usage(format!("--given: {error}")),
        }
    }

    /// Reads the given queens of a board of size `n`, and refuses those of a board of another size.
    pub(super) fn read_for(&self, n: u32) -> Result<Option<Vec<Square>>, Failure> {
        match self.read()? {
            Some((Some(size), _)) if size != n => {
                usage(format!("the queens are given on a board of size {size}, and N is {n}"))
            }
            given => Ok(given.map(|(_, queens)| queens)),
        }
    }
}

/// The queens of `check` and `draw`.
#[derive(Debug, Args)]
pub(super) struct QueensArgs {
    /// Squares (a1 b5), columns (2 4 1 3) or a FEN
    ///
    /// The columns are those on each rank, a FEN is as in 3Q/Q3/….
    queens: Vec<String>,
    /// Read the queens from this file (-: standard input)
    ///
    /// It has a drawn board, any of these notations or JSON; `check` takes several boards.
    #[arg(long, value_name = "FILE", conflicts_with = "queens")]
    board: Option<PathBuf>,
}

impl QueensArgs {
    /// The text of the queens, and its name in errors.
    pub(super) fn text(&self) -> Result<(String, String), Failure> {
        match &self.board {
            Some(board) => text_of(board),
            None if self.queens.is_empty() => usage(
                "no queens are given: name them, as in a1 b5, or their file with --board FILE",
            ),
            None => {
                // Each of several permutations is one word.
                let are_many = self.queens.iter().any(|word| word.contains(' '));
                Ok((self.queens.join(if are_many { "\n" } else { " " }), "the queens".into()))
            }
        }
    }
}

/// The texts of the single boards of a text in any notation.
pub(super) fn boards(text: &str) -> Vec<String> {
    match objects(text) {
        Some(Ok(objects)) => objects.iter().map(Value::to_string).collect(),
        Some(Err(_)) => vec![text.into()],
        None => solve::boards(text).into_iter().map(str::to_owned).collect(),
    }
}

/// The objects of a JSON text, one after the other or in an array; `None` if the text does not begin like one.
fn objects(text: &str) -> Option<anyhow::Result<Vec<Value>>> {
    if !text.trim_start().trim_start_matches('[').trim_start().starts_with('{') {
        return None;
    }
    let values = Deserializer::from_str(text).into_iter::<Value>();
    let values: Result<Vec<Value>, _> = values.collect();
    let flat = |value| match value {
        Value::Array(values) => values,
        one => vec![one],
    };
    Some(match values {
        Ok(values) => Ok(values.into_iter().flat_map(flat).collect()),
        Err(error) => Err(anyhow!("this JSON is not whole, or none ({error}); give all of it")),
    })
}

/// A placement in the JSON that this program prints.
#[derive(Deserialize)]
struct PlacementJson {
    n: u32,
    squares: Vec<String>,
}

/// Reads at least one queen, in any notation. A permutation is the rank on each file if it is read `by_file`. Errors name
/// `source`.
pub(super) fn read(text: &str, source: &str, by_file: bool) -> Result<Queens, Failure> {
    let queens = match objects(text) {
        // JSON has the squares, too, whose meaning is the same for both orders.
        Some(objects) => objects.and_then(|objects| of_json(&objects)),
        None if by_file => solve::read_ranks(text).map_err(|_| {
            anyhow!(
                "--by-file reads a permutation, the rank of the queen on each file, as in 2 4 1 3"
            )
        }),
        None => solve::read_queens(text).map_err(anyhow::Error::from),
    };
    let queens = queens.and_then(|queens| match queens {
        (None, none) if none.is_empty() => {
            Err(anyhow!("there is no queen; name at least one, as in a1"))
        }
        queens => Ok(queens),
    });
    queens.map_err(|error| Failure::Usage(format!("{source}: {error}")))
}

fn of_json(objects: &[Value]) -> anyhow::Result<Queens> {
    let [object] = objects else { bail!("there are {} boards: give one", objects.len()) };
    let PlacementJson { n, squares } = PlacementJson::deserialize(object).map_err(|error| {
        anyhow!("this JSON is no placement with its n and its squares ({error})")
    })?;
    Ok((Some(n), parse_squares(&squares.join(" "))?))
}

/// The text of a file, or of standard input if it is called `-`, and its name in errors.
fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".into() } else { path.display().to_string() };
    let bytes = if stdin { whole(io::stdin()) } else { File::open(path).and_then(whole) };
    let text = bytes.and_then(decoded);
    let text = text.map_err(|error| {
        Failure::Usage(format!("cannot read {name} ({error}); give a text file that can be read"))
    })?;
    Ok((text, name))
}

fn whole(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MOST_BYTES {
        return Err(io::Error::other("it has more than 1 GiB"));
    }
    Ok(bytes)
}

/// Decodes a text of any system's editor. Line ends become line feeds, and byte order marks are removed.
fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units =
            bytes[2..].chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or(0)]));
        char::decode_utf16(units).collect::<Result<String, _>>().map_err(io::Error::other)
    };
    let text = match bytes.as_slice() {
        [0xff, 0xfe, _, ..] => wide(u16::from_le_bytes)?,
        [0xfe, 0xff, _, ..] => wide(u16::from_be_bytes)?,
        _ => String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))?,
    };
    Ok(text.replace('\u{feff}', "").replace("\r\n", "\n").replace('\r', "\n"))
}
