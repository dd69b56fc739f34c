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
    AuditPolicy, Author, Fingerprint, Found, IntervalSet, JobId, JobState, Plan, Range, Record,
    Report, Restored, RestoredDispute, RestoredJob, Slice, Spent, Ticket, Unaudited, Vote,
    Withdrawn,
};

use crate::rows::{Check, Row, Rows, kernel_of, vote_of};
use crate::scenario::thread_memory;
use crate::tally::Tally;
use crate::truth::{Truth, Truths};

#[derive(Default)]
pub struct Ledger {
    pub jobs: BTreeMap<JobId, LedgerJob>,
    pub queue: VecDeque<(Ticket, Order)>,
    /// Done, and the farm does not know yet.
    pub answers: VecDeque<(Ticket, Answer)>,
    /// Workers that were proven wrong.
    pub distrusted: BTreeSet<String>,
    /// Durable records, for those who want to know whether something was durable.
    pub accepted: BTreeSet<(JobId, Range)>,
    pub confirmed: BTreeSet<(JobId, Range)>,
    pub evidence: BTreeSet<(JobId, Range)>,
    /// How often a client's wish for a state became durable.
    pub states: BTreeMap<(JobId, &'static str), u64>,
    /// What became of it all.
    pub tally: Tally,
    epoch: u64,
    truths: Truths,
}

pub enum Order {
    Write(Record),
    Compare(JobId, Range),
    FindAudits(JobId, usize),
}

#[derive(Clone, Debug)]
pub enum Answer {
    Written(Record),
    /// Wishes for audits are durable, and so many wait now.
    Noted(Record, u64),
    Settled(Record, Vec<Withdrawn>),
    Compared(Found),
    AuditsFound(Vec<Unaudited>),
}

pub struct LedgerJob {
    pub plan: Plan,
    pub slice: Slice,
    /// Those of the slice.
    pub ordinals: IntervalSet,
    pub fingerprint: Fingerprint,
    pub priority: i32,
    pub policy: Option<AuditPolicy>,
    pub state: JobState,
    pub truth: Rc<Truth>,
    pub rows: Rows,
    /// Claims that contradict rows, of disputes that are not settled.
    pub disputes: BTreeMap<Range, Vec<Vote>>,
}

impl Ledger {
    /// Makes the first `orders` of the queue durable.
    pub fn commit(&mut self, orders: usize) {
        for _ in 0..orders {
            let (ticket, order) = self.queue.pop_front().expect("no more than the queue has");
            let answer = match order {
                Order::Write(record) => self.write(record),
                Order::Compare(job, range) => Answer::Compared(self.jobs[&job].compare(range)),
                Order::FindAudits(job, most) => {
                    let found = self.jobs[&job].unaudited(most);
                    self.tally.full_windows += u64::from(found.len() == most);
                    Answer::AuditsFound(found)
                }
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
        Restored { epoch: self.epoch, jobs, distrusted: self.distrusted.clone() }
    }

    fn write(&mut self, record: Record) -> Answer {
        match &record {
            Record::Job { job, .. } => {
                let newest = self.jobs.last_key_value().map_or(JobId(0), |(&id, _)| id);
                assert!(*job > newest, "job number {job} was used before");
                self.jobs.insert(*job, LedgerJob::new(&record, &mut self.truths));
            }
            Record::State { job, state } => {
                let known = self.jobs.get_mut(job).expect("state of a job that exists");
                assert_ne!(*state, JobState::Done, "done has its own record");
                let ended = known.state == JobState::Cancelled && *state != known.state;
                assert!(!ended, "cancelled is final, {job}");
                assert_ne!(known.state, JobState::Done, "job {job} is over");
                known.state = *state;
                *self.states.entry((*job, state.name())).or_default() += 1;
            }
            Record::Audit { job, policy } => {
                let known = self.jobs.get_mut(job).expect("audits of a job that exists");
                self.tally.audited_anew += u64::from(known.state == JobState::Done);
                known.audit(*policy);
                *self.states.entry((*job, "audited")).or_default() += 1;
                let wanted = known.rows.wanted;
                return Answer::Noted(record, wanted);
            }
            Record::Done { job, tasks, total } => {
                let known = self.jobs.get_mut(job).expect("end of a job that exists");
                known.finish(*tasks, *total);
            }
            Record::Range { report, author, audit } => {
                self.check_author(author);
                let job = self.jobs.get_mut(&report.job).expect("range of a job that exists");
                job.accept(report, author, *audit);
                self.tally.audits_wanted += u64::from(*audit);
                self.accepted.insert((report.job, report.range));
            }
            Record::Confirm { report, author } => {
                self.check_author(author);
                let job = self.jobs.get_mut(&report.job).expect("an audit of a job that exists");
                job.confirm(report, author);
                self.tally.confirmed += 1;
                self.confirmed.insert((report.job, report.range));
            }
            Record::Dispute { report, author } => {
                self.check_author(author);
                let job = self.jobs.get_mut(&report.job).expect("dispute in a job that exists");
                self.tally.disputes += u64::from(job.contradict(report, author));
                self.evidence.insert((report.job, report.range));
            }
            Record::Settle { report, author, wrong } => {
                self.check_author(author);
                let job = self.jobs.get_mut(&report.job).expect("dispute in a job that exists");
                self.tally.settlements += 1;
                self.tally.corrections += u64::from(job.settle(report, author, wrong));
                self.evidence.insert((report.job, report.range));
                self.distrusted.extend(wrong.iter().cloned());
                let withdrawn = self.withdraw(report.job, wrong);
                return Answer::Settled(record, withdrawn);
            }
        }
        Answer::Written(record)
    }

    fn check_author(&self, author: &Author) {
        assert!(!self.distrusted.contains(&author.worker), "{author:?} is believed again");
    }

    /// Takes back what was counted by workers that were wrong, and by nobody else.
    fn withdraw(&mut self, settled: JobId, wrong: &[String]) -> Vec<Withdrawn> {
        self.tally.proven_wrong += wrong.len() as u64;
        let mut all = Vec::new();
        for (&id, job) in self.jobs.iter_mut().filter(|(_, job)| job.state != JobState::Cancelled) {
            let wanted = job.rows.wanted;
            let gone = job.withdraw(wrong);
            self.tally.withdrawn += gone.len() as u64;
            let is_touched = !gone.is_empty() || job.rows.wanted != wanted;
            self.tally.voided += u64::from(job.rows.wanted > wanted);
            if is_touched && job.state == JobState::Done {
                self.tally.reopened += 1;
                job.state = JobState::Running;
            }
            if is_touched || id == settled {
                all.push(Withdrawn {
                    job: id,
                    ranges: gone.iter().map(|row| row.range).collect(),
                    total: gone.iter().map(|row| u128::from(row.tally.count)).sum(),
                    audits_wanted: job.rows.wanted,
                    audits_agreed: job.rows.agreed,
                });
            }
        }
        all
    }
}

impl LedgerJob {
    fn new(record: &Record, truths: &mut Truths) -> LedgerJob {
        let Record::Job { plan, slice, priority, audit, .. } = *record else {
            panic!("{record:?} makes no job")
        };
        LedgerJob {
            plan,
            slice,
            ordinals: slice.ordinals(plan.tasks),
            fingerprint: plan.fingerprint(),
            priority,
            policy: audit,
            state: JobState::Running,
            truth: truths.of(&plan),
            rows: Rows::default(),
            disputes: BTreeMap::new(),
        }
    }

    fn is_disputed(&self, range: Range) -> bool {
        self.disputes.keys().any(|other| other.intersect(range).is_some())
    }

    fn compare(&self, range: Range) -> Found {
        self.rows.tiles(range).map_or(Found::Unaligned, |rows| {
            let Vote { worker, claim } = vote_of(&rows);
            Found::Exactly { claim, worker, kernel: kernel_of(&rows) }
        })
    }

    fn unaudited(&self, most: usize) -> Vec<Unaudited> {
        let rows = self.rows.iter().filter(|row| row.check == Check::Wanted);
        let rows = rows.filter(|row| !self.is_disputed(row.range));
        rows.take(most).map(Row::unaudited).collect()
    }

    fn check_report(&self, report: &Report) {
        assert_eq!(report.fingerprint, self.fingerprint, "a report of another plan");
        assert!(report.tally.is_sound(), "altered on its way: {report:?}");
        assert!(self.ordinals.contains(report.range), "{} is not in the slice", report.range);
        assert_ne!(self.state, JobState::Cancelled, "the job of {report:?} was cancelled before");
    }

    fn accept(&mut self, report: &Report, author: &Author, audit: bool) {
        self.check_report(report);
        let chosen = self.policy.is_some_and(|p| p.chooses(self.fingerprint, report.range));
        assert_eq!(audit, chosen, "to be counted twice? {report:?}, {:?}", self.policy);
        self.rows.put(row(report, author, if audit { Check::Wanted } else { Check::None }));
    }

    fn confirm(&mut self, report: &Report, author: &Author) {
        self.check_report(report);
        let row = self.rows.take(report.range);
        assert_eq!(row.check, Check::Wanted, "nobody waits for {report:?}");
        assert_eq!(row.tally.claim(), report.tally.claim(), "{report:?} does not agree");
        assert_ne!(row.worker, author.worker, "{report:?} agrees with itself");
        assert_ne!(row.kernel, report.kernel, "{report:?} repeats {row:?}");
        self.rows.put(Row { check: Check::Confirmed(author.worker.clone()), ..row });
    }

    fn audit(&mut self, policy: AuditPolicy) {
        let plan = self.fingerprint;
        self.policy = Some(policy);
        self.rows.check(|row| {
            let is_new = row.check == Check::None && policy.chooses(plan, row.range);
            is_new.then_some(Check::Wanted)
        });
        if self.state == JobState::Done {
            self.state = JobState::Running;
        }
    }

    /// Returns whether that is the first contradiction.
    fn contradict(&mut self, report: &Report, author: &Author) -> bool {
        self.check_report(report);
        let worker = &author.worker;
        let rows = self.rows.tiles(report.range).expect("only what rows tile can be disputed");
        let claims = self.disputes.entry(report.range).or_default();
        let vote = Vote { worker: worker.clone(), claim: report.tally.claim() };
        assert!(
            !claims.is_empty() || vote_of(&rows).claim != vote.claim,
            "{worker} does not contradict what is accepted: {report:?}"
        );
        assert!(claims.iter().all(|vote| vote.worker != *worker), "{worker} voted twice");
        claims.push(vote);
        if self.state == JobState::Done {
            self.state = JobState::Running;
        }
        self.disputes[&report.range].len() == 1
    }

    /// Two workers must agree, and they must be right. Returns whether the rows were wrong.
    fn settle(&mut self, report: &Report, author: &Author, wrong: &[String]) -> bool {
        self.check_report(report);
        let (worker, claim) = (&author.worker, report.tally.claim());
        let rows = self.rows.tiles(report.range).expect("only what rows tile can be disputed");
        let stored = vote_of(&rows);
        let mut votes = self.disputes.remove(&report.range).expect("only a dispute is settled");
        votes.push(stored.clone());
        let by_name = |vote: &Vote| !vote.worker.is_empty();
        let agrees = |vote: &Vote| vote.claim == claim && vote.worker != *worker && by_name(vote);
        assert!(votes.iter().any(agrees), "nobody agrees with {worker}: {votes:?}, {report:?}");
        let truth = self.truth.tally(report.range).expect("it fits");
        assert_eq!(claim, truth.claim(), "settled wrong: {votes:?}");
        let liars = votes.iter().filter(|vote| vote.claim != claim && by_name(vote));
        let liars: BTreeSet<&String> = liars.map(|vote| &vote.worker).collect();
        assert_eq!(liars, wrong.iter().collect(), "who was wrong? {votes:?}");
        rows.iter().for_each(|row| drop(self.rows.take(row.range)));
        self.rows.put(row(report, author, Check::Settled));
        stored.claim != claim
    }

    /// Takes back what only these workers answer for. Returns it.
    fn withdraw(&mut self, wrong: &[String]) -> Vec<Row> {
        self.rows.check(|row| {
            let is_void = matches!(&row.check, Check::Confirmed(by) if wrong.contains(by));
            is_void.then_some(Check::Wanted)
        });
        let rows = &self.rows;
        let closed: Vec<Range> = self
            .disputes
            .extract_if(.., |&range, votes| {
                rows.overlapping(range).any(|row| wrong.contains(&row.worker))
                    || votes.iter().any(|vote| wrong.contains(&vote.worker))
            })
            .map(|(range, _)| range)
            .collect();
        let is_gone = |row: &&Row| {
            row.is_unconfirmed() && wrong.contains(&row.worker)
                || closed.iter().any(|range| range.intersect(row.range).is_some())
        };
        let gone: Vec<Range> = self.rows.iter().filter(is_gone).map(|row| row.range).collect();
        gone.into_iter().map(|range| self.rows.take(range)).collect()
    }

    fn finish(&mut self, tasks: u64, total: u128) {
        assert_eq!(tasks, self.ordinals.len(), "tasks of {}", self.plan);
        assert_eq!(self.rows.tasks, tasks, "done means covered exactly");
        assert_eq!(self.rows.total, total, "the total is the sum of the rows");
        assert!(self.disputes.is_empty(), "done while disputed: {:?}", self.disputes);
        assert_eq!(self.rows.wanted, 0, "done while audits are waited for");
        assert_ne!(self.state, JobState::Cancelled, "cancelled is final");
        self.state = JobState::Done;
    }

    fn restored(&self, id: JobId) -> RestoredJob {
        let disputes = self.disputes.iter().map(|(&range, votes)| {
            let rows = self.rows.tiles(range).expect("disputed rows stay as they are");
            let votes = std::iter::once(vote_of(&rows)).chain(votes.iter().cloned()).collect();
            RestoredDispute { range, votes, kernel: kernel_of(&rows) }
        });
        RestoredJob {
            id,
            plan: self.plan,
            slice: self.slice,
            priority: self.priority,
            thread_memory: thread_memory(&self.plan),
            state: self.state,
            accepted: self.rows.iter().map(|row| row.range).collect::<IntervalSet>(),
            total: self.rows.total,
            spent: Spent::new(self.plan.tasks),
            disputes: disputes.collect(),
            audit: self.policy,
            audits_wanted: self.rows.wanted,
            audits_agreed: self.rows.agreed,
        }
    }
}

/// A row as it was reported.
pub fn row(report: &Report, author: &Author, check: Check) -> Row {
    let Report { range, tally, kernel, .. } = *report;
    Row { range, tally, worker: author.worker.clone(), kernel, check }
}
