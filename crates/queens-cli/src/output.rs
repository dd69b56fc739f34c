//! Writes results to standard output. Errors of writing become failures.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::time::{Duration, Instant};

use console::Term;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::{Style, Wrapping, is_coloured, width};
use crate::{advice, os, progress};

/// Prints lines, without holding their text in memory, because a placement may be long. On a
/// terminal they break at words.
pub(crate) fn print<L: std::fmt::Display>(line: L) -> Result<(), Failure> {
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut out = Wrapping::new(out, width(&Term::stdout()));
    written(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// Prints a text whose commands get the options that they need.
pub(crate) fn advise(text: impl std::fmt::Display) -> Result<(), Failure> {
    print(advice::completed(&text.to_string()))
}

/// The text in this style, if standard output takes colours.
pub(crate) fn painted(style: Style, text: &str) -> String {
    if is_coloured(&Term::stdout()) { style.paint(text) } else { text.into() }
}

/// Something as JSON. Counts in it are decimal strings, because they may exceed 2^53.
pub(crate) fn json(what: &impl Serialize) -> Value {
    serde_json::to_value(what).expect("it is JSON")
}

/// The first object with the fields of the second one added.
pub(crate) fn with(mut object: Value, further: Value) -> Value {
    if let (Value::Object(fields), Value::Object(further)) = (&mut object, further) {
        fields.extend(further);
    }
    object
}

/// Prints one line of a command whose main work is not to print. The command goes on if nobody
/// reads the line.
pub(crate) fn mention<L: std::fmt::Display>(line: L) -> Result<(), Failure> {
    match print(line) {
        Err(Failure::Unread) => Ok(()),
        printed => printed,
    }
}

/// Ends the process soon after the last reader of standard output has gone. It is for commands that
/// have no other result than what they print. It waits a moment, so that a command that is just
/// ending ends with its own exit code.
pub(crate) fn end_with_reader() {
    const SOON: Duration = Duration::from_millis(100);
    std::thread::spawn(|| {
        os::wait_until_unread();
        std::thread::sleep(SOON);
        progress::erase();
        std::process::exit(Failure::Unread.code().into());
    });
}

/// Prints lines to standard output. There may be many lines, and there may be a long time between
/// two of them.
pub(crate) struct Lines {
    out: Wrapping<BufWriter<StdoutLock<'static>>>,
    printed: u64,
    flushed: Instant,
}

impl Lines {
    /// The number of first lines that are written at once. Later lines are gathered for some
    /// milliseconds.
    const AT_ONCE: u64 = 1000;
    const SOON: Duration = Duration::from_millis(10);

    pub(crate) fn new() -> Lines {
        let out = BufWriter::new(std::io::stdout().lock());
        let out = Wrapping::new(out, width(&Term::stdout()));
        Lines { out, printed: 0, flushed: Instant::now() }
    }

    pub(crate) fn print(&mut self, line: impl std::fmt::Display) -> Result<(), Failure> {
        written(writeln!(self.out, "{line}"))?;
        self.printed += 1;
        if self.printed <= Lines::AT_ONCE || self.flushed.elapsed() >= Lines::SOON {
            written(self.out.flush())?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    /// Ends the output after the last line.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        written(self.out.flush())
    }
}

/// Turns an error of writing to standard output into a failure.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::output("standard output", error),
    })
}
