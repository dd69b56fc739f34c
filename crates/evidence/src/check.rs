//! Checks that a bundle does not contradict itself.
//!
//! This module counts nothing. It trusts nothing that a bundle says: lines have a bounded length and one spelling, only
//! known fields are accepted, and every number is compared with the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use blake3::Hash;
use board::Cut;
use farm::{Fact, JobState, KernelName, Merkle, Plan, PublicKey, Slice, TrustChange};

use super::books::{Books, Busy, StatedCommitment};
use super::canonical::decode;
use super::draw::{Drawing, Drawn, Sample};
use super::format::{Line, StatedAuthor, StatedPolicy, VERSION};
use super::header::Header;
use super::lines::Lines;
use super::statements::Vouched;
use super::worth::{Amount, Worth};
use crate::BundleError;
use crate::error::UnknownFormat;

/// The content of a bundle that does not contradict itself.
#[derive(Debug)]
pub struct Checked {
    /// Its first line.
    pub header: Header,
    /// The hash of the header.
    pub name: Hash,
    /// The plan that was counted.
    pub plan: Plan,
    /// The part of the plan that was to be counted.
    pub slice: Slice,
    /// The job's state when it was exported.
    pub state: JobState,
    /// The sum over all ranges.
    pub total: u128,
    /// What is known of the total, and what it therefore satisfies; nothing if it is no total.
    pub facts: Vec<Fact>,
    /// All audits that were ordered, the oldest first.
    pub policies: Vec<StatedPolicy>,
    /// What was committed to, the oldest first.
    pub commitments: Vec<StatedCommitment>,
    /// Whom the farm believed no more, or again, the oldest first.
    pub trust: Vec<TrustChange>,
    /// What second counts are worth.
    pub worth: Worth,
    /// Which keys vouch for which part of the total.
    pub vouched: Vouched,
    /// The key of whoever exported the bundle, which has signed it.
    pub signed_by: Option<PublicKey>,
    /// The thread time that it took.
    pub busy: Busy,
    /// Who counted.
    pub authors: Vec<StatedAuthor>,
    /// What each author has counted alone, by its number.
    pub counted_by: BTreeMap<u32, Amount>,
    /// The cut of the plan, to count its tasks again.
    pub cut: Cut,
    /// The ranges to recount.
    pub drawn: Drawn,
}

impl Checked {
    /// Whether the bundle is about a total: a whole plan, and nothing is missing.
    #[must_use]
    pub fn is_total(&self) -> bool {
        self.state == JobState::Done && self.slice.is_all()
    }

    /// The kernels that counted, as the bundle says.
    #[must_use]
    pub fn kernels(&self) -> BTreeSet<KernelName> {
        self.authors.iter().map(|author| author.kernel).collect()
    }
}

/// Reads a bundle from beginning to end, and chooses the ranges to recount. It takes memory for the ranges that are
/// drawn, for authors, and for the plan, but not for the rows.
///
/// # Errors
///
/// [`BundleError`] says what is wrong, with the number of the line.
pub fn check(bundle: &Path, sample: Sample<'_>) -> Result<Checked, BundleError> {
    Ok(read(bundle, sample)?)
}

fn read(bundle: &Path, sample: Sample<'_>) -> Result<Checked> {
    let mut lines = Lines::open(bundle)?;
    let first = lines.next()?.context("it is empty")?.to_vec();
    let version: Version = serde_json::from_slice(&first).map_err(|_| {
        anyhow!("it is not a bundle: its first line does not name the version of one")
    })?;
    let version = version.queens_bundle;
    if version != VERSION {
        return Err(UnknownFormat(version).into());
    }
    let header: Header = decode(&first).context("line 1")?;
    let plan = header.plan()?;
    let slice = header.slice()?;
    let cut = Cut::new(plan.problem, plan.method)?;
    ensure!(
        cut.len() == plan.tasks,
        "it says that {plan} has {} tasks, but there are {}",
        plan.tasks,
        cut.len()
    );

    let (state, total) = (header.state()?, header.counted());
    let name = blake3::hash(&first);
    let drawing = Drawing::new(sample, name, header.ranges, (total, header.covered));
    let mut books = Books::new(plan, slice, drawing, header.ranges);
    let mut tree = Merkle::default();
    let mut signed_by = None;
    while let Some(bytes) = lines.next()? {
        let seen = decode(bytes).and_then(|line| match line {
            _ if signed_by.is_some() => bail!("it stands behind the signature"),
            Line::Tasks(_) if !plan.tells_tasks() => {
                bail!("what tasks by {} count is not told", plan.method)
            }
            Line::Signature(line) => {
                signed_by = Some(line.read(name)?);
                Ok(())
            }
            line => {
                tree.add(bytes);
                books.see(line, bytes.len())
            }
        });
        seen.with_context(|| format!("line {}", lines.number))?;
    }
    let root = tree.root();
    ensure!(
        root.as_bytes() == &header.merkle_root.0,
        "its lines have the Merkle root {root}, but the header says {}: lines were changed, added or removed",
        header.merkle_root
    );
    let commitments = books.commitments();
    let said = [header.policies, header.commitments, header.trust, header.authors, header.signers];
    let (authors, signers) = (books.authors.len(), books.statements.signers());
    let seen = [books.policies.len(), commitments.len(), books.trust.len(), authors, signers];
    let agrees = said == seen.map(|lines| lines as u64)
        && header.statements == books.statements.seen
        && header.task_lines == books.told.lines
        && header.tasks_told == books.told.tasks
        && [header.ranges, header.audits, header.disputes]
            == [books.ranges, books.audits, books.disputes];
    ensure!(agrees, "the numbers of lines differ from those in its header");
    ensure!(
        books.total == total,
        "its ranges add up to {}, but its header says {total}",
        books.total
    );
    ensure!(
        books.covered == header.covered,
        "its ranges have {} tasks, but its header says {}",
        books.covered,
        header.covered
    );
    books.close(state)?;
    let facts = if state == JobState::Done { books.facts() } else { Vec::new() };
    if let Some(reason) = Fact::contradiction(&facts, total) {
        bail!(reason);
    }
    let Books { policies, trust, authors, counted_by, worth, busy, statements, drawing, .. } =
        books;
    let (vouched, one_key) = statements.end()?;
    let worth = worth.without_one_key(one_key);
    let drawn = drawing.end();
    Ok(Checked {
        header,
        name,
        plan,
        slice,
        state,
        total,
        facts,
        policies,
        commitments,
        trust,
        worth,
        vouched,
        signed_by,
        busy,
        authors,
        counted_by,
        cut,
        drawn,
    })
}

/// The field of the header that says which version its other fields are of.
#[derive(serde::Deserialize)]
struct Version {
    queens_bundle: u32,
}
