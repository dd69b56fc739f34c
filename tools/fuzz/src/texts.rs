//! Texts that come from people and from files.

use board::squares::{Square, check_queens, parse_board, parse_squares};
use board::{Given, Method, Problem};
use count::{Backend, Variant};

use crate::source::Source;

/// Pieces of what is expected, and of what is not.
const WORDS: &[&str] = &[
    " ",
    "\n",
    ",",
    "#",
    ".",
    "-",
    "Q",
    "q",
    "Q...\n",
    "..Q.\n",
    ". . Q .\r\n",
    "a",
    "b4",
    "c1",
    "h8",
    "z26",
    "aa27",
    "A1",
    "0",
    "1",
    "64",
    "4294967295",
    "4294967296",
    "+1",
    "-1",
    "zzzzzz",
    "total",
    "fundamental",
    "toroidal",
    "superqueens",
    "completions ",
    "completions b4",
    "rows",
    "ring",
    "halves",
    "reference",
    "portable",
    "neon",
    "avx2",
    "avx512",
    " mirrored",
    "search",
    "ä",
    "Ｑ",
    "\u{feff}",
    "\t",
    "\r",
    "\0",
    "\u{2028}",
];

/// Reads squares, boards, problems, methods and variants.
///
/// # Panics
///
/// If something is read as one thing and, written and read again, as another.
pub fn texts(input: &[u8]) {
    let mut source = Source::new(input);
    let n = source.number() as u32;
    let parameter = (!source.one_in(2)).then(|| source.number() as u32);
    let text = if source.one_in(4) {
        String::from_utf8_lossy(source.rest()).into_owned()
    } else {
        let len = source.below(40);
        (0..len).map(|_| *source.choose(WORDS)).collect()
    };

    if let Ok(squares) = parse_squares(&text) {
        assert_eq!(parse_squares(&written(&squares)), Ok(squares.clone()));
        placed(n, &squares);
    }
    if let Ok((size, squares)) = parse_board(&text) {
        assert!(size.is_none() || squares.iter().all(|square| Some(square.row) < size));
        placed(size.unwrap_or(n), &squares);
    }
    if let Some(problem) = Problem::from_text(&text, n) {
        assert_eq!(problem.n(), n);
        assert_eq!(Problem::from_text(&problem.text(), n), Some(problem));
    }
    if let Some(method) = Method::from_name(&text, parameter) {
        assert_eq!(method.name(), text);
        assert_eq!(method.parameter().map(|(_, value)| value), parameter);
    }
    if let Ok(backend) = text.parse::<Backend>() {
        assert_eq!(backend.to_string(), text);
    }
    if let Ok(variant) = text.parse::<Variant>() {
        assert_eq!(variant.to_string(), text);
    }
    let check = Variant::to_check(&text, Method::Halves, source.one_in(2));
    assert!(check.is_some_and(|check| check.to_string() != text));
}

fn placed(n: u32, squares: &[Square]) {
    let given = Given::new(n, squares);
    assert_eq!(given.is_ok(), n <= Given::MAX_N && check_queens(n, squares).is_ok());
    if let Ok(given) = given {
        let mut squares = squares.to_vec();
        squares.sort_by_key(|square| square.row);
        assert_eq!(given.queens().collect::<Vec<_>>(), squares);
    }
}

fn written(squares: &[Square]) -> String {
    squares.iter().map(Square::to_string).collect::<Vec<_>>().join(", ")
}
