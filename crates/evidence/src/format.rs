//! The lines of a bundle after its header, as JSON objects. `docs/BUNDLE.md` specifies them for
//! other programs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use farm::{
    AuditPolicy, AuditScope, Check, CountResult, Digest, DisputeState, KernelName, Principal,
    Provenance, Range, Row, TaskCounts, TrustChange,
};
use serde::{Deserialize, Serialize};

use crate::canonical::{self, Decimal};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// Any line but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Policy(StatedPolicy),
    Trust(TrustLine),
    Author(AuthorLine),
    Range(RangeLine),
    Audit(AuditLine),
    Dispute(DisputeLine),
}

/// An audit that was ordered, according to a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedPolicy {
    /// The share of ranges that were to be counted twice, in millionths.
    pub share_ppm: u32,
    /// Whether the second count is by search, where the method does not search.
    pub by_search: bool,
    /// The scope in which the second count must differ.
    #[serde(with = "ScopeName")]
    pub across: AuditScope,
    /// When it was ordered, in milliseconds since 1970.
    pub asked_at: i64,
}

impl StatedPolicy {
    pub(super) fn new(policy: AuditPolicy, asked_at: i64) -> StatedPolicy {
        let AuditPolicy { share_ppm, by_search, across, .. } = policy;
        StatedPolicy { share_ppm, by_search, across, asked_at }
    }
}

/// A principal was distrusted, or trusted again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustLine {
    owner: String,
    /// `null` means all machines of the owner.
    machine: Option<String>,
    trusted: bool,
    reason: String,
    at: i64,
}

impl From<TrustChange> for TrustLine {
    fn from(change: TrustChange) -> TrustLine {
        let TrustChange { party, trusted, reason, at_ms, .. } = change;
        // The range that proved a principal wrong is on the line of its dispute, if it belongs to
        // this job.
        TrustLine { owner: party.owner, machine: party.machine, trusted, reason, at: at_ms }
    }
}

impl From<TrustLine> for TrustChange {
    fn from(line: TrustLine) -> TrustChange {
        let TrustLine { owner, machine, trusted, reason, at } = line;
        let party = farm::Party { owner, machine };
        TrustChange { party, trusted, proof: None, reason, at_ms: at }
    }
}

/// An author of counts. Ranges name authors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorLine {
    owner: String,
    machine: String,
    worker: String,
    build: String,
    kernel: String,
}

impl From<&Row> for AuthorLine {
    fn from(row: &Row) -> AuthorLine {
        let Provenance { principal, worker, build } = row.provenance.clone();
        let Principal { owner, machine } = principal;
        AuthorLine { owner, machine, worker, build, kernel: row.kernel.to_string() }
    }
}

impl AuthorLine {
    /// The hash of the line, which identifies the author.
    pub(super) fn hash(&self) -> blake3::Hash {
        let line = serde_json::to_vec(self).expect("text can be written");
        blake3::hash(&line)
    }
}

/// An author of counts, according to a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedAuthor {
    /// The worker, its principal and its build.
    pub provenance: Provenance,
    /// The kernel.
    pub kernel: KernelName,
}

impl TryFrom<AuthorLine> for StatedAuthor {
    type Error = anyhow::Error;

    fn try_from(line: AuthorLine) -> Result<StatedAuthor> {
        let AuthorLine { owner, machine, worker, build, kernel } = line;
        let kernel = KernelName::new(&kernel).with_context(|| {
            format!("no kernel of this program is named {kernel:?}; use the version that wrote the bundle")
        })?;
        let provenance = Provenance { principal: Principal { owner, machine }, worker, build };
        Ok(StatedAuthor { provenance, kernel })
    }
}

/// An accepted range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeLine {
    #[serde(with = "CheckName")]
    pub(super) audit: Check,
    pub(super) row: RowText,
    /// The count of each task. `null` if they are not reported.
    counts: Option<Vec<Decimal>>,
}

impl RangeLine {
    pub(super) fn new(check: Check, row: RowText, counts: &TaskCounts) -> RangeLine {
        let decimals = || counts.as_slice().iter().map(|&count| Decimal(count.into())).collect();
        let counts = (!counts.are_omitted()).then(decimals);
        RangeLine { audit: check, row, counts }
    }

    /// The count of each task, if they are reported.
    pub(super) fn counts(&self) -> Result<Option<Vec<u64>>> {
        let small = |count: &Decimal| u64::try_from(count.0).ok();
        let Some(counts) = &self.counts else { return Ok(None) };
        let counts: Option<Vec<u64>> = counts.iter().map(small).collect();
        Ok(Some(counts.context("no task can count more than 2^64 - 1")?))
    }
}

/// A second count of the range before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditLine {
    pub(super) row: RowText,
}

/// A count that is not in the total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DisputeLine {
    #[serde(with = "DisputeName")]
    pub(super) state: DisputeState,
    pub(super) row: RowText,
}

/// The spelling of an [`AuditScope`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AuditScope", rename_all = "snake_case")]
enum ScopeName {
    Machines,
    Owners,
}

/// The spelling of a [`Check`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Check", rename_all = "snake_case")]
enum CheckName {
    NotChosen,
    Wanted,
    Agreed,
}

/// The spelling of a [`DisputeState`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "DisputeState", rename_all = "snake_case")]
enum DisputeName {
    Open,
    Settled,
    TakenBack,
}

/// A count of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowText {
    first: u64,
    past: u64,
    count: Decimal,
    #[serde(with = "canonical::hex")]
    digest: u128,
    /// The number of its author.
    by: u32,
    busy_us: u64,
    at: i64,
}

impl RowText {
    pub(super) fn new(row: &Row, by: u32, at: i64) -> RowText {
        let Row { range, checked_count, busy_us, .. } = row;
        RowText {
            first: range.start(),
            past: range.end(),
            count: Decimal(checked_count.count.into()),
            digest: checked_count.digest.0,
            by,
            busy_us: *busy_us,
            at,
        }
    }

    /// The time of one thread that the count took, according to the bundle.
    pub(super) fn busy(&self) -> Duration {
        Duration::from_micros(self.busy_us)
    }

    /// The count, if its author is one of the first `authors` authors.
    pub(super) fn read(self, authors: usize) -> Result<StatedRow> {
        let RowText { first, past, count, digest, by, .. } = self;
        let range =
            Range::new(first, past).with_context(|| format!("[{first}, {past}) is empty"))?;
        ensure!((by as usize) < authors, "{range} has the unknown author {by}");
        let result = CountResult { count: count.0, digest: Digest(digest) };
        Ok(StatedRow { range, result, by })
    }
}

/// A count of a range, according to a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedRow {
    /// The ordinals.
    pub range: Range,
    /// Their count and digest.
    pub result: CountResult,
    /// The number of its author.
    pub by: u32,
}
