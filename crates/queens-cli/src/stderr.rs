//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;

use console::Term;

use crate::terminal::{Style, Wrapping, is_coloured, width};

/// Writes a text to standard error, on a terminal in lines that break at words. A text that cannot
/// be written is dropped, because it is never the result.
pub(crate) fn print(text: impl Display) {
    let mut out = Wrapping::new(std::io::stderr(), width(&Term::stderr()));
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// The text in this style, if standard error takes colours.
pub(crate) fn painted(style: Style, text: &str) -> String {
    if is_coloured(&Term::stderr()) { style.paint(text) } else { text.into() }
}

/// Replaces characters that a terminal would obey, or that would change the direction of the text
/// around them, by escapes. Parts of the text may come from a file or from the network.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if is_hidden { visible.extend(c.escape_unicode()) } else { visible.push(c) }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn no_character_that_a_terminal_obeys_is_left() {
        for plain in ["", "N = 8: Zoë's ledger", "日本/queens.db", "e\u{301}"] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(visible("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(visible("\u{9b}1m\u{202e}"), "\\u{9b}1m\\u{202e}");
    }
}
