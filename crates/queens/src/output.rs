//! Results go to standard output, and what goes wrong there is not ignored.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Prints one line.
pub(crate) fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// Prints what is text or a picture, as it is.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Standard output, in large pieces.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

/// Prints as much as `write` does, without holding it. A reader that went away ends it early, and is
/// no failure.
pub(crate) fn stream(write: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    written(write(&mut out).and_then(|()| out.flush()).and_then(|()| out.get_mut().flush()))
}

/// Lines on standard output that may be many and may be slow to come.
pub(crate) struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    printed: u64,
    flushed: Instant,
}

impl Lines {
    /// Those that come first are seen at once; each further one soon.
    const AT_ONCE: u64 = 1000;
    const SOON: Duration = Duration::from_millis(10);

    pub(crate) fn new() -> Lines {
        let out = BufWriter::new(std::io::stdout().lock());
        Lines { out, printed: 0, flushed: Instant::now() }
    }

    pub(crate) fn print(&mut self, line: impl std::fmt::Display) -> std::io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.printed += 1;
        if self.printed <= Lines::AT_ONCE || self.flushed.elapsed() >= Lines::SOON {
            self.out.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    /// Ends after the last line.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        written(self.out.flush())
    }

    /// Ends because a line could not be printed.
    pub(crate) fn failed(self, error: std::io::Error) -> Result<(), Failure> {
        // What is left in the buffer would fail again.
        let _ = self.out.into_parts();
        written(Err(error))
    }
}

/// A reader that went away has seen enough: that is no failure.
fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Output { what: "standard output".into(), reason: error.to_string() })
        }
        _ => Ok(()),
    }
}
