//! Notations of other programs: lists in brackets, rows of strings, the model of a SAT solver, and
//! atoms. Each parser reads a whole text or refuses it, and returns `None` for a text of another
//! notation. docs/PLACEMENTS.md has the table of all notations.

use board::squares::Square;

use super::{NotationError, QueensRead, at, queens_of};

/// What a parser makes of a text.
type Parsed = Option<Result<QueensRead, NotationError>>;

/// The parsers of texts that may have several lines, in the order in which they are asked.
const PARSERS: [fn(&str) -> Parsed; 3] = [strings, model, atoms];

/// Reads a board in one of these notations; `None` if it is in another one.
pub(super) fn read(text: &str) -> Parsed {
    PARSERS.iter().find_map(|parser| parser(text))
}

/// The boards of a paragraph in one of these notations; `None` if it is in another one. A list of
/// lists of strings has several. So have atoms, a line each, if each line has several atoms.
pub(super) fn boards(paragraph: &str) -> Option<Vec<&str>> {
    let is_whole = paragraph.matches('[').count() == paragraph.matches(']').count();
    if is_whole && strings(paragraph).is_some() {
        return Some(boards_beside_strings(paragraph));
    }
    if atoms(paragraph).is_some() {
        let lines = || paragraph.lines().filter(|line| !line.trim().is_empty());
        let are_many = lines().all(|line| line.matches([')', ']']).count() > 1);
        return Some(if are_many { lines().collect() } else { vec![paragraph] });
    }
    read(paragraph).is_some().then(|| vec![paragraph])
}

/// The boards of what stands behind a list of strings.
fn boards_behind(text: &str) -> Vec<&str> {
    super::boards_of_paragraph(text.trim_start_matches([',', ']', ' ', '\t', '\n', '\r']))
}

/// The boards of a paragraph that begins with a list of strings: each such list, and all else that
/// stands between or behind them.
fn boards_beside_strings(paragraph: &str) -> Vec<&str> {
    let (mut boards, mut begin, mut at) = (Vec::new(), 0, 0);
    for part in paragraph.split_inclusive(']') {
        let end = at + part.len();
        if part.contains(QUOTES) {
            boards.extend(boards_behind(&paragraph[begin..at]));
            boards.push(part);
            begin = end;
        }
        at = end;
    }
    boards.extend(boards_behind(&paragraph[begin..]));
    boards
}

/// Whether a line behind this part of a paragraph ends an answer of another program. A line of
/// hyphens does not within a drawn board.
pub(super) fn is_between_answers(line: &str, before: &str) -> bool {
    let line = line.trim();
    let is_drawn = || before.chars().all(|c| super::piece(c).is_some() || super::is_between(&c));
    matches!(line, "==========" | "SATISFIABLE" | "OPTIMUM FOUND")
        || line == "----------" && !is_drawn()
}

/// The brackets that a list may have.
const BRACKETS: [(char, char); 4] = [('[', ']'), ('(', ')'), ('{', '}'), ('<', '>')];

/// What stands between the brackets of a list on one line. The list may have a name, as in
/// `q = [2, 4, 1, 3];`, and may end with a full stop, as Prolog prints it, or a semicolon.
pub(super) fn in_brackets(text: &str) -> Option<&str> {
    let text = text.trim();
    let list = match text.split_once('=') {
        Some((name, list)) if is_name(name.trim()) => list.trim_start(),
        _ => text,
    };
    let list = list.strip_suffix(['.', ';']).unwrap_or(list).trim_end();
    let is_open = |(open, close)| list.strip_prefix(open)?.strip_suffix(close);
    let inside = BRACKETS.into_iter().find_map(is_open)?;
    let is_flat = !inside.contains(|c| BRACKETS.iter().any(|it| c == it.0 || c == it.1));
    (is_flat && !inside.contains(QUOTES) && !inside.trim().is_empty()).then_some(inside)
}

/// The quotes of strings, in JSON and in Python.
const QUOTES: [char; 2] = ['"', '\''];

/// Whether a word is a name of a variable or of a predicate.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Reads a drawn board as a list of strings, as in `[".Q..", "...Q", "Q...", "..Q."]`.
fn strings(text: &str) -> Parsed {
    let text = text.trim();
    let quote = text.trim_start_matches([',', '[', ' ', '\t', '\n']).chars().next()?;
    if !text.contains('[') || !QUOTES.contains(&quote) {
        return None;
    }
    // Between the strings there are only commas, and around them brackets.
    let parts: Vec<&str> = text.split(quote).collect();
    let signs = |part: &&str| part.split_whitespace().collect::<String>();
    let between: Vec<String> = parts.iter().step_by(2).map(signs).collect();
    let is_list = match between.as_slice() {
        [first, commas @ .., last] => {
            matches!(first.as_str(), "[" | "[[" | ",[")
                && matches!(last.as_str(), "]" | "]]")
                && commas.iter().all(|it| it == ",")
        }
        _ => false,
    };
    if !is_list {
        let rule =
            "a list of strings is not whole: give the rows of a board, as in [\"..\", \"..\"]";
        return Some(Err(NotationError(rule.into())));
    }
    let rows: Vec<(&str, usize)> = parts.iter().copied().skip(1).step_by(2).zip(1..).collect();
    Some(queens_of(&rows).map(QueensRead::of_board))
}

/// Reads the model that a SAT solver prints: all variables from 1 to n^2, those that are false
/// with a minus. Variable (row - 1) n + column is true if a queen stands there. Lines of comments
/// begin with `c`, those of variables may begin with `v`, and the last number may be 0.
fn model(text: &str) -> Parsed {
    let is_comment = |line: &&str| line.split_whitespace().next().is_none_or(|word| word == "c");
    let lines = || text.lines().filter(|line| !is_comment(line));
    let is_head = |line: &str| matches!(line.trim(), "s SATISFIABLE" | "SAT");
    let first = lines().find(|line| !is_head(line))?.split_whitespace().next()?;
    let is_literal = |word: &str| word.parse::<i64>().is_ok();
    let is_model = lines().any(is_head) || first == "v" || {
        // A minus alone is an empty square.
        is_literal(first) && text.split_whitespace().any(|it| it.starts_with('-') && is_literal(it))
    };
    is_model.then(|| {
        let mut literals: Vec<(i64, &str)> = Vec::new();
        for line in lines().filter(|line| !is_head(line)) {
            let words = line.split_whitespace();
            for word in words.enumerate().filter(|it| *it != (0, "v")).map(|(_, word)| word) {
                let is_over = literals.last().is_some_and(|(last, _)| *last == 0);
                let literal = word.parse().ok().filter(|_| !is_over);
                let literal =
                    literal.ok_or_else(|| at(text, word, format!("`{word}` is no variable")))?;
                literals.push((literal, word));
            }
        }
        let literals = literals.strip_suffix(&[(0, "0")]).unwrap_or(&literals);
        queens_of_model(text, literals)
    })
}

/// The queens of the variables of a model, each with its word in the text.
fn queens_of_model(text: &str, literals: &[(i64, &str)]) -> Result<QueensRead, NotationError> {
    let n = literals.len().isqrt();
    if n * n != literals.len() || n == 0 {
        return Err(NotationError(format!(
            "the model has {} variables: give all n^2 of a board, true or false, and no other",
            literals.len()
        )));
    }
    let mut is_set = vec![None; n * n];
    for &(literal, word) in literals {
        let index = usize::try_from(literal.unsigned_abs()).ok().and_then(|it| it.checked_sub(1));
        match index.and_then(|index| is_set.get_mut(index)) {
            Some(value @ None) => *value = Some(literal > 0),
            _ => {
                let reason = format!("{word}: each variable from 1 to {} is there once", n * n);
                return Err(at(text, word, reason));
            }
        }
    }
    let true_ones = (0..n * n).filter(|&index| is_set[index] == Some(true));
    let square = |index| Square { column: (index % n) as u32, row: (index / n) as u32 };
    Ok(QueensRead::of_board((Some(n as u32), true_ones.map(square).collect())))
}

/// Reads atoms, as in `q[1]=3` of MiniZinc or `queen(1,3)` of answer set programming: the queen of
/// row 1 is in column 3. Commas, semicolons and full stops may follow them.
fn atoms(text: &str) -> Parsed {
    let begin = text.trim_start();
    let name = begin.split(['(', '[']).next().filter(|name| is_name(name.trim_end()))?;
    let name = name.trim_end();
    let open = begin[name.len()..].trim_start().chars().next()?;
    if !matches!(open, '(' | '[') {
        return None;
    }
    let mut rest = text;
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let Some((row, column, behind)) = atom(rest, name, open) else {
            let word = rest.split_whitespace().next().unwrap_or_default();
            let reason = format!("`{word}` is no atom of `{name}`, as in q[1]=3 or queen(1,3)");
            return Some(Err(at(text, word, reason)));
        };
        rows.push(row);
        columns.push(column);
        rest = behind;
    }
    let (first_row, first_column) = (first(&rows), first(&columns));
    let number = |value: u32, first: u32| {
        let from_one = || NotationError("0 is no row or column: they are counted from 1".into());
        value.checked_sub(first).ok_or_else(from_one)
    };
    let square = |(&row, &column)| {
        Ok(Square { column: number(column, first_column)?, row: number(row, first_row)? })
    };
    let squares: Result<Vec<Square>, _> = rows.iter().zip(&columns).map(square).collect();
    let counted_from = Some(first_column);
    Some(squares.map(|squares| QueensRead { n: None, squares, counted_from }))
}

/// The row and the column of the atom at the beginning of a text, and the text behind it.
fn atom<'a>(text: &'a str, name: &str, open: char) -> Option<(u32, u32, &'a str)> {
    let text = text.strip_prefix(name)?.trim_start().strip_prefix(open)?;
    let (row, text) = number(text)?;
    let text = match open {
        '(' => text.trim_start().strip_prefix(',')?,
        _ => text.trim_start().strip_prefix(']')?.trim_start().strip_prefix('=')?,
    };
    let (column, text) = number(text)?;
    let text = if open == '(' { text.trim_start().strip_prefix(')')? } else { text };
    let behind = text.trim_start_matches([',', ';', '.']);
    let is_over = behind.len() < text.len() || behind.starts_with(char::is_whitespace);
    (is_over || behind.is_empty()).then_some((row, column, behind))
}

/// The number at the beginning of a text, and the text behind it.
fn number(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_start();
    let (digits, behind) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((digits.parse().ok()?, behind))
}

/// The number of the first row or column: 0 if the numbers from 0 on are there, each once,
/// and otherwise 1.
pub(super) fn first(numbers: &[u32]) -> u32 {
    let mut is_there = vec![false; numbers.len()];
    let is_new = |&number: &u32| {
        is_there.get_mut(number as usize).is_some_and(|there| !std::mem::replace(there, true))
    };
    u32::from(!numbers.iter().all(is_new))
}
