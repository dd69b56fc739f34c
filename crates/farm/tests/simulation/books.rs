//! The witness's books: what is claimed, what is held, and by whom.

use std::collections::{BTreeMap, BTreeSet};

use farm::{Fingerprint, JobId, JobState, LeaseId, Plan, Range};

use crate::ledger::LedgerJob;
use crate::scenario::thread_memory;

/// One job.
pub struct Book {
    pub fingerprint: Fingerprint,
    pub priority: i32,
    pub thread_memory: u64,
    pub state: JobState,
    /// Per ordinal: accepted or on the way into the ledger.
    pub claimed: Vec<bool>,
    /// Per ordinal: who counts it, as far as it is not a recount.
    pub holder: Vec<Option<LeaseId>>,
    /// Ordinals that are neither claimed nor held.
    pub free: u64,
    /// What the farm was told about the rows.
    pub total: i128,
    pub tasks_done: u64,
    /// Who has voted.
    pub disputes: BTreeMap<Range, Vec<String>>,
}

/// One session.
pub struct Seat {
    pub worker: String,
    pub instance: u64,
    pub memory: u64,
    /// Jobs of which it gave something back.
    pub declined: BTreeSet<JobId>,
    pub credit: u64,
    pub leaving: bool,
    pub outstanding: u64,
    pub leases: BTreeMap<LeaseId, Held>,
    /// It has missed a deadline and reported nothing since: it rests, and others come first.
    pub late: bool,
}

/// One lease.
pub struct Held {
    pub job: JobId,
    /// It lies in here.
    pub hull: Range,
    pub whole: bool,
    /// Tasks still expected. Never 0.
    pub open: u64,
    /// Something of it has come back.
    pub reported: bool,
}

impl Seat {
    /// Whether it has nothing to do, and no reason not to count this job.
    pub fn is_ready_for(&self, job: JobId, book: &Book) -> bool {
        let is_idle = self.outstanding == 0 && self.credit > 0 && !self.leaving && !self.late;
        is_idle && self.may_count(job, book)
    }

    /// Whether it has the memory, as far as the farm can know.
    pub fn may_count(&self, job: JobId, book: &Book) -> bool {
        self.memory >= book.thread_memory && !self.declined.contains(&job)
    }
}

impl Book {
    pub fn new(plan: &Plan, priority: i32) -> Book {
        let tasks = plan.tasks;
        Book {
            fingerprint: plan.fingerprint(),
            priority,
            thread_memory: thread_memory(plan),
            free: tasks,
            state: JobState::Running,
            claimed: vec![false; tasks as usize],
            holder: vec![None; tasks as usize],
            total: 0,
            tasks_done: 0,
            disputes: BTreeMap::new(),
        }
    }

    pub fn restored(job: &LedgerJob) -> Book {
        let mut book = Book::new(&job.plan, job.priority);
        book.state = job.state;
        for row in job.rows.values() {
            ordinals(row.range).for_each(|ordinal| book.claimed[ordinal] = true);
            book.total += i128::from(row.count);
            book.tasks_done += row.range.len();
            book.free -= row.range.len();
        }
        for (&range, votes) in &job.disputes {
            let first = lone_counter(job, range).into_iter();
            let voted = first.chain(votes.iter().map(|vote| vote.worker.clone())).collect();
            book.disputes.insert(range, voted);
        }
        book
    }

    /// Nobody holds `range` any more, or `lease` does not. Returns the lease of each ordinal freed.
    pub fn free(&mut self, range: Range, lease: Option<LeaseId>) -> Vec<LeaseId> {
        let mut freed = Vec::new();
        for ordinal in ordinals(range) {
            let holder = &mut self.holder[ordinal];
            if holder.is_some() && (lease.is_none() || *holder == lease) {
                freed.extend(holder.take());
                self.free += u64::from(!self.claimed[ordinal]);
            }
        }
        freed
    }
}

/// The worker that counted all of a disputed range that is accepted, if one did.
pub fn lone_counter(job: &LedgerJob, range: Range) -> Option<String> {
    let mut workers: Vec<_> = job.overlapping(range).map(|row| row.worker.clone()).collect();
    workers.dedup();
    workers.pop().filter(|_| workers.is_empty())
}

pub fn hull(a: Range, b: Range) -> Range {
    Range::new(a.start().min(b.start()), a.end().max(b.end())).expect("neither is empty")
}

pub fn ordinals(range: Range) -> std::ops::Range<usize> {
    range.start() as usize..range.end() as usize
}
