//! What the pages show: the farm at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use farm::{JobId, JobView, PlanMap, Survey};

use crate::estimate::Estimate;
use crate::history::{Load, Span};

/// The farm at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What the farm tells.
    pub survey: Survey,
    /// How many tasks of each job were accepted lately, tasks per second; nothing of jobs of which none were.
    pub rates: BTreeMap<JobId, f64>,
    /// When that was, Unix milliseconds.
    pub unix_ms: i64,
}

impl Snapshot {
    /// The job of this number, if it is live or among the latest that have ended.
    pub fn job(&self, id: JobId) -> Option<&JobView> {
        let Survey { live, ended, .. } = &self.survey;
        live.iter().chain(ended).find(|job| job.id == id)
    }
}

/// What is shown of one job besides its view.
#[derive(Clone, Debug)]
pub struct JobSight {
    /// The job.
    pub view: JobView,
    /// Its plan.
    pub map: PlanMap,
    /// What the ledger tells of it; `None` if there is no file, or it cannot be read now.
    pub record: Option<Arc<JobRecord>>,
    /// What was done when, in slots of equal length, up to now.
    pub history: Option<(Span, Vec<Load>)>,
}

/// What a ledger tells of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRecord {
    /// For each cell of the map, what is accepted of it.
    pub cells: Vec<CellRecord>,
    /// Whether that is all that the ledger tells of them: it is read for some seconds, in the order of the tasks.
    pub is_whole: bool,
    /// What its total was expected to be, in the order of time.
    pub estimates: Vec<Estimate>,
    /// What happened to it, the latest first.
    pub log: Vec<LogEntry>,
}

/// What a ledger tells of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellRecord {
    /// Who counted it: names of workers, a few at most.
    pub workers: Vec<String>,
    /// How many of its tasks two parties counted alike.
    pub audited: u64,
}

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When, Unix milliseconds.
    pub unix_ms: i64,
    /// What, as one sentence without a full stop.
    pub text: String,
}
