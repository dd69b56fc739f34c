//! Queens that the user gives, in words or files.

use std::io::Read;
use std::path::Path;

use board::squares::Square;

use crate::failure::Failure;

/// Reads queens in any notation; `source` says in whose words a fault is.
pub(super) fn read(text: &str, source: &str) -> Result<(Option<u32>, Vec<Square>), Failure> {
    solve::read_queens(text).map_err(|error| Failure::Usage(format!("{source}: {error}")))
}

/// Reads queens from a file, or from standard input if it is called `-`.
pub(super) fn read_file(path: &Path) -> Result<(Option<u32>, Vec<Square>), Failure> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".into() } else { path.display().to_string() };
    let text = if stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| {
        Failure::Usage(format!("cannot read {name} ({error}); give a text file that can be read"))
    })?;
    read(&text, &name)
}
