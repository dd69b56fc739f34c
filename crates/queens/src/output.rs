//! Results go to standard output, and what goes wrong there is not ignored.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use crate::failure::Failure;

/// Prints one line. A reader that went away has seen enough: that is no failure.
pub(crate) fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    stream(|out| writeln!(out, "{line}"))
}

/// Standard output, in large pieces.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

/// Prints as much as `write` does, without holding it. A reader that went away ends it early, and is
/// no failure.
pub(crate) fn stream(write: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()).and_then(|()| out.get_mut().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Output { what: "standard output".into(), reason: error.to_string() })
        }
        _ => Ok(()),
    }
}
