//! The farm at one moment, as the pages show it.

use std::sync::Arc;

use farm::{Credit, Incident, JobId, JobView, Overview, PlanMap, Principal};

use crate::history::Past;

/// The farm at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The farm's own view.
    pub overview: Overview,
    /// When that was, Unix milliseconds.
    pub unix_ms: i64,
}

impl Snapshot {
    /// The job of this number, if it is live or among the latest that have ended.
    pub fn job(&self, id: JobId) -> Option<&JobView> {
        let Overview { live, ended, .. } = &self.overview;
        live.iter().chain(ended).find(|job| job.id == id)
    }

    /// Placements per second of all workers.
    pub(crate) fn placements_per_second(&self) -> f64 {
        let rates = self.overview.workers.iter().map(|worker| worker.rate);
        rates.sum::<farm::Rate>().placements_per_second
    }

    /// The machines of all workers, each of them once.
    pub(crate) fn machines(&self) -> Vec<&Principal> {
        let workers = self.overview.workers.iter();
        let mut machines: Vec<&Principal> =
            workers.map(|worker| &worker.provenance.principal).collect();
        machines.sort_unstable();
        machines.dedup();
        machines
    }

    /// Counting threads of all workers.
    pub(crate) fn threads(&self) -> u64 {
        self.overview.workers.iter().map(|worker| u64::from(worker.threads)).sum()
    }
}

/// One job, with the map of its plan, its record and its history.
#[derive(Clone, Debug)]
pub struct JobDetail {
    /// The job.
    pub view: JobView,
    /// Its plan.
    pub map: PlanMap,
    /// Its record in the ledger. `None` if the ledger is no file, or was not read yet.
    pub record: Option<Arc<JobRecord>>,
    /// Its history.
    pub history: Option<Past>,
    /// A placement of its problem, if the job is done and one was found: the columns of the queens,
    /// row by row.
    pub placement: Option<Vec<u32>>,
}

/// What a ledger has about a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRecord {
    /// For each cell of the map, what is accepted of it.
    pub cells: Vec<CellRecord>,
    /// Whether all rows of the job were read. They are read in the order of the tasks, for some
    /// seconds at most.
    pub is_whole: bool,
    /// What happened to the job, the latest first.
    pub log: Vec<Incident>,
}

/// What a ledger has about a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellRecord {
    /// Names of the workers that counted it, a few at most.
    pub workers: Vec<String>,
    /// How many of its tasks were counted twice with the same result.
    pub audited: u64,
}

/// What a ledger has about who counted what. `None` if the ledger is no file, or was not read yet.
pub type Credits = Option<Arc<Vec<Credit>>>;
