//! Checks that a bundle does not contradict itself.
//!
//! This module counts nothing and trusts nothing in a bundle. Lines have a bounded length and one
//! spelling. Only known fields are accepted, and every number is compared with the others.

use std::collections::BTreeSet;
use std::fs::File;
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
use super::lines::{Reader, open_file};
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
/// has another version: then nothing is known about the bundle. It is
/// [`BundleChanged`](crate::BundleChanged) if somebody writes to the file meanwhile. An
/// [`std::io::Error`] means that the file cannot be read.
pub fn check(bundle: &Path, sample: Sample<'_>) -> Result<Checked> {
    let file = open_file(bundle)?;
    let name = Reader::new(&file)?.name()?;
    check_named(&file, name, sample)
}

/// Checks the lines of an open bundle, which must still have this name.
fn check_named(file: &File, name: Hash, sample: Sample<'_>) -> Result<Checked> {
    let mut lines = Reader::new(file)?;
    let checked = check_lines(&mut lines, name, sample);
    // An error may come of another text than the one that has the name, too.
    lines.ensure_name(name)?;
    checked
}

fn check_lines(lines: &mut Reader, name: Hash, sample: Sample<'_>) -> Result<Checked> {
    let first = lines.next()?.context("it is empty")?.to_vec();
    let object: Value = serde_json::from_slice(&first).unwrap_or_default();
    let version = object["queens_bundle"]
        .as_u64()
        .and_then(|version| u32::try_from(version).ok())
        .context("it is not a bundle: its first line does not name the version of the format")?;
    if version != VERSION {
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
pub struct UnknownFormat(u32);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::draw::Seed;
    use crate::lines::BundleChanged;

    #[test]
    fn what_is_checked_is_what_has_the_name() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verify/corpus");
        let [one, other, bad] =
            ["exported/rows-8", "exported/prefixes-8", "bad/range-more-and-less"]
                .map(|name| fs::read(corpus.join(format!("{name}.bundle"))).expect("it is there"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bundle");
        fs::write(&path, &one).expect("it can be written");
        let file = open_file(&path).expect("it is a file");
        let name = Reader::new(&file).and_then(Reader::name).expect("it can be read");
        assert_eq!(name, blake3::hash(&one));
        let sample = Sample { draws: 10, seed: Seed::Number(1), all: false };

        // Another file with the same name on disk does not matter.
        let another = folder.path().join("another");
        fs::write(&another, &other).expect("it can be written");
        fs::rename(&another, &path).expect("it can be renamed");
        assert_eq!(check_named(&file, name, sample).expect("it is sound").name, name);

        let file = open_file(&path).expect("it is a file");
        let name = blake3::hash(&other);
        for changed in
            [one, bad, other[..other.len() - 9].to_vec(), [other, b"{}\n".into()].concat()]
        {
            fs::write(&path, changed).expect("it can be written");
            let error = check_named(&file, name, sample).expect_err("it is another text");
            assert!(error.is::<BundleChanged>(), "{error:#}");
        }
    }
}
