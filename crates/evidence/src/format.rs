//! The lines of a bundle after its header, as JSON objects. `docs/BUNDLE.md` specifies them for
//! other programs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use farm::{
    AuditScope, Check, CountResult, Digest, DisputeState, KernelName, Provenance, Range, Row,
    TrustChange,
};
use serde::{Deserialize, Serialize};

use crate::canonical::{Decimal, encode, text};

pub(super) const VERSION: u32 = 1;

/// Any line but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Policy(StatedPolicy),
    /// A principal was distrusted, or trusted again.
    Trust(TrustChange),
    Author(StatedAuthor),
    /// An accepted range.
    Range {
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
    /// Whether second counts of plans by `colours` were to be by the reference.
    pub by_reference: bool,
    /// Whether a second count must come from another machine, or from another owner.
    pub across: AuditScope,
    /// When it was ordered, in milliseconds since 1970.
    pub asked_at: i64,
}

/// An author of counts, according to a bundle. Ranges name authors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedAuthor {
    /// The worker, its principal and its build.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The kernel.
    #[serde(with = "text")]
    pub kernel: KernelName,
}

impl StatedAuthor {
    /// The hash of the line, which identifies the author.
    pub(super) fn hash(&self) -> blake3::Hash {
        blake3::hash(&encode(self))
    }
}

/// A count of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowText {
    first: u64,
    past: u64,
    #[serde(with = "text")]
    count: u128,
    #[serde(with = "text")]
    digest: Digest,
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
            count: checked_count.count.into(),
            digest: checked_count.digest,
            by,
            busy_us: *busy_us,
            at,
        }
    }

    /// The count, if its author is one of the first `authors` authors.
    pub(super) fn read(self, authors: usize) -> Result<StatedRow> {
        let RowText { first, past, count, digest, by, busy_us, .. } = self;
        let range =
            Range::new(first, past).with_context(|| format!("[{first}, {past}) is empty"))?;
        ensure!((by as usize) < authors, "{range} has the unknown author {by}");
        let busy = Duration::from_micros(busy_us);
        Ok(StatedRow { range, result: CountResult { count, digest }, by, busy })
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
    /// The time of one thread that it took.
    pub busy: Duration,
}
