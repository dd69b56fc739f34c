//! Checks that a bundle does not contradict itself.
//!
//! This module counts nothing and trusts nothing in a bundle. Lines have a bounded length and one
//! spelling. Only known fields are accepted, and every number is compared with the others.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use blake3::Hash;
use board::PlanIndex;
use farm::{Fact, JobState, KernelName, Plan, Shard};
use serde_json::Value;

use super::canonical::decode;
use super::draw::{Drawing, Drawn, Sample};
use super::format::VERSION;
use super::header::Header;
use super::lines::Reader;
use super::running::{Content, Running};

/// The content of a bundle that does not contradict itself.
#[derive(Debug)]
pub struct Checked {
    /// Its first line.
    pub header: Header,
    /// The BLAKE3 hash of its text.
    pub name: Hash,
    /// The plan that was counted.
    pub plan: Plan,
    /// The shard of the plan that was to be counted.
    pub shard: Shard,
    /// The known facts about the sum over all ranges, all of which it satisfies. The list is empty
    /// if the bundle has no total.
    pub facts: Vec<Fact>,
    /// The content of the other lines.
    pub content: Content,
    /// The index of the plan, which makes its tasks again.
    pub index: PlanIndex,
    /// The ranges to recount.
    pub drawn: Drawn,
}

impl Checked {
    /// The kernels that counted, according to the bundle.
    pub fn kernels(&self) -> BTreeSet<KernelName> {
        self.content.authors.iter().map(|author| author.kernel).collect()
    }
}

/// Reads a bundle from beginning to end, and chooses the ranges to recount. It keeps the drawn
/// ranges, the authors, the policies and the changes of trust in memory. It keeps all ranges only
/// if the sample asks for them, or has at least as many draws.
///
/// # Errors
///
/// An error says what is wrong, with the number of the line. It is [`UnknownFormat`] if the bundle
/// has another version: then nothing is known about the bundle. An [`std::io::Error`] means that
/// the file cannot be read.
pub fn check(bundle: &Path, sample: Sample<'_>) -> Result<Checked> {
    let name = Reader::name(bundle)?;
    let mut lines = Reader::open(bundle)?;
    let first = lines.next()?.context("it is empty")?.to_vec();
    let object: Value = serde_json::from_slice(&first).unwrap_or_default();
    let version = object["queens_bundle"]
        .as_u64()
        .context("it is not a bundle: its first line does not name the version of the format")?;
    if version != u64::from(VERSION) {
        return Err(UnknownFormat(version).into());
    }
    let header: Header = decode(&first).context("line 1")?;
    let plan = header.plan()?;
    let shard = Shard::new(header.shard, header.shards)?;
    let index = PlanIndex::new(plan.problem, plan.method)?;
    ensure!(
        index.len() == plan.tasks,
        "it says that {plan} has {} tasks, but there are {}",
        plan.tasks,
        index.len()
    );

    let (state, total) = (header.state, header.counted);
    let ranges = header.lines.ranges;
    let drawing = Drawing::new(sample, name, ranges, (total, header.covered));
    let mut running = Running::new(plan, shard, drawing, ranges);
    while let Some(bytes) = lines.next()? {
        let seen = decode(bytes).and_then(|line| running.see(line, bytes.len()));
        seen.with_context(|| format!("line {}", lines.number))?;
    }
    ensure!(running.lines == header.lines, "the numbers of lines differ from those in its header");
    ensure!(
        running.total == total,
        "its ranges add up to {}, but its header says {total}",
        running.total
    );
    ensure!(
        running.covered == header.covered,
        "its ranges have {} tasks, but its header says {}",
        running.covered,
        header.covered
    );
    running.close(state)?;
    let facts = if state == JobState::Done { running.known.facts } else { Vec::new() };
    if let Some(reason) = Fact::contradiction(&facts, total) {
        bail!(reason);
    }
    let drawn = running.drawing.end();
    Ok(Checked { header, name, plan, shard, facts, content: running.content, index, drawn })
}

/// A bundle of another version.
#[derive(Debug, thiserror::Error)]
#[error(
    "its version is {0}, and this program reads version {VERSION}; use the version of the program \
     that wrote it"
)]
pub struct UnknownFormat(u64);
