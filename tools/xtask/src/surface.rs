//! `cargo xtask surface`: lists what the crate `queens` promises to its users, so that a review sees
//! each change to it.
//!
//! The front crate only selects names, and rustdoc describes each crate by itself. The list has the
//! front's names with what the crates below it say of these. It leaves out the paths of modules, and
//! methods that follow from a derived trait.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use public_api::tokens::Token;
use public_api::{Builder, PublicItem};

use crate::{cargo, fault};

const FILE: &str = "crates/queens/surface.txt";
/// The front crate, and those from which it selects.
const FRONT: &str = "queens";
const SELECTED: [&str; 3] = ["queens-board", "queens-count", "queens-solve"];
/// This build has its own folder, because scripts of dependencies choose differently under
/// `RUSTC_BOOTSTRAP`.
const TARGET: &str = "target/surface";
/// Methods of traits that have a line of their own.
const OF_TRAITS: [&str; 7] = ["clone", "cmp", "eq", "fmt", "hash", "partial_cmp", "source"];

/// Writes the list. With `check`, only compares it.
pub(crate) fn run(check: bool) -> Result<(), u8> {
    for name in SELECTED.into_iter().chain([FRONT]) {
        cargo("rustdoc")
            .args(["--quiet", "--package", name, "--lib", "--target-dir", TARGET])
            .args(["--", "-Zunstable-options", "--output-format", "json"])
            .env("RUSTC_BOOTSTRAP", "1")
            .run()?;
    }
    let made = list().map_err(|error| fault(&format!("surface: {error}")))?;
    if fs::read_to_string(FILE).is_ok_and(|written| written == made) {
        return Ok(());
    }
    if check {
        return Err(fault(&format!("{FILE} is another surface: run `cargo xtask surface`")));
    }
    fs::write(FILE, made).map_err(|error| fault(&format!("{FILE}: {error}")))
}

fn list() -> Result<String, Box<dyn Error>> {
    let mut names = BTreeSet::new();
    for item in items(FRONT)? {
        names.extend(item.to_string().strip_prefix("pub use queens::").map(String::from));
    }
    let mut lines = BTreeSet::new();
    for name in SELECTED {
        for item in items(name)? {
            let tokens = without_modules(&item);
            let subject = subject(&tokens);
            if names.contains(subject) && !follows(&tokens) {
                let line: String = tokens.iter().map(|token| token.text()).collect();
                lines.insert((subject.to_owned(), line));
            }
        }
    }
    Ok(lines.into_iter().map(|(_, line)| line + "\n").collect())
}

/// The public items of a library.
fn items(package: &str) -> Result<Vec<PublicItem>, Box<dyn Error>> {
    let file = format!("{}.json", package.replace('-', "_"));
    let described = Builder::from_rustdoc_json(Path::new(TARGET).join("doc").join(file))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()?;
    Ok(described.into_items().collect())
}

/// `core::fmt::Debug` becomes `Debug`: a type's path depends on whether it is seen from its own crate.
fn without_modules(item: &PublicItem) -> Vec<&Token> {
    let mut tokens: Vec<&Token> = Vec::new();
    for token in item.tokens() {
        let module = |at: &&Token| matches!(at, Token::Identifier(_));
        // A variant is an identifier after `::`, which stays.
        let is_path = token.text() == "::" && tokens.last().is_some_and(module);
        let is_variant = tokens.iter().rev().nth(1).is_some_and(|before| before.text() == "::");
        if is_path && !is_variant {
            tokens.pop();
        } else {
            tokens.push(token);
        }
    }
    tokens
}

/// The function or type that an item belongs to.
fn subject<'a>(tokens: &[&'a Token]) -> &'a str {
    let is_for = |token: &&Token| matches!(token, Token::Keyword(word) if word == "for");
    let from = match tokens.first() {
        Some(Token::Keyword(_)) => tokens.iter().rposition(is_for).unwrap_or(0),
        _ => 0,
    };
    let mut named = tokens[from..].iter().filter(|token| {
        matches!(token, Token::Type(_) | Token::Function(_) | Token::Identifier(_))
    });
    named.next().map_or("", |token| token.text())
}

/// Whether an item says nothing that another line does not say: a method of a trait, or that a type
/// has methods.
fn follows(tokens: &[&Token]) -> bool {
    let of_trait = |token: &&Token| {
        matches!(token, Token::Function(name) if OF_TRAITS.contains(&name.as_str()))
            || token.text() == "StructuralPartialEq"
    };
    let has_trait = tokens.iter().any(|token| token.text() == "for");
    let is_block = tokens.first().is_some_and(|token| token.text() == "impl") && !has_trait;
    is_block || tokens.iter().any(of_trait)
}
