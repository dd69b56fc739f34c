//! Reads the queens that the user gives, as options or files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, ensure};
use board::squares::{Square, parse_squares};
use clap::Args;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::failure::{Failure, usage};

/// The most bytes that are read. The columns of a board of 10^8 rows, the largest that `solve`
/// prints, take 0.83 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// The size of the board, if the text says it, and the queens on it.
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

    /// Reads the given queens: at least one, or `None` if neither option was given.
    pub(super) fn read(&self) -> Result<Option<Queens>, Failure> {
        let wrong = |error| Failure::Usage(format!("--given: {error}"));
        let (option, (size, queens)) = match (&self.board, &self.given) {
            (Some(path), _) => {
                let (text, name) = text_of(path)?;
                ("--board", read(&text, &name, false)?)
            }
            (None, Some(given)) => ("--given", (None, parse_squares(given).map_err(wrong)?)),
            (None, None) => return Ok(None),
        };
        if queens.is_empty() {
            return usage(format!(
                "there is no queen in {option}: give at least one, or leave {option} out"
            ));
        }
        Ok(Some((size, queens)))
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
                // A word with spaces is a whole permutation, so each word is a line of its own.
                let are_many = self.queens.iter().any(|word| word.contains(' '));
                Ok((self.queens.join(if are_many { "\n" } else { " " }), "the queens".into()))
            }
        }
    }
}

/// The texts of the single boards of a text, each in any notation.
pub(super) fn boards(text: &str) -> Vec<&str> {
    let (mut boards, mut rest) = (Vec::new(), text);
    while let Some(begin) = begin_of_json(rest) {
        boards.extend(solve::boards(&rest[..begin]));
        let json = &rest[begin..];
        // JSON that is not whole is refused when it is read.
        let Some(length) = end_of_value(json) else {
            boards.push(json);
            return boards;
        };
        // An object stands alone, or behind each bracket and comma of an array.
        let mut objects = &json[..length];
        while let Some(begin) = objects.find(|c: char| !"[], \t\r\n".contains(c)) {
            let end = begin + end_of_value(&objects[begin..]).unwrap_or(objects.len() - begin);
            boards.push(&objects[begin..end]);
            objects = &objects[end..];
        }
        rest = &json[length..];
    }
    boards.extend(solve::boards(rest));
    if boards.is_empty() { vec![text] } else { boards }
}

/// Where the first line begins that starts with a JSON object, or with an array of objects.
fn begin_of_json(text: &str) -> Option<usize> {
    let is_json = |text: &str| {
        text.trim_start_matches(|c: char| c == '[' || c.is_whitespace()).starts_with('{')
    };
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        at += line.len();
        let (begin, line) = (at - line.trim_start().len(), line.trim_start());
        (line.starts_with(['{', '[']) && is_json(&text[begin..])).then_some(begin)
    })
}

/// Where the JSON value at the beginning of a text ends; `None` if it is not complete.
fn end_of_value(text: &str) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// A placement in the JSON that this program prints.
#[derive(Deserialize)]
struct PlacementJson {
    n: u32,
    squares: Option<Vec<String>>,
    permutation: Option<Vec<u32>>,
}

/// Reads queens, in any notation, and refuses a text that has neither a queen nor the size of a
/// board. A permutation is the rank on each file if it is read `by_file`. Errors name `source`.
pub(super) fn read(text: &str, source: &str, by_file: bool) -> Result<Queens, Failure> {
    let queens = match begin_of_json(text) {
        Some(_) => match boards(text)[..] {
            [board] => of_json(board, by_file),
            ref several => Err(anyhow!("there are {} boards: give one", several.len())),
        },
        None if by_file => solve::read_ranks(text).map_err(|_| {
            anyhow!(
                "--by-file reads a permutation, the rank of the queen on each file, as in 2 4 1 3"
            )
        }),
        None => solve::read_queens(text).map_err(anyhow::Error::from),
    };
    match queens.map_err(|error| Failure::Usage(format!("{source}: {error}")))? {
        (None, none) if none.is_empty() => {
            usage(format!("{source}: there is no queen; name at least one, as in a1"))
        }
        queens => Ok(queens),
    }
}

/// Reads a placement in JSON. Squares beside a permutation must agree with it as columns on ranks
/// or as ranks on files. Without squares, `by_file` says how the permutation is read.
fn of_json(object: &str, by_file: bool) -> anyhow::Result<Queens> {
    let PlacementJson { n, squares, permutation } =
        serde_json::from_str(object).map_err(|error| {
            anyhow!("this JSON is not whole, or no placement ({error}); give all of it")
        })?;
    let squares = squares.map(|squares| parse_squares(&squares.join(" "))).transpose()?;
    let ranks = permutation.map(|ranks| ranks.iter().map(u32::to_string).collect::<Vec<_>>());
    let by_files = ranks.map(|ranks| solve::read_ranks(&ranks.join(" "))).transpose()?;
    let Some((size, by_files)) = by_files else {
        let missing = "this JSON is no placement: give `squares` or `permutation`";
        return Ok((Some(n), squares.ok_or_else(|| anyhow!(missing))?));
    };
    ensure!(size == Some(n), "this JSON has n = {n} and another size of its permutation");
    let swap = |queen: &Square| Square { column: queen.row, row: queen.column };
    let by_ranks: Vec<Square> = by_files.iter().map(swap).collect();
    let set = |queens: &[Square]| queens.iter().copied().collect::<BTreeSet<_>>();
    let agree = |it: &Vec<Square>| set(it) == set(&by_files) || set(it) == set(&by_ranks);
    ensure!(squares.iter().all(agree), "this JSON has other squares than its permutation");
    Ok((Some(n), squares.unwrap_or(if by_file { by_files } else { by_ranks })))
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

/// Decodes a text of any system's editor. Line ends become line feeds, and byte order marks are
/// removed.
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
