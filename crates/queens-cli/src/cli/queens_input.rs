//! Reads the queens that the user gives, as options or files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{anyhow, bail, ensure};
use board::squares::{Square, parse_squares};
use clap::Args;
use evidence::open_file;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use solve::QueensRead;

use crate::failure::{Failure, usage};

/// The most bytes that are read. The columns of a board of 10^8 rows, the largest that `solve`
/// prints, take 0.83 GiB.
const MOST_BYTES: u64 = 1 << 30;

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
    /// What was read: standard input can be read only once.
    #[arg(skip)]
    queens: OnceLock<QueensRead>,
}

impl GivenArgs {
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some() || self.board.is_some()
    }

    /// Reads the given queens: at least one, or `None` if neither option was given.
    pub(super) fn read(&self) -> Result<Option<&QueensRead>, Failure> {
        if let Some(queens) = self.queens.get() {
            return Ok(Some(queens));
        }
        let wrong = |error| Failure::Usage(format!("--given: {error}"));
        let (option, queens) = match (&self.board, &self.given) {
            (Some(path), _) => {
                let (text, name) = text_of(path)?;
                ("--board", read(&text, &name, false, None)?)
            }
            (None, Some(given)) => {
                let squares = parse_squares(given).map_err(wrong)?;
                ("--given", QueensRead { n: None, squares, counted_from: None })
            }
            (None, None) => return Ok(None),
        };
        if queens.squares.is_empty() {
            return usage(format!(
                "there is no queen in {option}: give at least one, or leave {option} out"
            ));
        }
        Ok(Some(self.queens.get_or_init(|| queens)))
    }

    /// The size of the given board, or `n`, if it is given. They must agree.
    pub(super) fn size(&self, n: Option<u32>) -> Result<u32, Failure> {
        match (n, self.read()?.and_then(|queens| queens.n)) {
            (Some(n), Some(size)) if n != size => {
                usage(format!("the given board has size {size}, not {n}: leave out {n}"))
            }
            (n, size) => n.or(size).ok_or_else(|| {
                Failure::Usage("squares do not say how large the board is: give N".into())
            }),
        }
    }

    /// The sizes of boards that are given, or that of the given board.
    pub(super) fn sizes(
        &self,
        sizes: Option<&RangeInclusive<u32>>,
    ) -> Result<RangeInclusive<u32>, Failure> {
        match sizes {
            Some(sizes) => Ok(sizes.clone()),
            None => self.size(None).map(|n| n..=n),
        }
    }

    /// Reads the given queens of a board of size `n`, and refuses those of a board of another size.
    pub(super) fn read_for(&self, n: u32) -> Result<Option<Vec<Square>>, Failure> {
        self.size(Some(n))?;
        Ok(self.read()?.map(|queens| queens.squares.clone()))
    }
}

/// The queens of `check` and `draw`.
#[derive(Debug, Args)]
pub(super) struct QueensArgs {
    /// Squares (a1 b5), columns (2 4 1 3) or a FEN
    ///
    /// The columns are those on each rank, a FEN is as in 3Q/Q3/…. Or the name of a file, as for
    /// --board. [default: standard input, unless it is a terminal]
    #[arg(value_hint = clap::ValueHint::FilePath)]
    queens: Vec<String>,
    /// Read the queens from this file (-: standard input)
    ///
    /// It has a drawn board, any of these notations, JSON or what solvers print; `check` takes
    /// several boards.
    #[arg(long, value_name = "FILE", conflicts_with = "queens")]
    board: Option<PathBuf>,
}

impl QueensArgs {
    /// The text of the queens, and its name in errors.
    pub(super) fn text(&self) -> Result<(String, String), Failure> {
        match (&self.board, self.queens.as_slice()) {
            (Some(board), _) => text_of(board),
            (None, []) if !io::stdin().is_terminal() => text_of(Path::new("-")),
            (None, []) => usage(
                "no queens are given: name them, as in a1 b5, or their file with --board FILE",
            ),
            (None, [word]) if is_file(word) => text_of(Path::new(word)),
            (None, words) => {
                // A word with spaces is a whole permutation, so each word is a line of its own.
                let are_many = words.iter().any(|word| word.contains(' '));
                Ok((words.join(if are_many { "\n" } else { " " }), "the queens".into()))
            }
        }
    }
}

/// Whether a single word names a file, or standard input, and no queens.
fn is_file(word: &str) -> bool {
    word == "-" || Path::new(word).exists() && read(word, "", false, None).is_err()
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
        let (mut found, mut objects) = (Vec::new(), &json[..length]);
        while let Some(begin) = objects.find(|c: char| !"[], \t\r\n".contains(c)) {
            // An array that has anything else is refused as a whole when it is read.
            if !objects[begin..].starts_with('{') {
                found = vec![&json[..length]];
                break;
            }
            let end = begin + end_of_value(&objects[begin..]).unwrap_or(objects.len() - begin);
            found.push(&objects[begin..end]);
            objects = &objects[end..];
        }
        boards.extend(found);
        rest = &json[length..];
    }
    boards.extend(solve::boards(rest));
    if boards.is_empty() { vec![text] } else { boards }
}

/// Where the first line begins that starts with a JSON object, or with an array of objects.
fn begin_of_json(text: &str) -> Option<usize> {
    let (mut at, mut object_at) = (0, 0);
    text.split_inclusive('\n').find_map(|line| {
        at += line.len();
        let (begin, line) = (at - line.trim_start().len(), line.trim_start());
        // A list may have such brackets, too. What stands behind many of them is looked at once.
        if begin < object_at || !line.starts_with(['{', '[']) {
            return None;
        }
        let object = text[begin..].trim_start_matches(|c: char| c == '[' || c.is_whitespace());
        object_at = text.len() - object.len();
        let inside = object.strip_prefix('{')?;
        inside.trim_start().starts_with(['"', '}']).then_some(begin)
    })
}

/// Where the JSON value at the beginning of a text ends; `None` if it is not complete.
fn end_of_value(text: &str) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// The fields of JSON that say how `solve` and `list` found a placement. They are ignored.
const NOTES: [&str; 7] =
    ["seed", "attempts", "swaps", "conflicts", "exact_nodes", "number", "group"];

/// A placement in the JSON that this program prints.
#[derive(Deserialize)]
struct PlacementJson {
    n: u32,
    squares: Option<Vec<String>>,
    permutation: Option<Vec<u32>>,
    /// The problem whose rules the placement is said to satisfy.
    problem: Option<String>,
    /// All other fields, of which only the [`NOTES`] are read.
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// Reads queens, in any notation, and refuses a text that has neither a queen nor the size of a
/// board. A permutation is the rank on each file if it is read `by_file`. JSON may name any problem
/// if only its queens are wanted. If they are judged by the rules of a problem, which is
/// `judged_by`, JSON may name this one, or the total, whose rules hold in all. Errors name
/// `source`.
pub(super) fn read(
    text: &str,
    source: &str,
    by_file: bool,
    judged_by: Option<&str>,
) -> Result<QueensRead, Failure> {
    let queens = match begin_of_json(text) {
        Some(_) => match boards(text)[..] {
            [board] => of_json(board, by_file, judged_by),
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
        QueensRead { n: None, squares, .. } if squares.is_empty() => {
            usage(format!("{source}: there is no queen; name at least one, as in a1"))
        }
        queens => Ok(queens),
    }
}

/// Reads a placement in JSON. Squares beside a permutation must agree with it as columns on ranks
/// or as ranks on files. Without squares, `by_file` says how the permutation is read.
fn of_json(object: &str, by_file: bool, judged_by: Option<&str>) -> anyhow::Result<QueensRead> {
    let PlacementJson { n, squares, permutation, problem: said, others } =
        serde_json::from_str(object).map_err(|error| {
            anyhow!("this JSON is not whole, or no placement ({error}); give all of it")
        })?;
    ensure!(
        squares.is_some() || permutation.is_some(),
        "this JSON is no placement: give `squares` or `permutation`"
    );
    // Any other field could change what the queens mean.
    if let Some(field) = others.keys().find(|it| !NOTES.contains(&it.as_str())) {
        bail!("`{field}` is no field of a placement in JSON: leave it out");
    }
    if let (Some(said), Some(problem)) = (said, judged_by)
        && ![problem, "total"].contains(&&*said)
    {
        bail!(
            "the `problem` of this JSON is {said}, and {problem} is asked for: choose its --problem, or leave the field out"
        );
    }
    let squares = squares.map(|squares| parse_squares(&squares.join(" "))).transpose()?;
    let ranks = permutation.map(|ranks| ranks.iter().map(u32::to_string).collect::<Vec<_>>());
    let by_files = ranks.map(|ranks| solve::read_ranks(&ranks.join(" "))).transpose()?;
    let Some(QueensRead { n: size, squares: by_files, counted_from }) = by_files else {
        return Ok(QueensRead {
            n: Some(n),
            squares: squares.unwrap_or_default(),
            counted_from: None,
        });
    };
    ensure!(size == Some(n), "this JSON has n = {n} and another size of its permutation");
    let swap = |queen: &Square| Square { column: queen.row, row: queen.column };
    let by_ranks: Vec<Square> = by_files.iter().map(swap).collect();
    let set = |queens: &[Square]| queens.iter().copied().collect::<BTreeSet<_>>();
    let agree = |it: &Vec<Square>| set(it) == set(&by_files) || set(it) == set(&by_ranks);
    ensure!(squares.iter().all(agree), "this JSON has other squares than its permutation");
    let squares = squares.unwrap_or(if by_file { by_files } else { by_ranks });
    Ok(QueensRead { n: Some(n), squares, counted_from })
}

/// The text of a file, or of standard input if it is called `-`, and its name in errors.
fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".into() } else { path.display().to_string() };
    let bytes = if stdin { whole(io::stdin()) } else { open_file(path).and_then(whole) };
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

#[cfg(test)]
mod tests {
    use solve::{Rules, attack};

    use super::*;

    /// How a board is written whose queens stand on these columns, counted from 0.
    type Writer = fn(&[u32]) -> String;

    fn list(columns: &[u32], between: &str) -> String {
        columns.iter().map(|it| (it + 1).to_string()).collect::<Vec<_>>().join(between)
    }

    /// Each row from the highest down, written by `write` with its column.
    fn rows(columns: &[u32], between: &str, write: impl Fn(usize, usize) -> String) -> String {
        let row = |&column: &u32| write(column as usize, columns.len() - 1 - column as usize);
        columns.iter().rev().map(row).collect::<Vec<_>>().join(between)
    }

    fn drawn(left: usize, right: usize) -> String {
        format!("{}Q{}", ".".repeat(left), ".".repeat(right))
    }

    fn bits(left: usize, right: usize) -> String {
        format!("[{}1{}]", "0,".repeat(left), ",0".repeat(right))
    }

    fn each(columns: &[u32], between: &str, write: impl Fn(usize, u32) -> String) -> String {
        let words = columns.iter().zip(1..).map(|(column, row)| write(row, column + 1));
        words.collect::<Vec<_>>().join(between)
    }

    const WRITERS: [Writer; 16] = [
        |it| each(it, " ", |row, column| Square::new(column - 1, row as u32 - 1).to_string()),
        |it| each(it, "\n", |row, column| Square::new(column - 1, row as u32 - 1).to_string()),
        |it| list(it, " "),
        |it| list(it, "\n"),
        |it| format!("[{}]", list(it, ",")),
        |it| format!("q = [{}];", list(it, ", ")),
        |it| rows(it, "/", |left, right| format!("{left}Q{right}").replace('0', "")),
        |it| rows(it, "\n", drawn),
        |it| format!("[{}]", rows(it, ",", bits)),
        |it| rows(it, "\n", bits).replace(['[', ']', ','], ""),
        |it| format!("[{}]", rows(it, ",", |left, right| format!("\"{}\"", drawn(left, right)))),
        |it| format!("[['{}']]", rows(it, "', '", drawn)),
        |it| format!("{{\"n\":{},\"permutation\":[{}]}}", it.len(), list(it, ",")),
        |it| format!("[{{\"n\":{},\"permutation\":[{}]}}]", it.len(), list(it, ",")),
        |it| each(it, " ", |row, column| format!("q[{row}]={column}")),
        |it| each(it, "\n", |row, column| format!("queen({row},{column}).")),
    ];

    /// The boards of a text, as `check` judges them; `None` if it refuses one.
    fn judged(text: &str) -> Option<Vec<QueensRead>> {
        boards(text).into_iter().map(|board| read(board, "a test", false, None).ok()).collect()
    }

    fn is_placement(read: &QueensRead) -> bool {
        let n = read.n.unwrap_or(read.squares.len() as u32);
        let is_on = |it: &Square| it.column.max(it.row) < n;
        read.squares.len() == n as usize
            && read.squares.iter().all(is_on)
            && attack(n, &read.squares, Rules::Plain).is_none()
    }

    #[test]
    fn a_text_of_a_board_and_something_else_is_not_judged_by_a_part_of_it() {
        let (whole, other) = ([1, 3, 0, 2], [0, 2, 4, 1, 3]);
        let falsehoods = [[0, 1, 2, 3, 4].as_slice(), &[0, 0, 0, 0, 0], &[4, 4, 4, 4, 4]];
        let written = |columns: &[u32]| WRITERS.map(|write| (write(columns), columns.len()));
        for (text, queens) in written(&whole).into_iter().chain(written(&other)) {
            let read = judged(&text).unwrap_or_else(|| panic!("it is refused: {text}"));
            assert!(read.iter().all(is_placement), "{text}");
            assert_eq!(read[0].squares.len(), queens, "{text}");
        }
        let junk = [" x", "?", "no board", "a1 zz", "\"..Q.", "{\"n\":4}"];
        let mut others: Vec<(String, Option<usize>, bool)> =
            junk.map(|text| (text.into(), None, false)).into();
        others.extend(written(&other).map(|(text, queens)| (text, Some(queens), true)));
        for columns in falsehoods {
            others.extend(written(columns).map(|(text, queens)| (text, Some(queens), false)));
        }
        let mut wrong = Vec::new();
        for (board, _) in written(&whole) {
            for (other, queens, is_sound) in &others {
                for (one, two) in [(&board, other), (other, &board)] {
                    let texts = ["\n", " ", ", ", "\n\n", "\n,\n"]
                        .map(|between| format!("{one}{between}{two}"));
                    for text in texts.into_iter().chain([format!("[{one},{two}]")]) {
                        let Some(read) = judged(&text) else { continue };
                        let seen: usize = read.iter().map(|read| read.squares.len()).sum();
                        let is_all = queens.is_none_or(|queens| seen == whole.len() + queens);
                        let is_right = *is_sound || !read.iter().all(is_placement);
                        wrong.extend((!is_all || !is_right).then_some((text, seen)));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} are judged by a part: {wrong:#?}", wrong.len());
    }

    /// Who looks at the rest of the text for each line takes hours.
    #[test]
    fn the_time_to_read_a_text_grows_with_its_length_only() {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for lines in ["[\n", "[ \n", "{\n", "[\n{\n", " [\n\n"] {
                let text = lines.repeat((1 << 20) / lines.len());
                assert!(judged(&text).is_none(), "{lines}");
                sender.send(lines).expect("the test waits");
            }
        });
        let minute = std::time::Duration::from_secs(60);
        let read = std::iter::from_fn(|| receiver.recv_timeout(minute).ok());
        assert_eq!(read.count(), 5);
    }
}
