//! Writes results to standard output. Errors of writing become failures.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use service::whole_file::{self, Readers};

use crate::failure::Failure;
use crate::os;

/// Prints one line.
pub(crate) fn print<L: std::fmt::Display>(line: L) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// Prints one line of a command whose main work is not to print. The command goes on if nobody reads the line.
pub(crate) fn mention<L: std::fmt::Display>(line: L) -> Result<(), Failure> {
    match print(line) {
        Err(Failure::Unread) => Ok(()),
        printed => printed,
    }
}

/// Completes when nobody reads standard output any more.
pub(crate) async fn unread() {
    const PAUSE: Duration = Duration::from_millis(500);
    loop {
        tokio::time::sleep(PAUSE).await;
        if os::is_unread() {
            return;
        }
    }
}

/// The destinations of the result of a count: standard output, and a file for JSON if one is named.
#[derive(Debug)]
pub(crate) struct ResultOutput {
    json: bool,
    file: Option<PathBuf>,
    /// The board size printed before the result, if there are several boards.
    size: Option<u32>,
}

impl ResultOutput {
    /// Standard output, as `json` or as text, and the `file`, if there is one. The file is tried at once, so that a wrong
    /// name fails before hours of counting.
    ///
    /// # Errors
    ///
    /// [`Failure::Unwritten`], if no file can be written there.
    pub(crate) fn new(json: bool, file: Option<PathBuf>) -> Result<ResultOutput, Failure> {
        if let Some(file) = &file {
            whole_file::try_to_replace(file).map_err(|error| unwritten(file, &error))?;
        }
        Ok(ResultOutput { json, file, size: None })
    }

    /// The same output with a board size before the text.
    pub(crate) fn of_size(self, size: Option<u32>) -> ResultOutput {
        ResultOutput { size, ..self }
    }

    /// Prints the result. The file then has all of it, or is as it was before.
    pub(crate) fn print(
        &self,
        text: impl std::fmt::Display,
        json: impl std::fmt::Display,
    ) -> Result<(), Failure> {
        if let Some(file) = &self.file {
            let text = format!("{json}\n");
            whole_file::replace(file, text.as_bytes(), Readers::AsBefore)
                .map_err(|error| unwritten(file, &error))?;
        }
        match (self.json, self.size) {
            (true, _) => print(json),
            (false, Some(size)) => print(format_args!("{size} {text}")),
            (false, None) => print(text),
        }
    }
}

fn unwritten(file: &Path, error: &io::Error) -> Failure {
    Failure::output(file.display(), error)
}

/// Prints the bytes of a text or a picture unchanged.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Standard output with a large buffer.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

/// Lets `write` print without holding its output in memory.
pub(crate) fn stream(write: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    written(write(&mut out).and_then(|()| out.flush()).and_then(|()| out.get_mut().flush()))
}

/// Prints lines to standard output. There may be many, and each may take long to come.
pub(crate) struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    printed: u64,
    flushed: Instant,
}

impl Lines {
    /// The number of first lines that are written at once; each further line is written soon.
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

    /// Ends the output after the last line.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        written(self.out.flush())
    }

    /// Ends the output because a line could not be printed.
    pub(crate) fn failed(self, error: std::io::Error) -> Result<(), Failure> {
        // The rest of the buffer is dropped, because writing it would fail again.
        let _ = self.out.into_parts();
        written(Err(error))
    }
}

/// Turns an error of writing to standard output into a failure.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::output("standard output", error),
    })
}
