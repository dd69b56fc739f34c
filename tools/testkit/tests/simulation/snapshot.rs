//! What the ledger holds at one moment, as it is read back.

use std::collections::BTreeMap;
use std::rc::Rc;

use farm::{
    Check, CountedRange, DisputeState, Distrusted, EvidenceRecord, JobId, Row, StoredJob,
    TaskCounts, TrustChange,
};
use ledger::{Ledger, LedgerFault};

/// The jobs of a ledger, and who is distrusted.
#[derive(Debug)]
pub struct Snapshot {
    pub jobs: BTreeMap<JobId, Rc<JobSnapshot>>,
    pub distrusted: Distrusted,
}

/// A job with all that is known about it.
#[derive(Debug)]
pub struct JobSnapshot {
    pub job: StoredJob,
    /// Its accepted ranges, by their first ordinal.
    pub rows: BTreeMap<u64, CountedRange>,
    /// The counts of single tasks of accepted ranges, if they are reported, by their first ordinal.
    pub task_counts: BTreeMap<u64, TaskCounts>,
    /// Second counts of accepted ranges, by their first ordinal.
    pub seconds: BTreeMap<u64, Row>,
    /// Counts that are not in the total: by range, the oldest first.
    pub evidence: Vec<(Row, DisputeState)>,
    /// All changes of trust when it was read, the newest last.
    pub trust: Vec<TrustChange>,
}

impl JobSnapshot {
    pub fn of(ledger: &Ledger, id: JobId) -> JobSnapshot {
        let job = ledger.job(id).expect("it can be read");
        let plan = job.spec.plan;
        let (rows, task_counts, seconds) = Default::default();
        let (evidence, trust) = Default::default();
        let mut all = JobSnapshot { job, rows, task_counts, seconds, evidence, trust };
        let note = |record| {
            match record {
                EvidenceRecord::Policy { .. } => {}
                EvidenceRecord::Trust(change) => all.trust.push(change),
                EvidenceRecord::Range { counted, task_counts, .. } => {
                    let start = counted.row.range.start();
                    if !task_counts.are_omitted() {
                        all.task_counts.insert(start, task_counts);
                    }
                    all.rows.insert(start, counted);
                }
                EvidenceRecord::Audit { row, .. } => {
                    drop(all.seconds.insert(row.range.start(), row))
                }
                EvidenceRecord::Dispute { row, state, .. } => all.evidence.push((row, state)),
            }
            Ok::<(), LedgerFault>(())
        };
        ledger.for_each_record(id, &plan, note).expect("it is sound");
        all
    }

    /// Whether a range waits for a second count.
    pub fn waits(&self) -> bool {
        self.rows.values().any(|counted| counted.check == Check::Wanted)
    }
}
