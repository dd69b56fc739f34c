//! What people see of a farm at one moment.

use crate::{IntervalSet, JobId, JobView, Millis, OwnerView, Party, Principal, Range, WorkerView};

/// All that is shown of a farm at one moment, except for the maps of plans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// When that was, on the farm's clock.
    pub at: Millis,
    /// The jobs that are neither done nor cancelled, the oldest first.
    pub live: Vec<JobView>,
    /// The latest of the jobs that are done or cancelled, the latest first.
    pub ended: Vec<JobView>,
    /// How many jobs are done or cancelled altogether.
    pub ended_in_all: usize,
    /// All connected workers.
    pub workers: Vec<WorkerView>,
    /// Parties that are distrusted.
    pub distrusted: Vec<Party>,
    /// Owners of jobs.
    pub owners: Vec<OwnerView>,
}

/// What was done for a job lately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The job.
    pub job: JobId,
    /// The sum of the counts that became durable, before symmetry. Counts that were taken back
    /// later are included.
    pub placements: f64,
    /// Sessions that hold ranges of it.
    pub workers: usize,
}

/// Whose counts are added up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CreditOf {
    /// Those of each owner.
    Owners,
    /// Those of each worker of an owner.
    Workers(String),
    /// Those of one worker, for each job. The worker is named by the principal that answers for it,
    /// and by its own name.
    Jobs(Principal, String),
}

/// What somebody has counted: the sum of rows of a ledger, with those of removed jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credit {
    /// The owner.
    pub owner: String,
    /// The machine, unless these are all of an owner's.
    pub machine: String,
    /// The name of the worker, unless these are all of an owner's.
    pub worker: String,
    /// The job, if these are of one that was not removed.
    pub job: Option<JobId>,
    /// The kernels, with commas between them.
    pub kernels: String,
    /// Tasks.
    pub tasks: u64,
    /// What they count, before symmetry.
    pub placements: f64,
    /// Thread time, audits of others' counts included, microseconds.
    pub busy_us: u64,
    /// Accepted counts of theirs that another party has repeated with the same result. All
    /// contributors together have as many as their jobs have ranges that were counted twice.
    pub agreed: u64,
    /// Counts that contradict others, or were taken back.
    pub contradicted: u64,
    /// When the last of it was noted, Unix milliseconds.
    pub last_ms: i64,
}

impl Credit {
    /// The most that are returned at a time: those with the most placements.
    pub const MOST: usize = 500;
}

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// What, as one sentence without a full stop.
    pub text: String,
}

/// A plan, cut into cells of neighbouring ordinals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMap {
    /// At most [`PlanMap::CELLS`], in the order of their ordinals; of equal size as far as that is
    /// possible.
    pub cells: Vec<Cell>,
}

/// What has become of neighbouring ordinals of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which they are.
    pub range: Range,
    /// How many of them belong to the job's shard of the plan.
    pub wanted: u64,
    /// How many are accepted, or on their way into the ledger.
    pub accepted: u64,
    /// How many are leased for the first time.
    pub leased: u64,
    /// How many are accepted and in dispute.
    pub disputed: u64,
    /// How many are not leased any more because workers were lost with them.
    pub failed: u64,
    /// The names of workers that hold any of them; [`Cell::HOLDERS`] at most.
    pub holders: Vec<String>,
}

impl Cell {
    /// The most workers that are named.
    pub const HOLDERS: usize = 3;
}

impl PlanMap {
    /// A map is a square of 64 by 64.
    pub const CELLS: u64 = 64 * 64;

    /// A map of `tasks` tasks of which `wanted` belong to the job.
    pub(crate) fn new(tasks: u64, wanted: &IntervalSet) -> PlanMap {
        let cells = tasks.min(PlanMap::CELLS);
        let range = |cell| {
            let part = board::equal_block(tasks, cell, cells);
            Range::new(part.start, part.end).expect("there are no more cells than tasks")
        };
        let empty = |cell| Cell {
            range: range(cell),
            wanted: 0,
            accepted: 0,
            leased: 0,
            disputed: 0,
            failed: 0,
            holders: Vec::new(),
        };
        let mut map = PlanMap { cells: (0..cells).map(empty).collect() };
        wanted.iter().for_each(|range| map.paint(range, |cell, tasks| cell.wanted += tasks));
        map
    }

    /// Calls `paint` for every cell that has ordinals of `range`, with their number.
    pub(crate) fn paint(&mut self, range: Range, mut paint: impl FnMut(&mut Cell, u64)) {
        let first = self.cells.partition_point(|cell| cell.range.end() <= range.start());
        for cell in &mut self.cells[first..] {
            let Some(part) = cell.range.intersect(range) else { return };
            paint(cell, part.len());
        }
    }
}
