//! The model ledger: first in, first durable; and a second pair of eyes on every record.
//!
//! ```text
//!   order ──► queue ──commit (batches)──► durable, answer ──told──► the farm
//!               │                              │
//!               └── lost in a crash            └── kept in a crash, whether told or not
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use farm::{
    Fingerprint, Found, IntervalSet, JobId, JobState, Plan, Range, Record, Report, Restored,
    RestoredDispute, RestoredJob, Ticket, Vote,
};

use crate::scenario::thread_memory;
use crate::truth::{Truth, Truths};

#[derive(Default)]
pub struct Ledger {
    pub jobs: BTreeMap<JobId, LedgerJob>,
    pub queue: VecDeque<(Ticket, Order)>,
    /// Done, and the farm does not know yet.
    pub answers: VecDeque<(Ticket, Answer)>,
    /// Durable records, for those who want to know whether something was durable.
    pub accepted: BTreeSet<(JobId, Range)>,
    pub evidence: BTreeSet<(JobId, Range)>,
    /// How often a client's wish for a state became durable.
    pub states: BTreeMap<(JobId, &'static str), u64>,
    /// How many disputes began, how many were settled, and how many of these against the rows.
    pub disputes: u64,
    pub settlements: u64,
    pub corrections: u64,
    epoch: u64,
    truths: Truths,
}

pub enum Order {
    Write(Record),
    Compare(JobId, Range),
}

#[derive(Clone, Debug)]
pub enum Answer {
    /// A record is durable. By how much the sum over the job's rows has changed, and the number
    /// of tasks that they cover.
    Written {
        record: Record,
        total: i128,
        tasks: u64,
    },
    Compared(Found),
}

pub struct LedgerJob {
    pub plan: Plan,
    pub fingerprint: Fingerprint,
    pub priority: i32,
    pub state: JobState,
    pub truth: Rc<Truth>,
    /// By their start. Disjoint.
    pub rows: BTreeMap<u64, Row>,
    /// Claims that contradict rows, of disputes that are not settled.
    pub disputes: BTreeMap<Range, Vec<Vote>>,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub range: Range,
    pub count: u64,
    pub worker: String,
}

impl Ledger {
    /// Makes the first `orders` of the queue durable.
    pub fn commit(&mut self, orders: usize) {
        for _ in 0..orders {
            let (ticket, order) = self.queue.pop_front().expect("no more than the queue has");
            let answer = match order {
                Order::Write(record) => self.write(record),
                Order::Compare(job, range) => Answer::Compared(self.jobs[&job].compare(range)),
            };
            self.answers.push_back((ticket, answer));
        }
    }

    /// What is left for the next coordinator.
    pub fn reopen(&mut self) -> Restored {
        self.queue.clear();
        self.answers.clear();
        self.epoch += 1;
        let jobs = self.jobs.iter().map(|(&id, job)| job.restored(id)).collect();
        Restored { epoch: self.epoch, jobs }
    }

    fn write(&mut self, record: Record) -> Answer {
        let (mut total, mut tasks) = (0i128, 0);
        match &record {
            Record::Job { job, plan, priority } => {
                let newest = self.jobs.last_key_value().map_or(JobId(0), |(&id, _)| id);
                assert!(*job > newest, "job number {job} was used before");
                self.jobs.insert(*job, LedgerJob::new(*plan, *priority, &mut self.truths));
            }
            Record::State { job, state } => {
                let known = self.jobs.get_mut(job).expect("state of a job that exists");
                assert_ne!(*state, JobState::Done, "done has its own record");
                let ended = known.state == JobState::Cancelled && *state != known.state;
                assert!(!ended, "cancelled is final, {job}");
                known.state = *state;
                *self.states.entry((*job, state.name())).or_default() += 1;
            }
            Record::Done { job, tasks, total } => {
                let known = self.jobs.get_mut(job).expect("end of a job that exists");
                known.finish(*tasks, *total);
            }
            Record::Range { report, worker } => {
                let job = self.jobs.get_mut(&report.job).expect("range of a job that exists");
                job.accept(report, worker);
                self.accepted.insert((report.job, report.range));
                (total, tasks) = (report.count.into(), report.range.len());
            }
            Record::Dispute { report, worker } => {
                let job = self.jobs.get_mut(&report.job).expect("dispute in a job that exists");
                self.disputes += u64::from(job.contradict(report, worker));
                self.evidence.insert((report.job, report.range));
            }
            Record::Settle { report, worker } => {
                let job = self.jobs.get_mut(&report.job).expect("dispute in a job that exists");
                total = job.settle(report, worker);
                self.settlements += 1;
                self.corrections += u64::from(total != 0);
                self.evidence.insert((report.job, report.range));
            }
        }
        Answer::Written { record, total, tasks }
    }
}

impl LedgerJob {
    fn new(plan: Plan, priority: i32, truths: &mut Truths) -> LedgerJob {
        LedgerJob {
            plan,
            fingerprint: plan.fingerprint(),
            priority,
            state: JobState::Running,
            truth: truths.of(&plan),
            rows: BTreeMap::new(),
            disputes: BTreeMap::new(),
        }
    }

    pub fn sum(&self) -> u128 {
        self.rows.values().map(|row| u128::from(row.count)).sum()
    }

    fn covered(&self) -> u64 {
        self.rows.values().map(|row| row.range.len()).sum()
    }

    /// Whether all of `range` has rows, wherever they begin and end.
    pub fn covers(&self, range: Range) -> bool {
        let parts = self.overlapping(range).filter_map(|row| row.range.intersect(range));
        parts.map(Range::len).sum::<u64>() == range.len()
    }

    pub fn overlapping(&self, range: Range) -> impl Iterator<Item = &Row> {
        let rows = self.rows.range(..range.end()).rev();
        let rows = rows.map(|(_, row)| row).take_while(move |row| row.range.end() > range.start());
        rows.collect::<Vec<_>>().into_iter().rev()
    }

    /// The rows that tile `range` exactly.
    fn tiles(&self, range: Range) -> Option<Vec<Row>> {
        let rows: Vec<Row> = self.overlapping(range).cloned().collect();
        let inside = rows.iter().all(|row| row.range.intersect(range) == Some(row.range));
        (inside && self.covers(range)).then_some(rows)
    }

    fn compare(&self, range: Range) -> Found {
        self.tiles(range).map_or(Found::Unaligned, |rows| {
            let vote = vote_of(&rows);
            Found::Exactly { count: vote.count, worker: vote.worker }
        })
    }

    fn check_report(&self, report: &Report) {
        assert_eq!(report.fingerprint, self.fingerprint, "a report of another plan");
        assert!(report.range.end() <= self.plan.tasks, "{} is not in the plan", report.range);
        assert_ne!(self.state, JobState::Cancelled, "the job of {report:?} was cancelled before");
    }

    fn accept(&mut self, report: &Report, worker: &str) {
        self.check_report(report);
        let overlapped = self.overlapping(report.range).next();
        assert!(overlapped.is_none(), "{} overlaps {overlapped:?}", report.range);
        let row = Row { range: report.range, count: report.count, worker: worker.into() };
        self.rows.insert(report.range.start(), row);
    }

    /// Returns whether that is the first contradiction.
    fn contradict(&mut self, report: &Report, worker: &str) -> bool {
        self.check_report(report);
        let rows = self.tiles(report.range).expect("only what rows tile can be disputed");
        let claims = self.disputes.entry(report.range).or_default();
        let vote = Vote { worker: worker.into(), count: report.count.into() };
        assert!(
            !claims.is_empty() || vote_of(&rows).count != vote.count,
            "{worker} does not contradict what is accepted: {report:?}"
        );
        assert!(claims.iter().all(|vote| vote.worker != worker), "{worker} voted twice");
        claims.push(vote);
        if self.state == JobState::Done {
            self.state = JobState::Running;
        }
        self.disputes[&report.range].len() == 1
    }

    /// Two workers must agree, and they must be right. Returns by how much the sum changes.
    fn settle(&mut self, report: &Report, worker: &str) -> i128 {
        self.check_report(report);
        let count = u128::from(report.count);
        let rows = self.tiles(report.range).expect("only what rows tile can be disputed");
        let mut votes = self.disputes.remove(&report.range).expect("only a dispute is settled");
        votes.push(vote_of(&rows));
        let agrees =
            |vote: &Vote| vote.count == count && vote.worker != worker && !vote.worker.is_empty();
        assert!(votes.iter().any(agrees), "nobody agrees with {worker}: {votes:?}, {report:?}");
        assert_eq!(count, self.truth.of(report.range), "settled wrong: {votes:?}");
        rows.iter().for_each(|row| drop(self.rows.remove(&row.range.start())));
        let row = Row { range: report.range, count: report.count, worker: worker.into() };
        self.rows.insert(report.range.start(), row);
        count as i128 - vote_of(&rows).count as i128
    }

    fn finish(&mut self, tasks: u64, total: u128) {
        assert_eq!(tasks, self.plan.tasks, "tasks of {}", self.plan);
        assert_eq!(self.covered(), tasks, "done means covered exactly");
        assert_eq!(self.sum(), total, "the total is the sum of the rows");
        assert!(self.disputes.is_empty(), "done while disputed: {:?}", self.disputes);
        assert_ne!(self.state, JobState::Cancelled, "cancelled is final");
        self.state = JobState::Done;
    }

    fn restored(&self, id: JobId) -> RestoredJob {
        let disputes = self.disputes.iter().map(|(&range, votes)| {
            let rows = self.tiles(range).expect("disputed rows stay as they are");
            let votes = std::iter::once(vote_of(&rows)).chain(votes.iter().cloned()).collect();
            RestoredDispute { range, votes }
        });
        RestoredJob {
            id,
            plan: self.plan,
            priority: self.priority,
            thread_memory: thread_memory(&self.plan),
            state: self.state,
            accepted: self.rows.values().map(|row| row.range).collect::<IntervalSet>(),
            total: self.sum(),
            disputes: disputes.collect(),
        }
    }
}

/// What rows say together; nobody's claim if they are several workers'.
fn vote_of(rows: &[Row]) -> Vote {
    let first = &rows[0].worker;
    let alone = rows.iter().all(|row| row.worker == *first);
    Vote {
        worker: if alone { first.clone() } else { String::new() },
        count: rows.iter().map(|row| u128::from(row.count)).sum(),
    }
}
