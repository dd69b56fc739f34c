//! Queens read from text, in any of the notations of [`Notation`](crate::Notation) but JSON, and
//! in those of other programs (`elsewhere`). docs/PLACEMENTS.md has the table of all. A text is
//! read whole or refused: whoever judges the queens must not judge a part of them.

mod elsewhere;

use std::fmt::Display;

use board::squares::{Square, SquaresError, parse_squares};
use thiserror::Error;

/// The reason why a text does not describe queens, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("{0}")]
pub struct NotationError(pub(crate) String);

impl From<SquaresError> for NotationError {
    fn from(error: SquaresError) -> NotationError {
        NotationError(error.to_string())
    }
}

/// The size of a board, if the text has it, and its queens.
type Queens = (Option<u32>, Vec<Square>);

/// Queens that were read from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueensRead {
    /// The size of the board, if the text has it. Squares do not say it.
    pub n: Option<u32>,
    /// The queens, which may attack each other.
    pub squares: Vec<Square>,
    /// The number of the first column, 0 or 1, in a list of columns or in atoms. It is 0 if all
    /// columns from 0 on are there, each once.
    pub counted_from: Option<u32>,
}

impl QueensRead {
    fn of_board((n, squares): Queens) -> QueensRead {
        QueensRead { n, squares, counted_from: None }
    }
}

/// The error about a word of a text, with its place.
fn at(text: &str, word: &str, reason: impl Display) -> NotationError {
    // A word that is not a part of the text has no place in it.
    let offset = (word.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
    let before = offset.and_then(|offset| text.get(..offset)).unwrap_or_default();
    let line = before.split('\n').count();
    let character = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    NotationError(format!("line {line}, character {character}: {reason}"))
}

/// The boards that a text has. An empty line ends a board, unless all of the text is one drawn
/// board. Within a paragraph, each FEN and each permutation, on a line or in brackets, is a board
/// of its own. So is each line of squares, if the paragraph is a list of whole placements, and each
/// line of atoms, if each line has several.
#[must_use]
pub fn boards(text: &str) -> Vec<&str> {
    let paragraphs = if is_drawn(text) { vec![text] } else { paragraphs(text) };
    paragraphs.into_iter().flat_map(boards_of_paragraph).collect()
}

fn is_drawn(text: &str) -> bool {
    matches!(parse_board(text), Ok((Some(_), _)))
}

fn boards_of_paragraph(paragraph: &str) -> Vec<&str> {
    if is_drawn(paragraph) {
        return vec![paragraph];
    }
    if let Some(found) = elsewhere::boards(paragraph) {
        return found;
    }
    // Lines of squares are a list of placements if the first of them is one, or most are; otherwise
    // they are one board.
    let has_squares =
        |line: &&str| words(line).first().is_some_and(|word| parse_squares(word).is_ok());
    let listed = paragraph.lines().filter(has_squares).map(has_own_squares);
    let is_first_whole = listed.clone().next() == Some(true);
    let balance: i64 = listed.map(|is_whole| if is_whole { 1 } else { -1 }).sum();
    let is_list = is_first_whole || balance > 0;
    let mut boards = Vec::new();
    let (mut begin, mut at, mut open_brackets) = (0, 0, 0_usize);
    for line in paragraph.split_inclusive('\n') {
        let (plain, words) = (plain(line), words(line));
        let is_listed = is_list && has_squares(&line);
        let is_board = plain.contains('/')
            || is_listed
            || is_permutation(plain, &words)
            || elsewhere::in_brackets(plain).is_some();
        if is_board && open_brackets == 0 {
            boards.extend([&paragraph[begin..at], line]);
            begin = at + line.len();
        }
        let open = open_brackets + plain.matches('[').count();
        open_brackets = open.saturating_sub(plain.matches(']').count());
        at += line.len();
    }
    boards.push(&paragraph[begin..]);
    let parts = boards.into_iter().flat_map(without_brackets);
    parts.filter(|part| !words(part).is_empty()).collect()
}

/// Whether a line has a whole permutation, and is no row of a drawn board.
fn is_permutation(line: &str, words: &[&str]) -> bool {
    let behind_rank = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    words.len() > 1
        && line.starts_with(|c: char| c.is_ascii_digit())
        && !behind_rank.starts_with(['.', 'Q', 'x', '!'])
        && !words.iter().all(|word| matches!(*word, "0" | "1"))
}

/// The permutations of a text that begins with a bracket. Any other text is returned as it is.
fn without_brackets(text: &str) -> Vec<&str> {
    let is_one = elsewhere::in_brackets(plain(text)).is_some();
    // A matrix has no other numbers than 0 and 1. Brackets within comments mean nothing.
    let is_matrix = words(text).iter().all(|word| matches!(*word, "0" | "1"));
    if is_one || is_matrix || !text.lines().any(|line| plain(line).starts_with('[')) {
        return vec![text];
    }
    if text.contains('#') {
        text.lines().collect()
    } else {
        text.trim_end().trim_end_matches(['.', ';']).split(']').collect()
    }
}

/// Whether a line has the squares of a whole placement of more than one queen: one square on each
/// file and one on each rank.
fn has_own_squares(line: &str) -> bool {
    let Ok(squares) = parse_squares(line) else { return false };
    let all = |of: fn(&Square) -> u32| {
        let mut places: Vec<u32> = squares.iter().map(of).collect();
        places.sort_unstable();
        places.into_iter().eq(0..squares.len() as u32)
    };
    squares.len() > 1 && all(|square| square.column) && all(|square| square.row)
}

/// The paragraphs between empty lines. Those that have only comments are left out.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut paragraphs = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() || elsewhere::is_between_answers(line, &text[begin..at]) {
            paragraphs.push(&text[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    paragraphs.push(&text[begin..]);
    paragraphs.retain(|paragraph| paragraph.lines().any(|line| !plain(line).is_empty()));
    paragraphs
}

/// A line without its comment.
fn plain(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

/// Reads a drawn board and returns its size and its queens. Each line is a row, the highest rank
/// first; `Q`, `q`, `*` or `#` is a queen and `.`, `-` or `_` an empty square, with or without
/// spaces, commas, bars or brackets between them. A matrix has `1` for a queen and `0` for an empty
/// square. A `#` begins a comment, unless the text is a board only if each `#` is a queen. The
/// board may have coordinates, as [`draw::text`](crate::draw::text) writes them. A text that starts
/// with anything else is read as a list of squares, which has no size.
fn parse_board(text: &str) -> Result<Queens, NotationError> {
    let bare = without_coordinates(text);
    let text = bare.as_deref().unwrap_or(text);
    let found = parse_rows(text, plain).unwrap_or_else(|| Ok((None, parse_squares(text)?)));
    if found.as_ref().is_ok_and(|(_, squares)| !squares.is_empty()) {
        return found;
    }
    parse_rows(text, str::trim).filter(Result::is_ok).unwrap_or(found)
}

/// The rows of a board that has its ranks at the left and its files below, without these
/// coordinates. An attacked square has the sign of an empty square or a queen that is not attacked.
/// `None` for any other text.
fn without_coordinates(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let (files, ranks) = lines.split_last()?;
    let name = |column| Square { column, row: 0 }.to_string();
    let names = (0..ranks.len() as u32).map(|column| name(column).trim_end_matches('1').to_owned());
    if !files.split_whitespace().eq(names) {
        return None;
    }
    let rows = ranks.iter().zip((1..=ranks.len()).rev());
    let rows = rows.map(|(row, rank)| row.strip_prefix(&format!("{rank} ")));
    let rows: Vec<&str> = rows.collect::<Option<_>>()?;
    Some(rows.join("\n").replace('x', ".").replace('!', "Q"))
}

/// Whether a square with this sign in a drawn board has a queen; `None` if it is no such sign.
fn piece(sign: char) -> Option<bool> {
    match sign {
        'Q' | 'q' | '*' | '#' | '1' => Some(true),
        '.' | '-' | '_' | '0' => Some(false),
        _ => None,
    }
}

/// What may stand between two squares of a row.
fn is_between(sign: &char) -> bool {
    sign.is_whitespace() || matches!(sign, ',' | '|' | '[' | ']')
}

/// Reads a drawn board from one `part` of each line; `None` if the text does not begin like a
/// board.
fn parse_rows(text: &str, part: impl Fn(&str) -> &str) -> Option<Result<Queens, NotationError>> {
    let lines = text.lines().map(part).zip(1..);
    let rows = lines.flat_map(|(line, number)| line.split(']').map(move |row| (row, number)));
    let rows: Vec<(&str, usize)> =
        rows.filter(|(row, _)| row.chars().any(|sign| !is_between(&sign))).collect();
    let (first, _) = rows.first()?;
    let mut squares = first.chars().filter(|sign| !is_between(sign));
    let is_drawn = match squares.next()? {
        // Permutations have no 0, and other numbers besides 1.
        '0' | '1' => {
            let digits = || rows.iter().flat_map(|(row, _)| row.chars()).filter(|c| !is_between(c));
            digits().all(|sign| matches!(sign, '0' | '1')) && digits().any(|sign| sign == '0')
        }
        // A `q` alone is not enough: q1 is a square, and other words begin with it too.
        sign => {
            let is_piece = |sign: char| !sign.is_ascii_digit() && piece(sign).is_some();
            !piece(sign)? || squares.next().is_none_or(is_piece)
        }
    };
    is_drawn.then(|| queens_of(&rows))
}

/// The queens of rows, from the highest rank down. Each row comes with the number of its line.
fn queens_of(rows: &[(&str, usize)]) -> Result<Queens, NotationError> {
    let n = rows.len();
    let mut squares = Vec::new();
    for (row, &(text, line)) in rows.iter().rev().enumerate() {
        let mut found = 0;
        for sign in text.chars().filter(|sign| !is_between(sign)) {
            let no_piece = || {
                NotationError(format!(
                    "line {line}, square {}: `{sign}` is neither a queen (Q, *, # or 1) nor empty (., -, _ or 0)",
                    found + 1
                ))
            };
            if piece(sign).ok_or_else(no_piece)? {
                squares.push(Square { column: found, row: row as u32 });
            }
            found += 1;
        }
        if found as usize != n {
            return Err(NotationError(format!(
                "line {line} has {found} squares, and the board has {n} lines: they must be as many"
            )));
        }
    }
    if n == 1 && squares.is_empty() {
        return Err(NotationError("a board of one square without a queen".into()));
    }
    Ok((Some(n as u32), squares))
}

/// Reads queens in any notation but JSON. It does not check whether the queens attack each other.
///
/// # Errors
///
/// [`NotationError`] for the first word that does not describe queens.
pub fn read_queens(text: &str) -> Result<QueensRead, NotationError> {
    one_board(single(text)?)
}

/// The text of the only board. What stands around it, as a comment, is left out.
fn single(text: &str) -> Result<&str, NotationError> {
    match boards(text)[..] {
        [] => Ok(text),
        [board] => Ok(board),
        ref several => Err(NotationError(format!("there are {} boards: give one", several.len()))),
    }
}

fn one_board(text: &str) -> Result<QueensRead, NotationError> {
    if let Ok(drawn @ (Some(_), _)) = parse_board(text) {
        return Ok(QueensRead::of_board(drawn));
    }
    if let Some(read) = elsewhere::read(text) {
        return read;
    }
    let words = words(text);
    match words.as_slice() {
        [fen, fields @ ..] if fen.contains('/') => {
            check_fields(text, fen, fields)?;
            read_fen(text, fen).map(QueensRead::of_board)
        }
        [first, ..] if first.starts_with(|c: char| c.is_ascii_digit()) => {
            read_permutation(text, &words)
        }
        _ => match parse_rows(text, plain) {
            Some(Err(error)) => Err(error),
            _ => {
                let square =
                    |word: &&str| word.parse().map_err(|error: SquaresError| at(text, word, error));
                let squares = words.iter().map(square).collect::<Result<_, _>>()?;
                Ok(QueensRead { n: None, squares, counted_from: None })
            }
        },
    }
}

/// Checks the other fields of a position, which are ignored: whose turn it is, who may castle, and
/// anything behind these.
fn check_fields(text: &str, fen: &str, fields: &[&str]) -> Result<(), NotationError> {
    if let Some(other) = fields.iter().find(|it| it.contains('/')) {
        let reason = format!("{other} is another board behind {fen}: give each a line of its own");
        return Err(at(text, other, reason));
    }
    let is_castling = |word: &str| word.chars().all(|c| "KQkq-".contains(c));
    match fields {
        [] | ["w" | "b"] => Ok(()),
        ["w" | "b", castling, ..] if is_castling(castling) => Ok(()),
        [other, ..] => Err(at(text, other, format!("`{other}` behind a FEN is no field of it"))),
    }
}

/// The words of a text without its comments, and without the brackets, the name and the full stop
/// of a list.
fn words(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| elsewhere::in_brackets(plain(line)).unwrap_or(plain(line)));
    let words = lines.flat_map(|line| line.split([',', ' ', '\t', '[', ']']));
    words.filter(|word| !word.is_empty()).collect()
}

/// Reads a permutation as the rank of the queen on each file from a on, counted like the columns of
/// [`read_queens`].
///
/// # Errors
///
/// [`NotationError`] for the first word that is no such rank.
pub fn read_ranks(text: &str) -> Result<QueensRead, NotationError> {
    let text = single(text)?;
    let mut read = read_permutation(text, &words(text))?;
    for Square { column, row } in &mut read.squares {
        std::mem::swap(column, row);
    }
    Ok(read)
}

/// Reads the column of the queen of each row. They are counted from 0 if the columns from 0 on are
/// there, each once, and otherwise from 1.
fn read_permutation(text: &str, words: &[&str]) -> Result<QueensRead, NotationError> {
    let n = words.len();
    let refused = |word: &&str| {
        let rule = format!("a permutation of {n} numbers has columns from 1 to {n}");
        at(text, word, format!("{word} is no column: {rule}, or from 0 to {}, each once", n - 1))
    };
    let number = |word: &&str| word.parse::<u32>().ok().filter(|_| !word.starts_with('+'));
    let numbers = words.iter().map(|word| number(word).ok_or_else(|| refused(word)));
    let numbers = numbers.collect::<Result<Vec<u32>, _>>()?;
    let first = elsewhere::first(&numbers);
    let square = |(row, (&number, word)): (usize, (&u32, &&str))| {
        let column = number.checked_sub(first).filter(|&column| (column as usize) < n);
        column.map(|column| Square { column, row: row as u32 }).ok_or_else(|| refused(word))
    };
    let squares = numbers.iter().zip(words).enumerate().map(square).collect::<Result<_, _>>()?;
    Ok(QueensRead { n: Some(n as u32), squares, counted_from: Some(first) })
}

fn read_fen(text: &str, fen: &str) -> Result<Queens, NotationError> {
    let ranks: Vec<&str> = fen.split('/').collect();
    let n = ranks.len();
    let mut squares = Vec::new();
    for (row, rank) in ranks.iter().rev().enumerate() {
        let columns = read_rank(rank, n).ok_or_else(|| {
            at(text, rank, format!(
                "`{rank}` is no rank of a board of {n} ranks: give runs of empty squares and Q, {n} in all"
            ))
        })?;
        squares.extend(columns.into_iter().map(|column| Square { column, row: row as u32 }));
    }
    Ok((Some(n as u32), squares))
}

/// The columns of the queens of one rank; `None` if it does not have `n` squares.
fn read_rank(rank: &str, n: usize) -> Option<Vec<u32>> {
    let mut columns = Vec::new();
    let mut at = 0_usize;
    // The runs of empty squares before, between and behind the queens.
    for run in rank.split(['Q', 'q']) {
        if !run.is_empty() {
            let is_number = run.bytes().all(|digit| digit.is_ascii_digit());
            at = at.checked_add(run.parse().ok().filter(|_| is_number)?)?;
        }
        columns.push(at as u32);
        at = at.checked_add(1)?;
    }
    columns.pop();
    (at == n + 1).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Notation::{Board, Columns, Fen, Permutation, Squares};
    use crate::Placement;

    #[test]
    fn what_is_written_is_read_again() {
        // 30 squares a rank: runs of two digits, files beyond z.
        for columns in [vec![], vec![0], vec![1, 3, 0, 2], (0..30).rev().collect::<Vec<u32>>()] {
            let placement = Placement::trusted(columns);
            let mut wanted: Vec<Square> = placement.squares().collect();
            wanted.sort_unstable();
            let notations = [Squares, Permutation, Columns, Fen, Board];
            for notation in notations {
                let text = notation.of(&placement).to_string();
                let mut read = read_queens(&text).expect("it was written so");
                read.squares.sort_unstable();
                assert_eq!(read.squares, wanted, "{notation:?}: {text}");
                assert!(read.n.is_none_or(|n| n == placement.n()), "{notation:?}: {text}");
            }
        }
    }

    #[test]
    fn every_notation_may_have_several_boards() {
        let (one, other) = ([1, 3, 0, 2], [2, 0, 3, 1]);
        for notation in [Squares, Permutation, Columns, Fen, Board] {
            let between = if matches!(notation, Columns | Board) { "\n\n" } else { "\n" };
            let [one, other] =
                [one, other].map(|it| notation.of(&Placement::trusted(it.into())).to_string());
            let text = format!("# two boards\r\n\r\n{one}{between}{other}\n").replace('\n', "\r\n");
            let found: Vec<_> = boards(&text).into_iter().map(read_queens).collect();
            assert_eq!(found, [read_queens(&one), read_queens(&other)], "{text}");
            assert!(found.iter().all(Result::is_ok), "{text}");
        }
        let matrices = "0 1 0 0\n0 0 0 1\n1 0 0 0\n0 0 1 0\n\n0010\n1000\n0001\n0100";
        assert_eq!(boards(matrices).len(), 2);
        for one in
            ["a1 b5\nc8 d6", "1 3\n", "0 1\n\n0 0\n", "2,\n4,\n1,\n3", "a1\nzz\nb3", "e5 g4\na2 b1"]
        {
            assert_eq!(boards(one), [one]);
        }
        assert!(["", "# nothing"].into_iter().all(|none| boards(none).is_empty()));
    }

    #[test]
    fn each_board_is_read_in_its_own_form_whatever_stands_before_it() {
        // The first three need no empty line beside them.
        let forms = [
            "2Q1/Q3/3Q/1Q2 # a FEN",
            "2 4 1 3",
            "b1 d2 a3 c4",
            "[2, 4,\n1, 3]",
            "2\n4\n1\n3",
            "b1 d2\na3 c4",
            "# drawn\n..Q.\nQ...\n...Q\n.Q..",
            "0 0 1 0\n1 0 0 0\n0 0 0 1\n0 1 0 0",
            "4 x x Q x\n3 ! x x x\n2 x x x Q\n1 x Q x x\n  a b c d",
        ];
        for (one, other) in (0..81).map(|pair| (pair / 9, pair % 9)) {
            // A line of squares makes all of its paragraph a list.
            let are_lines = one.min(other) < 2 || (one, other) == (2, 2);
            let between = if are_lines { "\n" } else { "\n\n" };
            let text = format!("{}{between}{}\n", forms[one], forms[other]);
            let found: Vec<_> = boards(&text).into_iter().map(read_queens).collect();
            assert_eq!(found, [one, other].map(|form| read_queens(forms[form])), "{text}");
        }
        assert_eq!(boards("a3 b1\na2 b4 c1 d3\nb1 d2 a3 c4\n1Q2/3Q/Q3/2Q1\nno board").len(), 5);
    }

    #[test]
    fn a_board_is_read_drawn_or_named() {
        let queens = parse_squares("c1 a2 d3 b4").expect("they are squares");
        assert_eq!(
            parse_board(". Q . .\n. . . Q\n\n# drawn\nQ...\n--q- # drawn\n"),
            Ok((Some(4), queens.clone()))
        );
        let drawings = [
            ". * . .\n. . . *\n* . . .\n. . * .\n",
            "_#__\r\n___#\r\n#___\r\n__#_\r\n",
            "|_|Q|_|_|\n|_|_|_|Q|\n|Q|_|_|_|\n|_|_|Q|_| # with bars\n",
            "0100\n0001\n1000\n0010",
            "0 1 0 0\n0,0,0,1\n1 0 0 0\n0 0 1 0\n",
            "[[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]",
        ];
        for drawing in drawings {
            assert_eq!(parse_board(drawing), Ok((Some(4), queens.clone())), "{drawing}");
        }
        assert_eq!(parse_board("#"), Ok((Some(1), vec![Square { column: 0, row: 0 }])));
        assert_eq!(parse_board(".. # none\n.."), Ok((Some(2), vec![])));
        assert_eq!(parse_board("c1, a2\nd3 b4 # named\n"), Ok((None, queens)));
        assert_eq!(parse_board(""), Ok((None, vec![])));
        let refused = |text| parse_board(text).expect_err("it is none").to_string();
        assert!(refused(".\n..").starts_with("line 1 has 1 squares, and the board has 2 lines"));
        assert!(refused(".x\n..").starts_with("line 1, square 2: `x` is neither"));
        assert!(refused("queen").starts_with("`queen` is no square"));
        assert_eq!(parse_board("q1"), Ok((None, vec![Square { column: 16, row: 0 }])));
    }

    #[test]
    fn ranks_are_read_file_by_file() {
        let four = Placement::trusted(vec![2, 0, 3, 1]);
        let QueensRead { n, mut squares, .. } =
            read_ranks("2, 4 1 3").expect("it is a permutation");
        squares.sort_unstable_by_key(|square| square.row);
        assert_eq!((n, squares), (Some(4), four.squares().collect()));
        assert!(read_ranks("a2 b4 c1 d3").is_err());
    }

    #[test]
    fn what_is_no_placement_is_refused_with_the_word() {
        let refusals = [
            ("1 2 4", "4 is no column"),
            ("0 1 3", "line 1, character 1: 0 is no column"),
            ("2Q1/Q3/3Q/1Q2 Qb4", "`Qb4` behind a FEN"),
            ("a1 b3\n c3 q", "line 2, character 5: `q` is no square"),
            ("1 b2", "b2 is no column"),
            ("2Q/3/11Q", "`11Q` is no rank of a board of 3 ranks"),
            ("2Q/3/K2", "`K2` is no rank"),
            ("1Q/99999999999999999999999", "is no rank"),
            ("a1 z", "`z` is no square"),
            ("1Q2/3Q/Q3/2Q1\nQ3/4/4/4\n", "there are 2 boards"),
            ("2 4 1 3\n\n3 1 4 2 # mirrored\n1", "there are 3 boards"),
            ("[[2, 4, 1, 3], [3, 1, 4, 2]]", "there are 2 boards"),
            ("a2 b4 c1 d3\na3 b1 c5", "there are 2 boards"),
            ("1Q2/3Q/Q3/2Q1 2Q1/Q3/3Q/1Q2", "give each a line of its own"),
            ("# two\n[2,4,1,3]\n[3,1,4,2]", "there are 2 boards"),
        ];
        for (text, words) in refusals {
            let error = read_queens(text).expect_err("it is none").to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        for text in
            ["2 2 # on one file", "2\n2\n", "[2, 2]", "QQ/2 w KQ e3 bm Qd1", "[2, 2] # a [b] c"]
        {
            let QueensRead { n, squares, .. } = read_queens(text).expect("queens may attack");
            assert_eq!((n, squares.len()), (Some(2), 2), "{text}");
        }
    }
}
