//! Counts the project: `cargo xtask size`. One way of counting for everybody, from the root.
//!
//! Product are the files in `src` of the crates: Rust, and the kernels in C. Tests, benchmarks and
//! examples are counted apart, a `mod tests` at the end of a file included, and generated text is
//! left out. A line of code is one that is neither blank nor a comment.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault;

/// What is counted of the project.
#[derive(Default)]
struct Size {
    lines: usize,
    types: usize,
    files: usize,
    crates: usize,
    tests: usize,
    longest: (usize, String),
}

/// Prints the size of the project.
pub(crate) fn run() -> Result<(), u8> {
    let mut size = Size::default();
    for path in files("crates")? {
        let text = read(&path)?;
        if is_test(&path) {
            size.tests += code(&text).count();
        } else {
            size.add(&path, &text);
        }
    }
    for path in files("tools")? {
        if path.extension().is_some_and(|it| it == "rs") {
            size.tests += code(&read(&path)?).count();
        }
    }
    size.crates = files_of("crates", &|path| path.ends_with("Cargo.toml"))?.len();
    let Size { lines, types, files, crates, tests, longest: (longest, name) } = size;
    println!("{lines:>7} lines of code\n{types:>7} types\n{files:>7} files\n{crates:>7} crates");
    println!("{tests:>7} lines of tests and tools");
    println!("{longest:>7} lines of the longest function, {name}");
    Ok(())
}

impl Size {
    /// Adds a file of the product.
    fn add(&mut self, path: &Path, text: &str) {
        let (product, tests) = text.split_at(tests_at(text).unwrap_or(text.len()));
        self.tests += code(tests).count();
        let code: Vec<&str> = code(product).collect();
        self.files += 1;
        self.lines += code.len();
        self.types += code.iter().filter(|line| defines(line, &[], TYPES).is_some()).count();
        if path.extension().is_none_or(|it| it != "rs") {
            return;
        }
        for (at, line) in code.iter().enumerate() {
            let Some(name) = defines(line, QUALIFIERS, &["fn"]) else { continue };
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            let is_declared = line.trim_end().ends_with(';');
            let length = code[at..].iter().position(|it| it.trim_end() == end);
            if let Some(length) = length.filter(|it| !is_declared && it + 1 > self.longest.0) {
                self.longest = (length + 1, format!("{}: {name}", path.display()));
            }
        }
    }
}

const TYPES: &[&str] = &["struct", "enum", "trait", "union"];
const QUALIFIERS: &[&str] = &["const", "async", "unsafe", "extern", "\"C\""];

/// The name that a line defines with one of these keywords, after who may use it and these words.
fn defines<'a>(line: &'a str, before: &[&str], keywords: &[&str]) -> Option<&'a str> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        let scoped = public.strip_prefix('(').and_then(|scope| scope.split_once(')'));
        rest = scoped.map_or(public, |(_, rest)| rest).strip_prefix(' ')?;
    }
    loop {
        let (word, after) = rest.split_once(' ')?;
        if keywords.contains(&word) {
            let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            return name.filter(|name| !name.is_empty());
        }
        if !before.contains(&word) {
            return None;
        }
        rest = after;
    }
}

/// Where the tests at the end of a file begin.
fn tests_at(text: &str) -> Option<usize> {
    let mark = "#[cfg(test)]\n";
    text.match_indices(mark).map(|(at, _)| at).find(|at| {
        let mut lines = text[at + mark.len()..].lines().skip_while(|line| line.starts_with("#["));
        let is_mod = |line: &str| line.starts_with("mod ") && line.ends_with('{');
        (*at == 0 || text[..*at].ends_with('\n')) && lines.next().is_some_and(is_mod)
    })
}

fn is_test(path: &Path) -> bool {
    let is_apart = |part: &std::ffi::OsStr| {
        ["tests", "benches", "examples"].iter().any(|apart| part == *apart)
    };
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let last = stem.rsplit('_').next().unwrap_or_default();
    !path.iter().any(|part| part == "src")
        || path.iter().any(is_apart)
        || ["test", "tests", "forgeries", "crashes", "simulation"].contains(&last)
}

/// The lines of a text that are code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i64;
    text.lines().filter(move |line| {
        let line = line.trim();
        let was_outside = depth == 0;
        if !was_outside || line.starts_with("/*") {
            depth += line.matches("/*").count() as i64 - line.matches("*/").count() as i64;
            return false;
        }
        !line.is_empty() && !line.starts_with("//")
    })
}

/// The texts of the crates or tools that are counted.
fn files(root: &str) -> Result<Vec<PathBuf>, u8> {
    let is_kernel = |path: &Path| path.extension().is_some_and(|it| it == "c");
    files_of(root, &|path| {
        path.extension().is_some_and(|it| it == "rs")
            || is_kernel(path) && path.parent().is_some_and(|it| it.ends_with("gpu/src"))
    })
}

fn files_of(root: &str, is_one: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, u8> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| fault(&format!("{}: {error}", folder.display())))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let is_left_out = ["target", "generated"].iter().any(|name| path.ends_with(name));
            match path.is_dir() {
                true if !is_left_out => folders.push(path),
                false if is_one(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, u8> {
    fs::read_to_string(path).map_err(|error| fault(&format!("{}: {error}", path.display())))
}

/// Fails if a line of a comment is longer than lines of code may be, to which rustfmt does not see.
/// Tables, pictures and examples may be longer.
pub(crate) fn check_comments() -> Result<(), u8> {
    const MOST: usize = 100;
    let mut long = Vec::new();
    for path in [files("crates")?, files("tools")?].concat() {
        let mut is_fenced = false;
        for (at, line) in read(&path)?.lines().enumerate() {
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
