//! The lines of a bundle after its header, as JSON objects. `docs/BUNDLE.md` specifies them for
//! other programs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use farm::{
    AuditScope, Check, CountResult, Digest, DisputeState, JobId, KernelName, Party, Principal,
    Provenance, Range, Row, TrustChange,
};
use serde::{Deserialize, Serialize};

use crate::canonical::{self, Decimal};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// Any line but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Policy(StatedPolicy),
    /// A principal was distrusted, or trusted again.
    Trust(#[serde(with = "TrustText")] TrustChange),
    Author(StatedAuthor),
    /// An accepted range.
    Range {
        #[serde(with = "CheckName")]
        audit: Check,
        row: RowText,
        /// The count of each task. `null` if they are not reported.
        counts: Option<Vec<Decimal>>,
    },
    /// A second count of the range before it.
    Audit {
        row: RowText,
    },
    /// A count that is not in the total.
    Dispute {
        #[serde(with = "DisputeName")]
        state: DisputeState,
        row: RowText,
    },
}

/// How many lines of each kind a bundle has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Audits that were ordered.
    pub policies: u64,
    /// Principals that were distrusted, or trusted again.
    pub trust: u64,
    /// Authors.
    pub authors: u64,
    /// Accepted ranges.
    pub ranges: u64,
    /// Second counts.
    pub audits: u64,
    /// Counts that were contradicted, overruled or invalidated.
    pub disputes: u64,
}

impl Lines {
    pub(super) fn note(&mut self, line: &Line) {
        *match line {
            Line::Policy(_) => &mut self.policies,
            Line::Trust(_) => &mut self.trust,
            Line::Author(_) => &mut self.authors,
            Line::Range { .. } => &mut self.ranges,
            Line::Audit { .. } => &mut self.audits,
            Line::Dispute { .. } => &mut self.disputes,
        } += 1;
    }
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

/// The fields of a [`TrustChange`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TrustChange")]
struct TrustText {
    #[serde(flatten, with = "PartyText")]
    party: Party,
    trusted: bool,
    /// The range that proved a principal wrong is on the line of its dispute, if it belongs to this
    /// job.
    #[serde(skip)]
    proof: Option<(JobId, Range)>,
    reason: String,
    #[serde(rename = "at")]
    at_ms: i64,
}

/// The fields of a [`Party`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Party")]
struct PartyText {
    owner: String,
    /// `null` means all machines of the owner.
    machine: Option<String>,
}

/// An author of counts, according to a bundle. Ranges name authors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedAuthor {
    /// The worker, its principal and its build.
    #[serde(flatten, with = "ProvenanceText")]
    pub provenance: Provenance,
    /// The kernel.
    #[serde(with = "kernel_text")]
    pub kernel: KernelName,
}

impl StatedAuthor {
    /// The hash of the line, which identifies the author.
    pub(super) fn hash(&self) -> blake3::Hash {
        blake3::hash(&canonical::encode(self))
    }
}

/// The fields of a [`Provenance`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Provenance")]
struct ProvenanceText {
    #[serde(flatten, with = "PrincipalText")]
    principal: Principal,
    worker: String,
    build: String,
}

/// The fields of a [`Principal`] in a bundle.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Principal")]
struct PrincipalText {
    owner: String,
    machine: String,
}

/// The spelling of a [`KernelName`] in a bundle.
mod kernel_text {
    use farm::KernelName;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(
        kernel: &KernelName,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(kernel)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<KernelName, D::Error> {
        let name = String::deserialize(deserializer)?;
        KernelName::new(&name).ok_or_else(|| {
            D::Error::custom(format_args!(
                "no kernel of this program is named {name:?}; use the version that wrote the bundle"
            ))
        })
    }
}

/// The counts of single tasks on the line of a range.
pub(super) fn small(counts: &[Decimal]) -> Result<Vec<u64>> {
    let counts: Option<Vec<u64>> = counts.iter().map(|count| u64::try_from(count.0).ok()).collect();
    counts.context("no task can count more than 2^64 - 1")
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
