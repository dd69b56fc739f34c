//! The lines of a certificate, each with one spelling.
//!
//! ```text
//!   {"queens_certificate":1,"n":20,"tasks":..,"fingerprint":"..","shard":1,"shards":1}
//!   108 0 4 ...                      the 27 subtotals of the part's first task, by the numbers of their classes
//!   ...                              of each further task, in the order of their ordinals
//!   {"total":"..","merkle_root":".."}
//! ```

use std::io::Write;

use anyhow::{Context, Result, ensure};
use blake3::Hash;
use board::halves::Class;
use count::Subtotals;
use farm::Slice;
use serde::{Deserialize, Serialize};

use super::Scope;
use crate::canonical::{Decimal, Hex, decode, encode};

/// The version of the form.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstLine {
    queens_certificate: u32,
    n: u32,
    tasks: u64,
    fingerprint: Hex<32>,
    shard: u32,
    shards: u32,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    total: Decimal,
    merkle_root: Hex<32>,
}

/// The first line of a certificate of this scope, as all lines without its line feed.
pub(super) fn first_line(scope: &Scope) -> Vec<u8> {
    encode(&FirstLine {
        queens_certificate: VERSION,
        n: scope.n(),
        tasks: scope.plan.tasks,
        fingerprint: Hex(scope.plan.fingerprint().0),
        shard: scope.slice.index(),
        shards: scope.slice.of(),
    })
}

/// What a first line says that a certificate is about.
pub(super) fn scope(line: &[u8]) -> Result<Scope> {
    let first: FirstLine = decode(line).context("it does not begin like a certificate")?;
    let version = first.queens_certificate;
    ensure!(
        version == VERSION,
        "it has version {version}, and this program reads version {VERSION}"
    );
    let scope = Scope::new(first.n, Slice::new(first.shard, first.shards)?)?;
    let (plan, tasks) = (&scope.plan, first.tasks);
    ensure!(plan.tasks == tasks, "{plan} has {} tasks, not {tasks}", plan.tasks);
    ensure!(Hex(plan.fingerprint().0) == first.fingerprint, "the fingerprint is another plan's");
    Ok(scope)
}

/// The last line.
pub(super) fn last_line(total: u128, name: Hash) -> Vec<u8> {
    encode(&LastLine { total: Decimal(total), merkle_root: Hex(*name.as_bytes()) })
}

/// Whether a line can only be the last one.
pub(super) fn is_last(line: &[u8]) -> bool {
    line.starts_with(b"{")
}

/// Checks the last line of a certificate with this total and this name.
pub(super) fn check_last(line: &[u8], total: u128, name: Hash) -> Result<()> {
    let LastLine { total: Decimal(stated), merkle_root } = decode(line)?;
    ensure!(stated == total, "it states the total {stated}, and its subtotals add up to {total}");
    ensure!(
        merkle_root.0 == *name.as_bytes(),
        "its lines do not have the Merkle root {merkle_root}"
    );
    Ok(())
}

/// The line of a task's subtotals.
pub(super) fn spell(subtotals: &Subtotals) -> Vec<u8> {
    let mut line = Vec::with_capacity(16 * Class::COUNT);
    for (number, subtotal) in subtotals.iter().enumerate() {
        let space = if number == 0 { "" } else { " " };
        write!(line, "{space}{subtotal}").expect("memory takes all bytes");
    }
    line
}

/// The subtotals of a task's line.
pub(super) fn subtotals(line: &[u8]) -> Result<Subtotals> {
    let numbers = line.split(|&byte| byte == b' ');
    let number = |digits| str::from_utf8(digits).ok()?.parse().ok();
    let read: Option<Vec<u64>> = numbers.map(number).collect();
    let read = read.and_then(|read| Subtotals::try_from(read).ok());
    let read = read.filter(|read| spell(read) == line);
    read.with_context(|| format!("it is no line of {} numbers below 2^64", Class::COUNT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtotals_have_one_spelling() {
        let mut numbers = [0; Class::COUNT];
        (numbers[0], numbers[13], numbers[26]) = (u64::MAX, 7, 10);
        let line = String::from_utf8(spell(&numbers)).expect("it is ASCII");
        assert_eq!(subtotals(line.as_bytes()).expect("it is one"), numbers);
        for (from, to) in [
            ("18446744073709551615", "18446744073709551616"),
            (" 7", " 07"),
            (" 7", " +7"),
            (" 7", "  7"),
            (" 7", "\t7"),
            (" 7", " -7"),
            (" 7", ""),
            (" 7", " 7 7"),
            (" 10", " 10 "),
            (" 10", " 10\r"),
        ] {
            let other = line.replacen(from, to, 1);
            assert_ne!(other, line);
            subtotals(other.as_bytes()).expect_err(&other);
        }
    }

    #[test]
    fn a_first_line_says_what_it_is_about_and_nothing_else_is_read() {
        let slice = Slice::new(2, 3).expect("it is one");
        let line = first_line(&Scope::new(9, slice).expect("halves cut it"));
        let read = scope(&line).expect("it is one");
        assert_eq!((read.n(), read.slice), (9, slice));
        let text = String::from_utf8(line).expect("it is ASCII");
        for (from, to) in [
            ("certificate\":1", "certificate\":2"),
            ("\"n\":9", "\"n\":3"),
            ("\"n\":9", "\"n\":11"),
            ("\"tasks\":", "\"tasks\":1"),
            ("\"shard\":2", "\"shard\":4"),
            ("\"shard\":2", "\"shard\": 2"),
            ("\"fingerprint\":\"", "\"fingerprint\":\"0"),
            ("}", ",\"more\":1}"),
        ] {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text);
            scope(other.as_bytes()).expect_err(&other);
        }
    }
}
