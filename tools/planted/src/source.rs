//! Finds a piece of code anywhere in the workspace, by its tokens.
//!
//! Comments, white space and line breaks do not matter, and neither does the file: a bug stays where it
//! is when code is formatted or moved. The text of a string is split into words and signs like code, so
//! that a piece of SQL can be found too.
//!
//! ```text
//!   if !job.claimed().intersects($range)      `$range` stands for one identifier
//!   ── ──── ─ ────── ── ...                   and may be used in what replaces this
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};

/// The folders with code in which bugs can be planted: `src` of every package in them.
const FOLDERS: [&str; 2] = ["crates", "tools"];

/// A source file.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    tokens: Vec<Token>,
}

#[derive(Clone)]
struct Token {
    at: Range<usize>,
    /// The modules, types and functions around it, from the outside in, such as `farm::job::Job::claim`.
    scope: Rc<str>,
}

/// One place that fits a pattern.
struct Place {
    at: Range<usize>,
    holes: BTreeMap<String, String>,
}

/// Reads all sources of the tree at `root`.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        for entry in sorted(&root.join(folder))? {
            let sources_of_package = entry.join("src");
            if sources_of_package.is_dir() {
                read_folder(root, &sources_of_package, &mut sources)?;
            }
        }
    }
    Ok(sources)
}

fn read_folder(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            read_folder(root, &path, sources)?;
        } else if path.extension().is_some_and(|end| end == "rs" || end == "sql") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let path = path.strip_prefix(root)?.to_path_buf();
            sources.push(Source::new(path, text));
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

impl Source {
    fn new(path: PathBuf, text: String) -> Source {
        let spans = tokens(&text, path.extension().is_some_and(|end| end == "sql"));
        let scopes = scopes(&module_of(&path), &text, &spans);
        let tokens = spans.into_iter().zip(scopes);
        let tokens = tokens.map(|(span, scope)| Token { at: span.at, scope }).collect();
        Source { path, text, tokens }
    }

    fn word(&self, index: usize) -> &str {
        &self.text[self.tokens[index].at.clone()]
    }

    /// All places that fit, within the function or module `scope` if that is given.
    fn places(&self, pattern: &[&str], scope: Option<&str>) -> Vec<Place> {
        let may_fit = |word: &&str| word.starts_with('$') || self.text.contains(*word);
        if !pattern.iter().all(may_fit) {
            return Vec::new();
        }
        let starts = 0..(self.tokens.len() + 1).saturating_sub(pattern.len());
        let is_inside = |start: usize| match scope {
            Some(scope) => is_within(&self.tokens[start].scope, scope),
            None => true,
        };
        let place = |start| self.fits(pattern, start).filter(|_| is_inside(start));
        starts.filter_map(place).collect()
    }

    fn fits(&self, pattern: &[&str], start: usize) -> Option<Place> {
        let mut holes = BTreeMap::new();
        for (index, &wanted) in pattern.iter().enumerate() {
            let word = self.word(start + index);
            let Some(hole) = wanted.strip_prefix('$') else {
                if word != wanted {
                    return None;
                }
                continue;
            };
            let stands_for = holes.entry(hole.to_string()).or_insert_with(|| word.to_string());
            if !is_identifier(word) || stands_for != word {
                return None;
            }
        }
        let end = self.tokens[start + pattern.len() - 1].at.end;
        Some(Place { at: self.tokens[start].at.start..end, holes })
    }
}

/// Replaces the one place in `sources` that `find` fits; returns which file was changed.
///
/// # Errors
///
/// If there is no such place, or more than one.
pub(crate) fn replace(
    sources: &mut [Source],
    find: &str,
    scope: Option<&str>,
    replacement: &str,
) -> Result<PathBuf> {
    let pattern: Vec<&str> = tokens(find, false).into_iter().map(|span| &find[span.at]).collect();
    ensure!(!pattern.is_empty(), "it looks for nothing");
    let found: Vec<(usize, Place)> = sources
        .iter()
        .enumerate()
        .flat_map(|(index, source)| {
            source.places(&pattern, scope).into_iter().map(move |place| (index, place))
        })
        .collect();
    let (index, place) = match found.as_slice() {
        [] => bail!("nothing fits\n{find}"),
        [(index, place)] => (*index, place),
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|(index, place)| line(&sources[*index], place.at.start))
                .collect();
            bail!("{} places fit, name one with `in`:\n{}\n{find}", lines.len(), lines.join("\n"))
        }
    };
    let Source { path, text, .. } = &sources[index];
    let mut text = text.clone();
    text.replace_range(place.at.clone(), &fill(replacement, &place.holes));
    let path = path.clone();
    sources[index] = Source::new(path.clone(), text);
    Ok(path)
}

/// `path:line in scope`
fn line(source: &Source, at: usize) -> String {
    let number = source.text[..at].matches('\n').count() + 1;
    let scope = source.tokens.iter().find(|token| token.at.start == at).map(|token| &token.scope);
    format!("{}:{number} in {}", source.path.display(), scope.map_or("", |scope| scope))
}

/// Puts what the holes stand for into the replacement.
fn fill(replacement: &str, holes: &BTreeMap<String, String>) -> String {
    // Longer names first: `$range` must not end as `$ra` and the rest.
    let mut names: Vec<(&String, &String)> = holes.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    names.into_iter().fold(replacement.to_string(), |text, (name, value)| {
        text.replace(&format!("${name}"), value)
    })
}

/// Whether `wanted`, such as `Job::claim`, is the innermost part of `scope` or around it.
fn is_within(scope: &str, wanted: &str) -> bool {
    format!("::{scope}::").contains(&format!("::{wanted}::"))
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// `crates/count/src/halves/avx512.rs` is the module `count::halves::avx512`.
fn module_of(path: &Path) -> String {
    let names = path.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    let names = names.skip(1).filter(|name| !matches!(name.as_str(), "src" | "lib" | "mod"));
    names.collect::<Vec<_>>().join("::")
}

/// A token's place, and whether it is part of a string.
struct Span {
    at: Range<usize>,
    in_string: bool,
}

/// Splits a text into tokens: identifiers and numbers are whole, signs are single, comments are left
/// out. In `sql`, comments begin with `--`.
fn tokens(text: &str, sql: bool) -> Vec<Span> {
    let is_word = |at: usize| text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let find = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at);
    let (mut found, mut at) = (Vec::new(), 0);
    // What ends the string that we are in.
    let mut string_end: Option<String> = None;
    while at < text.len() {
        let (start, rest, in_string) = (at, &text[at..], string_end.is_some());
        let is_code = !in_string && !sql;
        if let Some(end) = string_end.as_ref().filter(|end| rest.starts_with(end.as_str())) {
            at += end.len();
            string_end = None;
        } else if rest.starts_with(char::is_whitespace) {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        } else if (is_code && rest.starts_with("//")) || (sql && rest.starts_with("--")) {
            at = find(at, "\n");
            continue;
        } else if is_code && rest.starts_with("/*") {
            at = (find(at, "*/") + 2).min(text.len());
            continue;
        } else if in_string && rest.starts_with("\\\n") {
            // A string that goes on in the next line is one text.
            at += 1;
            continue;
        } else if let Some(end) = char_end(text, at).filter(|_| is_code) {
            at = end;
        } else if let Some((begin, end)) = string_begin(rest).filter(|_| is_code) {
            at += begin;
            string_end = Some(end);
        } else if string_end.as_deref() == Some("\"") && rest.starts_with('\\') {
            at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        } else {
            let is_hole = rest.starts_with('$') && is_word(at + 1);
            at += rest.chars().next().map_or(1, char::len_utf8);
            while (is_hole || is_word(start)) && is_word(at) {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        found.push(Span { at: start..at, in_string });
    }
    found
}

/// The length of what begins a string here, and what will end it: `"`, or `"#` for `r#"`.
fn string_begin(rest: &str) -> Option<(usize, String)> {
    if rest.starts_with('"') {
        return Some((1, "\"".into()));
    }
    let marks = rest.strip_prefix('r')?;
    let raw = marks.trim_start_matches('#');
    let hashes = marks.len() - raw.len();
    raw.starts_with('"').then(|| (hashes + 2, format!("\"{}", "#".repeat(hashes))))
}

/// The end of the character literal that begins here; a lifetime is none.
fn char_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix('\'')?;
    let length = match rest.strip_prefix('\\') {
        Some(escaped) => 2 + escaped.chars().next()?.len_utf8() + escaped[1..].find('\'')?,
        None => {
            let first = rest.chars().next()?.len_utf8();
            rest[first..].starts_with('\'').then_some(1 + first)?
        }
    };
    Some(at + length + 1)
}

/// The scope of each token.
fn scopes(module: &str, text: &str, tokens: &[Span]) -> Vec<Rc<str>> {
    let code = |index: usize| tokens.get(index).filter(|token| !token.in_string);
    let word = |index: usize| code(index).map_or("", |token| &text[token.at.clone()]);
    // For each open brace the scope outside of it, and the number of open brackets of other kinds.
    let (mut scope, mut open, mut brackets) = (Rc::<str>::from(module), Vec::new(), 0);
    let mut next = None;
    let mut scopes = Vec::with_capacity(tokens.len());
    for index in 0..tokens.len() {
        match word(index) {
            "fn" | "mod" | "trait" if is_identifier(word(index + 1)) => {
                next = Some(word(index + 1).to_string());
            }
            "impl" if next.is_none() => next = implemented(text, &tokens[index..]),
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets -= 1,
            ";" if brackets == 0 => next = None,
            "{" => {
                open.push(scope.clone());
                if let Some(name) = next.take() {
                    scope = format!("{scope}::{name}").into();
                }
            }
            "}" => scope = open.pop().unwrap_or_else(|| module.into()),
            _ => {}
        }
        scopes.push(scope.clone());
    }
    scopes
}

/// The type of `impl<...> Trait for Type<...> {`, or of `impl Type {`.
fn implemented(text: &str, tokens: &[Span]) -> Option<String> {
    let (mut depth, mut name, mut last) = (0, None, "");
    for token in tokens.iter().skip(1) {
        let word = &text[token.at.clone()];
        match word {
            "<" => depth += 1,
            ">" if last != "-" => depth -= 1,
            "{" | ";" | "where" => return name,
            "for" if depth == 0 => name = None,
            _ if depth == 0 && is_identifier(word) => name = Some(word.into()),
            _ => {}
        }
        last = word;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        impl<'a> Job<'a> {
            fn claim(&mut self, range: Range) -> u32 { // its `}` is no end
                let quote = '\"';
                self.total += range.len(); /* { */
                \"SELECT first  FROM ranges\"
            }
        }
        impl From<u32> for Part {
            fn from(range: u32) -> Part { total += range.len(); }
        }";

    fn planted(find: &str, scope: Option<&str>, replacement: &str) -> Result<String> {
        let mut sources = [Source::new("crates/farm/src/job.rs".into(), TEXT.into())];
        replace(&mut sources, find, scope, replacement)?;
        let [source] = sources;
        Ok(source.text)
    }

    #[test]
    fn comments_lines_and_places_do_not_matter() {
        let find = "let quote\n = '\"' ; // a comment\n self.total += range.len();";
        let text = planted(find, None, "return 0;").expect("it is there once");
        assert!(
            text.contains("{ // its `}` is no end\n                return 0; /* { */"),
            "{text}"
        );
        planted("SELECT first FROM", None, "SELECT past FROM").expect("it is in a string");
    }

    #[test]
    fn an_identifier_may_be_a_hole() {
        let text = planted("fn from($what: u32) -> Part { total += $what.len", None, "$what($what");
        assert!(text.expect("it is there once").contains("range(range(); }"));
        assert!(planted("fn $name(range: u32) -> $name", None, "").is_err(), "two names differ");
    }

    #[test]
    fn two_places_are_told_apart_by_what_is_around_them() {
        let find = "total += range.len()";
        let error = planted(find, None, "").expect_err("there are two").to_string();
        for scope in ["farm::job::Job::claim", "farm::job::Part::from"] {
            assert!(error.contains(scope), "{error}");
        }
        for scope in ["Job::claim", "claim", "Part", "job::Part::from"] {
            planted(find, Some(scope), "").expect("there is one");
        }
        assert!(planted(find, Some("claimed"), "").is_err());
    }
}
