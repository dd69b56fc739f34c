//! What a ledger keeps of a job: accepted counts, second counts, and evidence.
//!
//! ```text
//!   accepted range   a row, and whether it was counted twice ([`Check`])
//!   second count     a row about the same range, by another party and another kernel
//!   evidence         a row that contradicts, or that no longer counts ([`DisputeState`])
//! ```

use serde::{Deserialize, Serialize};

use crate::{
    AuditPolicy, CheckedCount, CountResult, KernelName, LeaseId, Provenance, Range, Report,
    TaskCounts, TrustChange,
};

/// A count of a range, and who answers for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The ordinals that were counted.
    pub range: Range,
    /// What they count.
    pub checked_count: CheckedCount,
    /// What counted them.
    pub kernel: KernelName,
    /// Who counted them.
    pub provenance: Provenance,
    /// The lease that the count answered.
    pub lease: LeaseId,
    /// Thread time spent on it, microseconds.
    pub busy_us: u64,
}

impl Row {
    /// The row of a report.
    pub fn new(report: &Report, provenance: &Provenance) -> Row {
        let Report { range, checked_count, kernel, lease, busy_us, .. } = *report;
        Row { range, checked_count, kernel, provenance: provenance.clone(), lease, busy_us }
    }
}

crate::named! {
    /// Whether an accepted range was counted a second time.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Check {
        /// Nobody asked for a second count.
        NotChosen = "not_chosen",
        /// A second count is asked for, and is missing.
        Wanted = "wanted",
        /// Two parties counted it alike.
        Agreed = "agreed",
    }
}

/// An accepted range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRange {
    /// The count that is in the total.
    pub row: Row,
    /// Whether somebody else counted it, too.
    pub check: Check,
}

crate::named! {
    /// Where a count stands that is kept as evidence.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DisputeState {
        /// It contradicts the accepted count, and nobody knows yet which is right.
        Open = "open",
        /// Its dispute is over.
        Settled = "settled",
        /// It was accepted, or confirmed another count, until its principal was proven wrong
        /// elsewhere, or until only other owners could confirm.
        TakenBack = "taken_back",
    }
}

/// A job's line of evidence. Times are Unix milliseconds, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRecord {
    /// A policy that chose ranges to be counted twice.
    Policy {
        /// The policy.
        policy: AuditPolicy,
        /// When it was asked for.
        at_ms: i64,
    },
    /// An accepted range.
    Range {
        /// The range, its count and its check.
        counted: CountedRange,
        /// The counts of its single tasks, if they were reported.
        task_counts: TaskCounts,
        /// When it was accepted.
        at_ms: i64,
    },
    /// A second count that agrees with the accepted one.
    Audit {
        /// The count.
        row: Row,
        /// When it was made.
        at_ms: i64,
    },
    /// A count that is not in the total.
    Dispute {
        /// The count.
        row: Row,
        /// Why it is kept.
        state: DisputeState,
        /// When it was made.
        at_ms: i64,
    },
    /// A change of trust in somebody.
    Trust(TrustChange),
}

/// The sum and the digest of rows in ascending order that tile a range without a gap; `None` if
/// they do not, or if their sum passes 128 bits.
pub fn tiled<'a>(rows: impl IntoIterator<Item = &'a Row>, range: Range) -> Option<CountResult> {
    let (mut next, mut sum) = (range.start(), None::<CountResult>);
    for row in rows {
        if row.range.start() != next || row.range.end() > range.end() {
            return None;
        }
        next = row.range.end();
        let result = row.checked_count.result();
        sum = Some(sum.map_or(Some(result), |sum| sum.join(result))?);
    }
    sum.filter(|_| next == range.end())
}
