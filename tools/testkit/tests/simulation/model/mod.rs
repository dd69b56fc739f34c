//! The model checker: it watches all events and effects of the farm, and keeps its own state of
//! jobs.
//!
//! The state says what the farm's documentation promises, in a slow and obvious form: one entry for
//! each ordinal. It is restored from the durable state whenever the coordinator restarts.

mod answers;
mod leases;
mod records;
mod task_counts;

use std::collections::{BTreeMap, BTreeSet};

use farm::{
    Ack, Change, CoordinatorMessage, Dismissal, Distrusted, Effect, Event, Farm, Hello, JobId,
    JobState, LeaseId, LeaseKind, LedgerAnswer, LedgerCommand, Principal, Provenance, Range,
    Report, Request, RequestId, SessionId, WorkerMessage,
};

use crate::books::{Book, Held, Process, Seat, ordinals};
use crate::coverage::Coverage;
use crate::ledger::Ledger;
use crate::scenario::{ClientRequest, League};

#[derive(Default)]
pub struct Model {
    pub books: BTreeMap<JobId, Book>,
    pub seats: BTreeMap<SessionId, Seat>,
    /// The principals that may be proven wrong.
    league: League,
    /// The principals that were proven wrong.
    distrusted: Distrusted,
    /// All leases in all lives of the coordinator.
    leased: BTreeMap<LeaseId, Leased>,
    /// Whether nothing is ever lost.
    is_calm: bool,
    /// The jobs of which everything was counted or leased at some time.
    in_tail: BTreeSet<JobId>,
    /// The long tasks that were leased.
    long_leased: BTreeSet<(JobId, usize)>,
    /// The time that was passed to the farm, in ms.
    pub now: u64,
    /// Whether the end of a dispute is in the ledger's queue. What it invalidates is not known yet.
    settling: bool,
    /// The disputes that the last settlement ended. The farm stops their recounts.
    over: BTreeSet<(JobId, Range)>,
    /// Requests of clients that wait for an answer, with the job that they named.
    requests: BTreeMap<RequestId, (ClientRequest, Option<JobId>)>,
    /// The number of times that each state of a job was reported to a client.
    reported_states: BTreeMap<(JobId, &'static str), u64>,
    /// The number of the newest lease, in all lives of the coordinator.
    last_lease: u64,
    /// A process that crashed in this step, and its tasks.
    pub lost_now: Option<(Process, BTreeSet<(JobId, usize)>)>,
    /// Tasks that are failed in this step.
    pub failed_now: Vec<(JobId, u64)>,
    /// Whether the farm has decided about the report of this step.
    judged: bool,
}

/// A lease, as it was made.
struct Leased {
    owner: String,
    job: JobId,
    range: Range,
    kind: LeaseKind,
}

impl Model {
    pub fn new(league: League, is_calm: bool) -> Model {
        Model { league, is_calm, ..Model::default() }
    }

    /// Restarts the model with the next coordinator, at the time `now`.
    pub fn restart(&mut self, now: u64, ledger: &Ledger) {
        self.seats.clear();
        self.distrusted = ledger.distrusted().clone();
        self.now = now;
        self.settling = false;
        self.requests.clear();
        let jobs = ledger.snapshot().jobs.into_iter();
        self.books = jobs.map(|(id, job)| (id, Book::restored(&job))).collect();
    }

    pub fn asked(&mut self, request: RequestId, wanted: ClientRequest, job: Option<JobId>) {
        self.requests.insert(request, (wanted, job));
    }

    /// Checks an event before the farm gets it.
    pub fn event(&mut self, now: u64, event: &Event, coverage: &mut Coverage) {
        self.now = self.now.max(now);
        self.judged = !self.may_end_leases(event);
        match event {
            Event::Joined { session, owner, is_trusted, hello } => {
                self.joined(*session, (owner, *is_trusted), hello, coverage);
            }
            Event::Said(session, WorkerMessage::Credit(credit)) => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.credit = *credit;
                }
            }
            Event::Said(session, WorkerMessage::Draining) => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.draining = true;
                }
            }
            Event::Left(session) => self.lost(*session),
            Event::Said(session, WorkerMessage::Report(report)) if self.is_usable(event) => {
                self.renew(*session, report, coverage);
            }
            Event::Said(session, WorkerMessage::Working(lease)) => {
                if let Some(seat) = self.seats.get_mut(session)
                    && let Some(held) = seat.leases.get_mut(lease).filter(|held| held.whole)
                {
                    held.reported = true;
                }
            }
            _ => {}
        }
    }

    /// Checks all effects of a step, before any of them is carried out.
    pub fn step(
        &mut self,
        farm: &Farm,
        event: &Event,
        effects: &[Effect],
        coverage: &mut Coverage,
    ) {
        self.note_loss(effects, coverage);
        let is_decision = |effect: &Effect| {
            let Effect::Ledger(_, command) = effect else { return false };
            matches!(
                command,
                LedgerCommand::Dispute(..)
                    | LedgerCommand::Confirm(..)
                    | LedgerCommand::Settle { .. }
            )
        };
        if let Event::Ledger { command, answer: LedgerAnswer::Compared(found), .. } = event {
            let decided = effects.iter().any(is_decision);
            self.judged = !decided;
            let LedgerCommand::Compare(report, _) = command else { panic!("{command:?}") };
            let book = &self.books[&report.job];
            let live = book.state != JobState::Cancelled;
            let is_certain = !self.settling
                && !book.confirming.contains(&report.range)
                && book.has_claimed(report.range);
            let acked = effects
                .iter()
                .any(|effect| matches!(effect, Effect::Tell(_, CoordinatorMessage::Ack(_))));
            if live && !is_certain {
                coverage.doubts += 1;
                assert!(!decided && !acked, "its rows are changing: {report:?}, {effects:?}");
            } else if live
                && let Some(result) = found
                && *result != report.checked_count.result()
                && !book.is_frozen(report.range)
            {
                let is_contradiction = |effect: &Effect| matches!(effect, Effect::Contradicted(..));
                let reported = effects.iter().any(is_contradiction);
                let was_asked = report.token.kind == LeaseKind::Recount;
                assert!(
                    decided != reported,
                    "a conflict is either recorded or reported: {report:?}, {result:?}"
                );
                assert!(was_asked || !decided, "nobody asked: {report:?}");
                coverage.contradictions += u64::from(reported);
            }
        }
        self.learn_adopted(farm, event, coverage);
        self.check_dismissals(event, effects);
        self.check_failures(event, effects, coverage);
        let is_look_up = matches!(event, Event::Ledger { answer: LedgerAnswer::Compared(_), .. });
        if !is_look_up && !matches!(event, Event::Tick | Event::Said(_, WorkerMessage::Report(_))) {
            for view in farm.jobs(.., |_| true) {
                let rows = &self.books[&view.id].rows;
                assert_eq!(view.tasks_done, rows.tasks, "tasks done of job {}", view.id);
                assert_eq!(view.counted, rows.total, "running total of job {}", view.id);
                let audits = (view.audits_wanted, view.audits_agreed);
                assert_eq!(audits, (rows.wanted, rows.agreed), "audits of job {}", view.id);
                self.check_failed_tasks(&view);
            }
        }
    }

    /// Checks that a principal that was proven wrong is dismissed at once, and whenever it connects
    /// again.
    fn check_dismissals(&self, event: &Event, effects: &[Effect]) {
        let is_dismissed = |who: SessionId| {
            let reason = Dismissal::Distrusted;
            effects.contains(&Effect::Dismiss(who, reason))
        };
        let unproven = |session| effects.contains(&Effect::Dismiss(session, Dismissal::Unproven));
        if let Event::Joined { session, owner, hello, .. } = event {
            let principal = Principal { owner: owner.clone(), machine: hello.machine.clone() };
            let is_honest = self.has_leased_all(owner, hello);
            let known = self.distrusted.includes(&principal);
            assert_eq!(is_dismissed(*session), is_honest && known, "{principal}");
            assert_eq!(unproven(*session), !is_honest, "{principal}");
        }
        if let Event::Said(session, WorkerMessage::Report(_)) = event
            && self.seats.contains_key(session)
        {
            assert_eq!(unproven(*session), !self.is_proven(event), "{event:?}");
        }
        for effect in effects {
            let Effect::Ledger(_, LedgerCommand::Settle { wrong, .. }) = effect else {
                continue;
            };
            for (&session, seat) in &self.seats {
                let principal = &seat.provenance.principal;
                let is_wrong = wrong.iter().any(|party| party.includes(principal));
                assert_eq!(is_dismissed(session), is_wrong, "{principal}");
            }
        }
    }

    /// Checks one effect as it is carried out.
    pub fn effect(
        &mut self,
        event: &Event,
        effect: &Effect,
        ledger: &Ledger,
        coverage: &mut Coverage,
    ) {
        self.judged |= !matches!(effect, Effect::Tell(_, CoordinatorMessage::Revoke(_)));
        match effect {
            Effect::Tell(session, CoordinatorMessage::Lease(lease)) => {
                self.assign(*session, lease, ledger, coverage)
            }
            Effect::Tell(session, CoordinatorMessage::Revoke(lease)) => {
                let seat = self.seats.get_mut(session).expect("only sessions that are there");
                let Some(held) = seat.leases.get(lease) else { return };
                let expired = match event {
                    Event::Asked(_, _, Request::Change(job, Change::Pause | Change::Cancel)) => {
                        *job != held.job
                    }
                    // The request ends only recounts of its job, and only if it withdraws the
                    // audits.
                    Event::Asked(_, _, Request::Change(job, Change::Audit { policy, .. })) => {
                        *job != held.job || !held.whole || !policy.is_none()
                    }
                    // The answer ends only the recounts of its job, and only if the ledger wants
                    // none.
                    Event::Ledger {
                        command: LedgerCommand::Change { job, .. },
                        answer: LedgerAnswer::AuditNoted { wanted: 0, .. },
                        ..
                    } => *job != held.job || !held.whole,
                    Event::Said(_, WorkerMessage::Report(_))
                    | Event::Ledger { answer: LedgerAnswer::Compared(_), .. } => self.judged,
                    Event::Ledger { answer: LedgerAnswer::Settled(..), .. } if held.whole => {
                        let is_over = self.over.contains(&(held.job, held.hull));
                        !is_over && self.books[&held.job].wants_again(held.hull)
                    }
                    _ => true,
                };
                if expired {
                    coverage.expiries += 1;
                    seat.late |= !held.reported;
                }
                self.end_lease(*session, *lease);
            }
            Effect::Tell(_, CoordinatorMessage::Ack(Ack { job, range, verdict, .. })) => {
                self.ack(event, *job, *range, *verdict, ledger, coverage);
            }
            Effect::Tell(_, order) => panic!("the farm does not say this: {order:?}"),
            Effect::Dismiss(session, Dismissal::Replaced) => {
                coverage.dismissals += 1;
                assert!(!self.seats.contains_key(session), "{session} was not replaced");
            }
            Effect::Dismiss(session, Dismissal::Unproven) => {
                coverage.unproven += 1;
                self.left(*session);
            }
            Effect::Dismiss(session, Dismissal::Distrusted) => self.left(*session),
            Effect::Ledger(_, command) => self.command(event, command, coverage),
            Effect::Reply(request, answer) => {
                self.reply(*request, answer.as_ref().map_err(|refusal| *refusal), ledger, coverage);
            }
            Effect::RangeFailed { .. } => {} // checked in `check_failures`
            Effect::Lost { .. } => {}        // for operators
            Effect::Contradicted(..) => {}   // checked in `step`
            Effect::AtRest(job) => {
                let states = (self.books[job].state, ledger.state(*job));
                let is_durable = states.0 != JobState::Cancelled || states.0 == states.1;
                assert!(states.0.is_at_rest() && is_durable, "job {job} is {states:?}");
            }
        }
    }

    /// Checks after a step that no worker is idle while there is work for it.
    pub fn check_idle(&self) {
        let waiting = self.books.iter().find(|(_, book)| book.waits()).map(|(job, _)| job);
        let is_idle = |seat: &Seat| !seat.late && seat.is_idle();
        let idle = self.seats.iter().find(|(_, seat)| is_idle(seat)).map(|(session, _)| session);
        if let (Some(job), Some(session)) = (waiting, idle) {
            panic!("session {session} idles, job {job} waits");
        }
    }

    /// Checks at the end of the world that nothing is left.
    pub fn end(&self) {
        for (id, book) in &self.books {
            let held = book.holder.iter().flatten().next();
            assert!(held.is_none(), "job {id}: a lease remains: {held:?}");
            assert!(book.disputes.is_empty() || book.state != JobState::Done);
        }
    }

    /// Whether the report's range was leased to its owner.
    fn is_proven(&self, event: &Event) -> bool {
        let Event::Said(session, WorkerMessage::Report(report)) = event else {
            return false;
        };
        let Some(seat) = self.seats.get(session) else { return false };
        let Report { lease, job, fingerprint, range, token, .. } = report;
        self.leased.get(lease).is_some_and(|leased| {
            let is_known = leased.owner == seat.provenance.principal.owner && leased.job == *job;
            let is_whole = (leased.range, leased.kind) == (token.range, token.kind);
            let is_of_plan =
                self.books.get(job).is_none_or(|book| book.fingerprint == *fingerprint);
            is_known && is_whole && is_of_plan && leased.range.intersect(*range) == Some(*range)
        })
    }

    /// Whether all that a worker says it holds was leased to its owner.
    fn has_leased_all(&self, owner: &str, hello: &Hello) -> bool {
        hello.holding.iter().all(|holding| {
            self.leased.get(&holding.lease).is_some_and(|leased| {
                let is_part = leased.range.intersect(holding.range) == Some(holding.range);
                leased.owner == owner && leased.job == holding.job && is_part
            })
        })
    }

    fn is_usable(&self, event: &Event) -> bool {
        let Event::Said(session, WorkerMessage::Report(report)) = event else {
            return false;
        };
        if !self.is_proven(event) {
            return false;
        }
        let book = self.books.get(&report.job).filter(|_| self.seats.contains_key(session));
        book.is_some_and(|book| {
            book.fingerprint == report.fingerprint
                && book.ordinals.contains(report.range)
                && report.checked_count.is_sound()
        })
    }

    /// Whether a report may take ordinals from leases. A vote in a dispute does not.
    fn may_end_leases(&self, event: &Event) -> bool {
        let Event::Said(_, WorkerMessage::Report(report)) = event else {
            return false;
        };
        self.is_usable(event) && !self.books[&report.job].disputes.contains_key(&report.range)
    }

    pub fn book(&mut self, job: JobId) -> &mut Book {
        self.books.get_mut(&job).expect("only jobs that are durable")
    }

    fn joined(
        &mut self,
        id: SessionId,
        (owner, is_trusted): (&str, bool),
        hello: &Hello,
        coverage: &mut Coverage,
    ) {
        if !self.has_leased_all(owner, hello) {
            return;
        }
        let process = (owner.to_string(), hello.instance);
        self.books.values_mut().for_each(|book| book.came_back(&process, coverage));
        let same = |seat: &Seat| seat.process() == process;
        let earlier = self.seats.iter().find(|(_, seat)| same(seat)).map(|(&id, _)| id);
        earlier.into_iter().for_each(|earlier| self.left(earlier));
        let principal = Principal { owner: owner.into(), machine: hello.machine.clone() };
        if self.distrusted.includes(&principal) {
            return;
        }
        let (worker, build) = (hello.worker.clone(), hello.build.clone());
        let seat = Seat {
            provenance: Provenance { principal, worker, build },
            is_trusted,
            instance: hello.instance,
            credit: hello.credit,
            draining: false,
            outstanding: 0,
            leases: BTreeMap::new(),
            late: false,
        };
        self.seats.insert(id, seat);
    }

    /// Learns from the farm which tasks a worker keeps. The model does not compute this, because it
    /// depends on deadlines and credit. The tasks must have been leased to that worker, and no
    /// other worker may have them.
    fn learn_adopted(&mut self, farm: &Farm, event: &Event, coverage: &mut Coverage) {
        let Event::Joined { session, hello, .. } = event else { return };
        let Some(seat) = self.seats.get_mut(session) else { return };
        let held = |lease| hello.holding.iter().filter(move |holding| holding.lease == lease);
        for (lease, job, open) in farm.leased_to(*session) {
            if held(lease).next().is_none() {
                continue; // It has just been leased.
            }
            coverage.adoptions += 1;
            let book = self.books.get_mut(&job).expect("a job that is durable");
            assert_eq!(book.state, JobState::Running, "adopted of job {job}");
            for range in open.iter() {
                for ordinal in ordinals(range) {
                    let is_held = held(lease)
                        .any(|of| of.job == job && ordinals(of.range).contains(&ordinal));
                    assert!(is_held, "{ordinal} of job {job} was not held");
                    assert!(!book.claimed[ordinal], "{ordinal} was counted already");
                    assert_eq!(
                        book.holder[ordinal].replace(lease),
                        None,
                        "{ordinal} is leased twice"
                    );
                }
                book.free -= range.len();
            }
            let whole = open.iter().reduce(Range::hull).expect("a lease is not empty");
            let (hull, open) = (whole, open.len());
            seat.outstanding += open;
            let held = Held { job, hull, whole: false, open, reported: false };
            seat.leases.insert(lease, held);
        }
        assert!(seat.outstanding <= seat.credit, "more is adopted than the credit allows");
    }

    pub fn left(&mut self, id: SessionId) {
        let Some(seat) = self.seats.get(&id) else { return };
        for lease in seat.leases.keys().copied().collect::<Vec<_>>() {
            self.end_lease(id, lease);
        }
        self.seats.remove(&id);
    }

    fn end_lease(&mut self, session: SessionId, lease: LeaseId) {
        let seat = self.seats.get_mut(&session).expect("a lease of a session that is there");
        let Some(held) = seat.leases.remove(&lease) else { return };
        seat.outstanding -= held.open;
        if held.whole {
            self.book(held.job).recounts.retain(|_, holder| *holder != lease);
        } else {
            let freed = self.book(held.job).free(held.hull, Some(lease)).len() as u64;
            assert_eq!(freed, held.open, "lease {lease}");
        }
    }

    /// Renews the lease of a report, if the report has an expected task. The worker is no longer
    /// late then, nor if none of the reported tasks was counted before. A recount comes back as a
    /// whole, and its lease ends.
    fn renew(&mut self, session: SessionId, report: &Report, coverage: &mut Coverage) {
        let Some(seat) = self.seats.get_mut(&session) else { return };
        let book = &self.books[&report.job];
        if ordinals(report.range).all(|ordinal| !book.claimed[ordinal]) {
            seat.late = false;
        }
        let Some(held) = seat.leases.get_mut(&report.lease) else { return };
        let mut reported = ordinals(report.range);
        if !held.whole && !reported.any(|ordinal| book.expects(ordinal, report.lease)) {
            coverage.no_news += 1;
            return;
        }
        (held.reported, seat.late) = (true, false);
        if held.whole {
            let row = self.books[&report.job].unaudited(report.range);
            coverage.repetitions += u64::from(row.is_some_and(|row| row.kernel == report.kernel));
            self.end_lease(session, report.lease);
        }
    }
}
