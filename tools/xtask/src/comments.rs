//! Looks at the width of comments, which rustfmt does not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault;

/// Fails if a line of a comment is longer than lines of code may be. Tables, pictures and examples
/// may be longer.
pub(crate) fn check() -> Result<(), u8> {
    const MOST: usize = 100;
    let mut long = Vec::new();
    for path in [files("crates")?, files("tools")?].concat() {
        let failed = |error| fault(&format!("{}: {error}", path.display()));
        let mut is_fenced = false;
        for (at, line) in fs::read_to_string(&path).map_err(failed)?.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!', ' ']);
            is_fenced ^= comment.starts_with("```");
            let may_be_long = is_fenced || comment.starts_with(['|', '[']);
            if !may_be_long && line.chars().count() > MOST {
                long.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    if long.is_empty() {
        return Ok(());
    }
    Err(fault(&format!("wrap these comments at {MOST} columns: {}", long.join(", "))))
}

/// The texts below a folder, in Rust and in C, but for those that are generated.
fn files(root: &str) -> Result<Vec<PathBuf>, u8> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| fault(&format!("{}: {error}", folder.display())))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_left_out = ["target", "generated"].iter().any(|name| path.ends_with(name));
            match path.is_dir() {
                true if !is_left_out => folders.push(path),
                false if is_text(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "rs" || end == "c")
}
