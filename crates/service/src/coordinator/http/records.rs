//! What the ledger tells of jobs that somebody looks at: who counted what, and what happened when.
//!
//! It is read beside the farm, by a connection of its own. A ledger with many rows takes long, so that it is read
//! the less often the longer it takes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use farm::{Cell, JobId, PlanMap};
use ledger::{Happening, Incident, LedgerFault, Look, SeenRange};
use page::{CellRecord, JobRecord, LogEntry};
use tokio::time::Instant;

/// How often a job's rows are read at most.
const LEAST: Duration = Duration::from_secs(5);
/// The rest after reading, as a multiple of the time that it took.
const REST: u32 = 50;
/// A record that nobody has asked for is forgotten after this time.
const KEPT: Duration = Duration::from_secs(600);

/// The records of a ledger; of one in memory there are none.
#[derive(Clone)]
pub(super) struct Records {
    ledger: Option<Arc<PathBuf>>,
    known: Arc<Mutex<HashMap<JobId, Known>>>,
}

struct Known {
    record: Option<Arc<JobRecord>>,
    asked: Instant,
    /// When it may be read again; `None` while it is being read.
    again: Option<Instant>,
}

impl Records {
    pub(super) fn new(ledger: Option<&Path>) -> Records {
        let ledger = ledger.map(|path| Arc::new(path.to_path_buf()));
        Records { ledger, known: Arc::default() }
    }

    /// The latest that was read of a job. If that is some time ago, it is read again, for whoever asks next. Must be
    /// called within a runtime.
    pub(super) fn of(&self, job: JobId, map: &PlanMap) -> Option<Arc<JobRecord>> {
        let ledger = self.ledger.clone()?;
        let now = Instant::now();
        let mut known = self.known.lock().expect("nobody panics while holding it");
        known.retain(|_, known| known.again.is_none() || now.duration_since(known.asked) < KEPT);
        let new = Known { record: None, asked: now, again: Some(now) };
        let entry = known.entry(job).or_insert(new);
        entry.asked = now;
        if entry.again.is_some_and(|again| again <= now) {
            entry.again = None;
            let (records, cells) = (self.clone(), map.cells.clone());
            tokio::task::spawn_blocking(move || {
                let begun = Instant::now();
                let read = read(&ledger, job, &cells);
                records.note(job, read, begun.elapsed());
            });
        }
        entry.record.clone()
    }

    fn note(&self, job: JobId, read: Result<JobRecord, LedgerFault>, took: Duration) {
        let mut known = self.known.lock().expect("nobody panics while holding it");
        let Some(entry) = known.get_mut(&job) else { return };
        match read {
            Ok(record) => entry.record = Some(Arc::new(record)),
            Err(fault) => tracing::debug!(%job, %fault, "the ledger cannot be looked at"),
        }
        entry.again = Some(Instant::now() + LEAST.max(took * REST));
    }
}

fn read(ledger: &Path, job: JobId, cells: &[Cell]) -> Result<JobRecord, LedgerFault> {
    let look = Look::open(ledger)?;
    let mut records = vec![CellRecord::default(); cells.len()];
    let mut at = 0;
    look.ranges(job, |seen| {
        // Both are in the order of the ordinals.
        while cells.get(at).is_some_and(|cell| cell.range.end() <= seen.range.start()) {
            at += 1;
        }
        for (cell, record) in cells[at..].iter().zip(&mut records[at..]) {
            let Some(part) = cell.range.intersect(seen.range) else { break };
            note_range(record, seen, part.len());
        }
    })?;
    let log = look.incidents(job)?.into_iter().map(entry).collect();
    Ok(JobRecord { cells: records, log })
}

fn note_range(record: &mut CellRecord, seen: SeenRange<'_>, tasks: u64) {
    record.audited += if seen.is_audited { tasks } else { 0 };
    let named = &mut record.workers;
    if named.len() < Cell::HOLDERS && !named.iter().any(|name| name == seen.worker) {
        named.push(seen.worker.into());
    }
}

fn entry(Incident { at_ms, what }: Incident) -> LogEntry {
    let text = match what {
        Happening::Submitted(owner) if owner.is_empty() => "submitted".into(),
        Happening::Submitted(owner) => format!("submitted by {owner}"),
        Happening::AuditOrdered(share_ppm) => {
            format!("an audit of {}% of the ranges was ordered", f64::from(share_ppm) / 10_000.0)
        }
        Happening::Disputed { range, worker, party } => {
            format!(
                "the count of {range} by {worker} ({party}) is kept as evidence: it contradicts another, or is not believed any more"
            )
        }
        Happening::ProvenWrong(party) => {
            format!("{party} was proven wrong, and is not believed any more")
        }
        Happening::Opened => "a coordinator was started".into(),
        Happening::Ended(state) => state,
    };
    LogEntry { unix_ms: at_ms, text }
}
