//! What a terminal takes: lines as wide as it is, which break at words, and colours.
//!
//! Everything that is printed for people goes through [`Wrapping`]. Elsewhere, in pipes and files,
//! lines stay whole and plain.

use std::io::{self, Write};
use std::mem::take;

use console::{Term, measure_text_width};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use textwrap::{WordSeparator, WordSplitter};

use crate::os;
use crate::progress::is_dumb;

/// The number of columns of a terminal; `None` for anything else.
pub(crate) fn width(of: &Term) -> Option<usize> {
    let size = of.size_checked().filter(|_| of.is_term());
    size.map(|(_, columns)| columns.into()).filter(|columns| *columns > 0)
}

/// The lines and columns of a terminal. One that does not know them, or says that it has none, is
/// taken for a usual one.
pub(crate) fn size(of: &Term) -> (u16, u16) {
    const USUAL: (u16, u16) = (24, 80);
    of.size_checked().filter(|(lines, columns)| *lines > 0 && *columns > 0).unwrap_or(USUAL)
}

/// Whether a text may have colours: on a terminal that takes them, unless `NO_COLOR` forbids it.
pub(crate) fn is_coloured(of: &Term) -> bool {
    let is_forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_forbidden && !is_dumb() && os::shows_colours(of)
}

/// A colour of the terminal's own eight, whose theme decides how they look, or a bold font.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bold = 1,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

impl Style {
    /// The text in this style.
    pub(crate) fn paint(self, text: &str) -> String {
        format!("\u{1b}[{}m{text}\u{1b}[0m", self as u8)
    }
}

/// The line as lines of at most `width` columns, which are broken at spaces only. The lines after
/// the first one begin below the text that follows a name and some spaces, as in `name    text`, or
/// below the first word. A line of JSON stays whole, so that it can be copied.
pub(crate) fn wrapped(line: &str, width: usize) -> String {
    if line.starts_with('{') {
        return line.into();
    }
    let indent = " ".repeat(hanging(line, width));
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).join("\n")
}

/// Where the text of a line begins, after its leading spaces and a name with spaces behind it.
fn hanging(line: &str, width: usize) -> usize {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let text = line.trim_start_matches(' ');
    let name = text.find("  ").map(|end| {
        let rest = &text[end..];
        leading + measure_text_width(&text[..end]) + rest.len() - rest.trim_start_matches(' ').len()
    });
    name.filter(|at| 3 * at <= 2 * width).unwrap_or(leading.min(width / 2))
}

/// Writes lines that are no longer than `width`, if there is one. A line is written at its end.
pub(crate) struct Wrapping<W: Write> {
    out: W,
    width: Option<usize>,
    line: Vec<u8>,
}

impl<W: Write> Wrapping<W> {
    pub(crate) fn new(out: W, width: Option<usize>) -> Wrapping<W> {
        Wrapping { out, width, line: Vec::new() }
    }
}

impl<W: Write> Write for Wrapping<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let Some(width) = self.width else { return self.out.write(text) };
        for part in text.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if let Some(line) = self.line.strip_suffix(b"\n") {
                let line = wrapped(&String::from_utf8_lossy(line), width);
                self.out.write_all(line.as_bytes())?;
                self.out.write_all(b"\n")?;
                self.line.clear();
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.out.write_all(&take(&mut self.line))?;
        }
        self.out.flush()
    }
}

/// A drawn board with queens on squares of two colours, of which a1 has the darker one. Lines that
/// are no rank stay as they are.
pub(crate) fn board(drawn: &str) -> String {
    // A rank is its number, if it has one, and a word for each square.
    let rank = |line: &str| {
        let squares = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        let is_rank = !squares.is_empty() && squares.chars().all(|c| " .Qx!".contains(c));
        is_rank
            .then(|| (line[..line.len() - squares.len()].trim_end().to_owned(), squares.to_owned()))
    };
    let ranks = drawn.lines().filter(|line| rank(line).is_some()).count();
    let mut lines = Vec::new();
    for (line, at) in drawn.lines().zip(0..) {
        let Some((number, squares)) = rank(line) else {
            lines.push(line.to_owned());
            continue;
        };
        // Squares are as far from each other as their words.
        let word = squares.len().div_ceil(squares.split_whitespace().count()).max(2);
        let cells = squares.split_whitespace().zip(0..).map(|(piece, column)| {
            let (ground, piece) = (if (ranks - 1 - at + column) % 2 == 0 { 42 } else { 47 }, piece);
            let (colour, shown) = match piece {
                "Q" => (30, '♛'),
                "!" => (31, '♛'),
                "x" => (30, '·'),
                _ => (30, ' '),
            };
            format!("\u{1b}[{colour};{ground}m{shown:>word$}")
        });
        lines.push(format!("{number}{}\u{1b}[0m", cells.collect::<String>()));
    }
    lines.join("\n")
}

/// A page of Markdown as text for people, with a line for each paragraph and each row of a table.
/// The address of a link is in parentheses after its words.
pub(crate) fn page(markdown: &str, is_coloured: bool) -> String {
    let (mut text, mut line, mut address) = (String::new(), String::new(), String::new());
    let (mut row, mut table) = (Vec::new(), Vec::new());
    let mut number = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(words) | Event::InlineHtml(words) => line += &words,
            Event::Code(words) => line += &format!("`{words}`"),
            Event::SoftBreak => line.push(' '),
            Event::Start(Tag::Link { dest_url, .. }) => address = dest_url.into_string(),
            Event::End(TagEnd::Link) => line += &format!(" ({address})"),
            Event::Start(Tag::List(first)) => number = first,
            Event::Start(Tag::Item) => {
                line = number.map_or_else(|| "- ".into(), |number| format!("{number}. "));
                number = number.map(|number| number + 1);
            }
            Event::End(TagEnd::Item) => text += &format!("{}\n", take(&mut line)),
            Event::End(TagEnd::List(_)) => text.push('\n'),
            Event::End(TagEnd::TableCell) => row.push(take(&mut line)),
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => table.push(take(&mut row)),
            Event::End(TagEnd::Table) => text += &format!("{}\n", aligned(&take(&mut table))),
            Event::End(TagEnd::Heading(_)) if is_coloured => {
                text += &format!("{}\n\n", Style::Bold.paint(&take(&mut line)));
            }
            Event::End(TagEnd::Heading(_) | TagEnd::Paragraph) => {
                text += &format!("{}\n\n", take(&mut line));
            }
            Event::End(TagEnd::CodeBlock) => text += &format!("{}\n", take(&mut line)),
            _ => {}
        }
    }
    text.trim_end().into()
}

/// The rows with two spaces between their columns.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| measure_text_width(cell))
            .max()
            .unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}", width(at)));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_below_their_text() {
        assert_eq!(wrapped("short", 9), "short");
        assert_eq!(wrapped("one two three", 9), "one two\nthree");
        assert_eq!(
            wrapped("plan      N=8 by rows now", 18),
            "plan      N=8 by\n          rows now"
        );
        assert_eq!(wrapped("  name with", 8), "  name\n  with");
        assert_eq!(wrapped("an-address-of-a-farm x", 9), "an-address-of-a-farm\nx");
        assert_eq!(wrapped("name      an-address x", 13), "name\nan-address x");
        assert_eq!(wrapped(r#"{"a": "b c d e f"}"#, 9), r#"{"a": "b c d e f"}"#);
        let red = Style::Red.paint("no");
        assert_eq!(wrapped(&format!("{red} wait ye"), 7), format!("{red} wait\nye"));
        let mut out = Wrapping::new(Vec::new(), Some(5));
        write!(out, "ab cd").and_then(|()| write!(out, " ef\ngh")).expect("it has room");
        out.flush().expect("it has room");
        assert_eq!(out.out, b"ab cd\nef\ngh");
    }

    #[test]
    fn a_board_has_two_colours_and_keeps_its_places() {
        let plain = "2 Q .\n1 x !\n  a b";
        let lines = board(plain);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[0], "2\u{1b}[30;47m ♛\u{1b}[30;42m  \u{1b}[0m");
        assert_eq!(lines[1], "1\u{1b}[30;42m ·\u{1b}[31;47m ♛\u{1b}[0m");
        assert_eq!(lines[2], "  a b");
        assert_eq!(measure_text_width(lines[0]), 5);
        assert_eq!(board(". Q").matches('♛').count(), 1, "a board may have no numbers");
    }

    #[test]
    fn a_page_has_no_marks_of_markdown() {
        let markdown = "# Codes\n\nOne\nparagraph ([here](a.md)).\n\n| code | a |\n|---|:--|\n| 10 | `x \\| y` |\n\n\
                        ```text\n# code\n```\n\n- one\n- two\n  more\n\n1. first\n2. next\n";
        let text = "Codes\n\nOne paragraph (here (a.md)).\n\ncode  a\n10    `x | y`\n\n# code\n\n- one\n- two more\n\n1. first\n2. next";
        assert_eq!(page(markdown, false), text);
        assert!(page(markdown, true).starts_with("\u{1b}[1mCodes\u{1b}[0m\n"));
    }
}
