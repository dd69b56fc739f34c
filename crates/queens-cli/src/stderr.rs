//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;

use console::Term;

use crate::advice;
use crate::terminal::{Style, Wrapping, is_coloured, width};

/// Writes a text to standard error, on a terminal in lines that break at words. Commands in it get
/// the options that they need. A text that cannot be written is dropped, because it is never the
/// result.
pub(crate) fn print(text: impl Display) {
    let mut out = Wrapping::new(std::io::stderr(), width(&Term::stderr()));
    let text = text.to_string();
    let _ = write!(out, "{}", advice::completed(&text)).and_then(|()| out.flush());
}

/// The text in this style, if standard error takes colours.
pub(crate) fn painted(style: Style, text: &str) -> String {
    if is_coloured(&Term::stderr()) { style.paint(text) } else { text.into() }
}
