//! Plants known bugs, one at a time, and checks that the tests find them.
//!
//! ```text
//!   cargo run -p planted                     every bug; the table as Markdown on standard output
//!   cargo run -p planted -- wrap overlap     those whose names contain one of these words
//!   cargo run -p planted -- --seeds 20000    so many seeds, or as many as a check needs at least
//!   cargo run -p planted -- --part 2/3       the second third of them, in the order of their checks
//! ```
//!
//! Each bug is planted in a copy of the sources under `target/planted`; the working tree is never
//! touched. The exit code is 1 if a bug is missed, does not compile, or its place is not found.
//!
//! # To add a bug
//!
//! Append to a file in `tools/planted/bugs/`, or begin a new one, which is found by itself:
//!
//! ```toml
//! [[bug]]
//! name = "count-twice"                        # a few words
//! why = "a repeated report is added again"    # what goes wrong
//! check = "simulation"                        # who should find it: a section of checks.toml
//!
//! [[bug.edit]]                                # one or more
//! find = "self.ack($session, &$report, Verdict::Agreed);"
//! in = "Farm::compared"                       # only where `find` occurs more than once
//! replace = "job.total += $report.tally.count;"
//! ```
//!
//! `find` is compared token by token with all sources, and must fit exactly one place; comments, white
//! space and files do not matter. `$name` stands for one identifier, in `replace` too. `in` names a
//! function, a type or a module around the place. Then run the bug by its name. If a bug is missed, mend
//! the check, not the bug. If `cargo test -p planted` says that a bug no longer fits, mend its `find` and
//! keep the bug. Whoever fixes a real bug plants it here afterwards.
#![forbid(unsafe_code)]

mod bugs;
mod hunt;
mod source;
mod tree;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use bugs::{Bug, Catalogue};
use hunt::Outcome;
use tree::Tree;

fn main() -> Result<ExitCode> {
    let Wanted { seeds, part, words } = Wanted::from_arguments()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let catalogue = Catalogue::read(&root)?;
    let wanted = |bug: &&Bug| words.is_empty() || words.iter().any(|word| bug.name.contains(word));
    let mut bugs: Vec<&Bug> = catalogue.bugs.iter().filter(wanted).collect();
    // Most of the time goes to building a check for the first time: a part has as few checks as can be.
    bugs.sort_by_key(|bug| &bug.check);
    let bugs = within(part, &bugs);
    if bugs.is_empty() {
        bail!("there is no such bug: {words:?}, part {}/{}", part.0, part.1);
    }

    let tree = Tree::below(&root)?;
    for name in bugs.chunk_by(|one, next| one.check == next.check).map(|alike| &alike[0].check) {
        eprintln!("{name}: without any bug …");
        match catalogue.checks[name].run(&tree, seeds)? {
            Outcome::Missed => {}
            other => bail!("`{name}` does not pass without any bug: {other}"),
        }
    }

    println!("| bug | found by | within | seconds | what goes wrong |");
    println!("|---|---|---:|---:|---|");
    let mut missed = 0;
    for bug in bugs {
        let begun = Instant::now();
        tree.restore()?;
        tree.plant(bug)?;
        let outcome = catalogue.checks[&bug.check].run(&tree, seeds)?;
        missed += usize::from(!outcome.is_found());
        let seconds = begun.elapsed().as_secs_f64();
        println!("| {} | {} | {outcome} | {seconds:.1} | {} |", bug.name, bug.check, bug.why);
    }
    tree.restore()?;
    if missed > 0 {
        eprintln!("{missed} planted bugs were not found: see the table");
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The arguments of the command line.
struct Wanted {
    seeds: Option<u64>,
    /// The number of the part, from 1 on, and the number of parts.
    part: (usize, usize),
    words: Vec<String>,
}

impl Wanted {
    fn from_arguments() -> Result<Wanted> {
        let mut wanted = Wanted { seeds: None, part: (1, 1), words: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seeds" => {
                    let number = arguments.next().context("--seeds needs a number")?;
                    wanted.seeds = Some(number.parse().context("--seeds needs a number")?);
                }
                "--part" => {
                    let part = arguments.next().and_then(|text| part(&text));
                    wanted.part = part.context("--part needs two numbers, such as 2/3")?;
                }
                flag if flag.starts_with('-') => {
                    bail!(
                        "usage: planted [--seeds NUMBER] [--part K/N] [WORD]..., {flag} means nothing"
                    )
                }
                word => wanted.words.push(word.into()),
            }
        }
        Ok(wanted)
    }
}

/// One part of a list, as `--part` names it.
fn within<T>((index, of): (usize, usize), all: &[T]) -> &[T] {
    &all[all.len() * (index - 1) / of..all.len() * index / of]
}

fn part(text: &str) -> Option<(usize, usize)> {
    let (index, of) = text.split_once('/')?;
    let (index, of) = (index.parse().ok()?, of.parse().ok()?);
    (1..=of).contains(&index).then_some((index, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_all_bugs() {
        for number in [0, 1, 7, 59, 60, 61, 350] {
            let all: Vec<usize> = (0..number).collect();
            let parts = (1..=60).map(|index| within((index, 60), &all));
            assert_eq!(parts.collect::<Vec<_>>().concat(), all);
        }
    }
}
