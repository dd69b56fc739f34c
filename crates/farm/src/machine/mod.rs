//! The farm core: one value, one `step`.
//!
//! Invariants, asserted here in production builds too:
//! - accepted ranges are disjoint, and every ordinal is free, leased, accepted or failed
//!   ([`crate::job`]);
//! - the total is a checked sum that changes only when the ledger says a record is durable;
//! - nothing is acknowledged as accepted before it is durable;
//! - done means every ordinal accepted, nothing disputed and no audit waited for, checked again by
//!   the ledger; no settlement under way that could take rows back; and a total that contradicts
//!   nothing known.

mod attempts;
mod audits;
mod clients;
mod leasing;
mod overview;
mod owners;
mod restore;
mod results;
mod sessions;
mod trust;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeBounds;

pub use restore::{Restored, RestoredJob, StoredJob};

use self::attempts::Loss;
use self::owners::Turns;
use crate::account::Account;
use crate::job::Job;
use crate::lease::{LeaseTime, Leases};
use crate::session::{Process, Session};
use crate::{
    Asker, AuditPolicy, Config, CoordinatorMessage, Distrusted, Effect, Event, IntervalSet, JobId,
    JobState, JobView, LeaseId, LeaseKey, LedgerAnswer, LedgerCommand, Milestone, Millis, Origin,
    Pace, Party, RequestId, SessionId, Stats, Verdict, WorkerMessage, WorkerView, answer,
};

/// The state of a farm. See the crate's documentation.
#[derive(Clone, Debug)]
pub struct Farm {
    config: Config,
    key: LeaseKey,
    now: Millis,
    /// For how long any job had a lease, milliseconds.
    served_ms: u64,
    /// When the ledger last answered: Unix milliseconds, for people.
    unix_ms: i64,
    /// Until this time, leases of earlier lives of the coordinator may be taken up again.
    adopts_until: Millis,
    /// How often workers are to report.
    pace: Pace,
    /// Until this time, nothing is leased from the pools: see [`Config::grace_ms`].
    lease_from: Millis,
    epoch: u64,
    jobs: BTreeMap<JobId, Job>,
    /// The jobs that have a key, those on their way into the ledger included.
    keys: BTreeMap<Origin, JobId>,
    /// Running jobs, and those that are done and audited.
    queue: Turns,
    /// The owners of jobs, those of removed ones included.
    accounts: BTreeMap<String, Account>,
    sessions: BTreeMap<SessionId, Session>,
    /// The session of each connected process.
    processes: BTreeMap<Process, SessionId>,
    /// Processes that are leased nothing more because a client asked for it. It is not durable.
    drained: BTreeSet<Process>,
    /// Sessions that have room, and for which the farm still has to look through all jobs for work.
    idle: BTreeSet<SessionId>,
    /// Sessions that have room, and for which there was no work in any job. The farm looks again
    /// once something new can be leased.
    refused: BTreeSet<SessionId>,
    /// Times at which more may be leased even if no event comes: the grace after a restart ends,
    /// the rest of a session that missed a deadline ends, or a party that kept a recount too long
    /// may be leased it again.
    wakeups: BTreeSet<Millis>,
    leases: Leases,
    distrusted: Distrusted,
    /// Processes that were lost, the oldest first. It is not durable.
    losses: VecDeque<Loss>,
    /// Ends of disputes and decisions about trust on their way into the ledger. Which rows they
    /// leave is known only when they are durable: until then no report about covered ranges is
    /// answered, and no job ends.
    settling: usize,
    /// Jobs on their way into the ledger.
    coming: BTreeMap<JobId, Job>,
    /// Submissions that are not answered, with their jobs.
    submissions: Vec<(RequestId, Vec<JobId>)>,
    /// Jobs that the ledger removes, as they were.
    removing: BTreeMap<JobId, Box<JobView>>,
    next_job: u64,
    /// The jobs that proved somebody wrong.
    proofs: BTreeSet<JobId>,
    next_lease: u64,
    stats: Stats,
    /// The placements of each job that became durable since [`Farm::take_progress`] was called
    /// last.
    progressed: BTreeMap<JobId, f64>,
    effects: Vec<Effect>,
}

/// A job that must exist. It does, because a job is not removed while something of it is leased or
/// on its way into the ledger.
fn existing(jobs: &mut BTreeMap<JobId, Job>, id: JobId) -> &mut Job {
    jobs.get_mut(&id).expect("callers name jobs that exist")
}

impl Farm {
    /// Takes in one event and returns what is to be done about it, in order.
    ///
    /// `now` may stand still; if it goes back, it is taken to stand still. Panics if an invariant
    /// is broken: going on could falsify a count.
    pub fn step(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        if self.leases.jobs().next().is_some() {
            self.served_ms += now.0.saturating_sub(self.now.0);
        }
        self.now = self.now.max(now);
        match event {
            Event::Joined { session, owner, is_trusted, hello } => {
                self.joined(session, Session::new(owner, is_trusted, &hello, self.now), &hello);
            }
            Event::Said(session, message) => self.said(session, message),
            Event::Left(session) => self.lost(session),
            Event::Asked(request, by, ask) => self.asked(request, by, ask),
            Event::Ledger { asker, command, answer, at_ms } => {
                self.unix_ms = at_ms;
                self.answered(asker, command, answer);
            }
            Event::Tick => {}
        }
        self.expire();
        self.serve_idle();
        std::mem::take(&mut self.effects)
    }

    fn said(&mut self, session: SessionId, message: WorkerMessage) {
        match message {
            WorkerMessage::Credit(credit) => self.credit_changed(session, credit),
            WorkerMessage::Report(report) => self.reported(session, report),
            WorkerMessage::Working(lease) => self.working(session, lease),
            WorkerMessage::Draining => self.draining(session),
            // It has begun its session already.
            WorkerMessage::Hello(_) => {}
        }
    }

    /// When to send [`Event::Tick`] if nothing else happens before.
    pub fn next_wakeup(&self) -> Option<Millis> {
        let is_idle = !self.idle.is_empty() || !self.refused.is_empty();
        let jobs = self.leasable().filter(|_| is_idle);
        let late = jobs.filter_map(|job| self.jobs[&job].next_late(self.now));
        let wakeup = self.wakeups.first().copied().filter(|_| is_idle);
        wakeup.into_iter().chain(late).chain(self.leases.next_deadline()).min()
    }

    /// For how long nothing is leased from the pools, ms, because workers that still hold ranges
    /// may come back first: see [`Config::grace_ms`].
    pub fn leases_in_ms(&self) -> u64 {
        self.lease_from.0.saturating_sub(self.now.0)
    }

    /// How often workers are to report now.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// One job, as clients see it.
    pub fn job(&self, id: JobId) -> Option<JobView> {
        Some(self.view(id, self.jobs.get(&id)?))
    }

    /// The numbers of all jobs that were not removed.
    pub fn job_ids(&self) -> impl Iterator<Item = JobId> {
        self.jobs.keys().copied()
    }

    /// The jobs of these numbers that are in a wanted state, the oldest first.
    pub fn jobs(
        &self,
        numbers: impl RangeBounds<JobId>,
        is_wanted: impl Fn(JobState) -> bool,
    ) -> impl DoubleEndedIterator<Item = JobView> {
        let jobs = self.jobs.range(numbers).filter(move |(_, job)| is_wanted(job.stage.state()));
        jobs.map(move |(&id, job)| self.view(id, job))
    }

    /// What is leased to a session: each lease with its job and the ordinals that are still
    /// expected.
    pub fn leased_to(
        &self,
        session: SessionId,
    ) -> impl Iterator<Item = (LeaseId, JobId, &IntervalSet)> + '_ {
        let leases = self.sessions.get(&session).into_iter().flat_map(|session| &session.leases);
        leases.filter_map(|&id| self.leases.get(id).map(|lease| (id, lease.job, &lease.open)))
    }

    /// All connected workers.
    pub fn worker_views(&self) -> impl Iterator<Item = WorkerView> + '_ {
        self.sessions.iter().map(|(&id, session)| {
            session.view(
                session.held().map(|(job, _)| self.jobs[&job].costs.speed_of(id).rate()).sum(),
            )
        })
    }

    /// Parties that are distrusted.
    pub fn distrusted(&self) -> impl Iterator<Item = &Party> {
        self.distrusted.0.iter()
    }

    /// The sessions of workers that know the method of a job.
    fn able(&self, job: &Job) -> impl Iterator<Item = &Session> + Clone {
        let method = job.spec.plan.method;
        self.sessions.values().filter(move |session| session.may_count(method))
    }

    fn view(&self, id: JobId, job: &Job) -> JobView {
        let threads = |session| self.sessions[&session].threads();
        let holders = self.leases.holders(id);
        let workers: Vec<(SessionId, u32)> = holders.map(|id| (id, threads(id))).collect();
        let state = job.stage.state();
        let failed = job.failed.iter().flat_map(|range| range.start()..range.end());
        let view = JobView {
            id,
            spec: job.spec.clone(),
            state,
            tasks_done: job.tasks_done,
            counted: job.total,
            total: (state == JobState::Done && job.spec.shard.is_all())
                .then(|| answer(job.spec.plan.problem, job.total))
                .flatten(),
            workers: workers.len(),
            able_workers: if job.is_served() { self.able(job).count() } else { 0 },
            us_left: if state.is_over() { None } else { job.us_left(&workers) },
            rate: job.rate_with(&workers),
            threads: workers.iter().fold(0, |sum, &(_, threads)| sum.saturating_add(threads)),
            disputes: job.disputes.len(),
            disputed: job.disputes.iter().next().map(|(&range, dispute)| dispute.sentence(range)),
            audit: job.policy.map(|policy| AuditPolicy { seed: 0, ..policy }),
            suspended: job.stage.suspended().map(Into::into),
            audits_wanted: job.audits.wanted,
            audits_agreed: job.audits.agreed,
            audits_stranded: if job.is_served() && job.audits.wanted > 0 {
                let stranded = job.audits.stranded(self.able(job), job.across());
                stranded.map(|ranges| ranges.values().sum())
            } else {
                Some(0)
            },
            failed: job.failed.len(),
            failed_first: failed.take(JobView::FAILED_NAMED).collect(),
            times: job.times,
            hours: job.hours,
            waits_for: None,
            awaits_turn: false,
        };
        match self.waits_for(&view) {
            None if job.is_served() && view.workers == 0 => {
                let waits_for = self.served_before(&view);
                JobView { awaits_turn: waits_for.is_some(), waits_for, ..view }
            }
            waits_for => JobView { waits_for, ..view },
        }
    }

    fn tell(&mut self, session: SessionId, order: CoordinatorMessage) {
        self.effects.push(Effect::Tell(session, order));
    }

    fn command(&mut self, asker: Asker, command: LedgerCommand) {
        if let Some(job) = command.job().and_then(|id| self.jobs.get_mut(&id)) {
            job.unanswered += 1;
        }
        self.effects.push(Effect::Ledger(asker, command));
    }

    fn lease_id(&mut self) -> LeaseId {
        self.next_lease += 1;
        assert!(self.next_lease < 1 << 40, "a coordinator leases fewer than 2^40 times");
        LeaseId(self.epoch << 40 | self.next_lease)
    }

    /// For how long a session may take up a lease that no session has. An orphaned lease keeps its
    /// deadline. A lease of another life of the coordinator is not known any more. It gets the time
    /// of a new lease, but only in a period after the restart. Usually the other life is an earlier
    /// one. It is a later one if the ledger was restored from a copy.
    fn adoption_term(&self, id: SessionId, lease: LeaseId, job: JobId) -> Option<LeaseTime> {
        let is_of_another = lease.epoch() != self.epoch && self.now < self.adopts_until;
        let ttl_ms = self.ttl_ms(id, job);
        let another = LeaseTime::of_count(self.now, ttl_ms, None);
        let orphaned = self.leases.orphans.get(&lease).copied();
        orphaned.or(is_of_another.then_some(another)).filter(|term| term.deadline > self.now)
    }

    fn answered(&mut self, asker: Asker, command: LedgerCommand, answer: LedgerAnswer) {
        use Asker::{Client, Farm, Session};
        use LedgerAnswer::{AuditNoted, AuditsFound, Compared, Settled, Written};
        use LedgerCommand::*;
        if let Some(job) = command.job().and_then(|id| self.jobs.get_mut(&id)) {
            job.unanswered -= 1;
            if let AuditNoted { wanted, agreed } = answer {
                job.audits.asked -= 1;
                job.audits.forget(wanted, agreed);
            }
        }
        match (asker, command, answer) {
            (_, CreateJob { job, .. }, Written) => self.job_written(job),
            (_, Finish { job, .. }, Written) => self.finish_written(job),
            (Farm, NoteBegun(job), Written) => self.reached(job, Milestone::Begun),
            (Farm, NoteWaited(job, ms), Written) => {
                existing(&mut self.jobs, job).times.note_wait(ms);
            }
            (Farm, NoteCounted(job), Written) => self.reached(job, Milestone::Counted),
            (_, FindAudits { job, .. }, AuditsFound(rows)) => self.audits_found(job, rows),
            (Client(request), Change { job, change, .. }, Written) => {
                self.change_written(request, job, change);
            }
            (Client(request), Change { job, .. }, AuditNoted { .. }) => {
                self.audit_noted(request, job);
            }
            (Client(request), Trust { party, trusted, .. }, Settled(withdrawn)) => {
                self.trust_written(request, &party, trusted, &withdrawn);
            }
            (Client(request), Remove(job), Written) => self.removed(request, job),
            (Session(session), Accept { report, provenance, audit }, Written) => {
                self.range_written(session, report, provenance, audit);
            }
            (Session(session), Compare(report, provenance), Compared(found)) => {
                self.compared(session, provenance, report, found);
            }
            (Session(session), Confirm(report, _), Written) => {
                self.confirm_written(session, report)
            }
            (Session(session), Dispute(report, _), Written) => {
                self.dispute_written(session, report)
            }
            (Session(session), Doubt(report, _), AuditNoted { .. }) => {
                self.ack(session, &report, Verdict::Superseded);
                self.find_audits(report.job);
                self.finish_if_covered(report.job);
            }
            (Session(session), Settle { report, .. }, Settled(withdrawn)) => {
                self.settled(session, report, &withdrawn);
            }
            (asker, command, answer) => {
                panic!("the ledger answered {asker:?} with {answer:?}, and was asked {command:?}")
            }
        }
    }

    /// Brings `queue` up to date after a change of a job's state.
    fn requeue(&mut self, id: JobId) {
        let job = &self.jobs[&id];
        let (priority, owner) = (job.spec.priority, &job.spec.origin.owner);
        if job.is_served() {
            self.queue.insert(priority, owner, id, job.work_left(), self.next_lease);
            self.idle.append(&mut self.refused);
        } else {
            self.queue.remove(priority, owner, id);
        }
    }
}
