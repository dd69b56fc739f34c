//! Results go to standard output, and what goes wrong there is not ignored.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints one line. A reader that went away has seen enough: that is no failure.
pub(crate) fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Output { what: "standard output".into(), reason: error.to_string() })
        }
        _ => Ok(()),
    }
}
