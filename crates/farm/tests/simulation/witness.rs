//! Watches everything that goes into the farm and comes out of it, and keeps its own books.
//!
//! The books say what the farm's documentation promises, kept the slow and obvious way: one entry
//! per ordinal. They are begun anew whenever the coordinator is, from what was durable.

use std::collections::{BTreeMap, BTreeSet};

use farm::{
    Effect, Event, Farm, Found, Hello, JobId, JobState, LeaseId, Loan, Range, Record, Refusal,
    Report, RequestId, SessionId, Ticket, Verdict,
};

use crate::books::{Book, Held, Seat, hull, lone_counter, ordinals};
use crate::ledger::{Answer, Ledger};
use crate::scenario::Wish;
use crate::tally::Tally;

#[derive(Default)]
pub struct Witness {
    books: BTreeMap<JobId, Book>,
    seats: BTreeMap<SessionId, Seat>,
    /// Reports of which the ledger is asked, and whose they are.
    compares: BTreeMap<Ticket, (Report, String)>,
    /// Questions of clients that wait, with the job that they named.
    requests: BTreeMap<RequestId, (Wish, Option<JobId>)>,
    /// How often a client was told that a job is in a state.
    told_states: BTreeMap<(JobId, &'static str), u64>,
    /// The number of the newest lease, in all lives of the coordinator.
    last_lease: u64,
    /// The farm has decided what becomes of the report of this step.
    judged: bool,
}

impl Witness {
    /// The coordinator died; these are the books of the next one.
    pub fn restart(&mut self, ledger: &Ledger) {
        self.seats.clear();
        self.compares.clear();
        self.requests.clear();
        self.books = ledger.jobs.iter().map(|(&id, job)| (id, Book::restored(job))).collect();
    }

    pub fn asked(&mut self, request: RequestId, wish: Wish, job: Option<JobId>) {
        self.requests.insert(request, (wish, job));
    }

    /// Before the farm sees it.
    pub fn event(&mut self, event: &Event, tally: &mut Tally) {
        self.judged = !self.may_end_leases(event);
        match event {
            Event::Joined { session, hello } => self.joined(*session, hello, tally),
            Event::CreditChanged { session, credit } => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.credit = *credit;
                }
            }
            Event::Declined { session, lease } => {
                if let Some(seat) = self.seats.get_mut(session)
                    && let Some(held) = seat.leases.get(lease)
                {
                    tally.declined += 1;
                    seat.declined.insert(held.job);
                }
            }
            Event::Leaving { session } => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.leaving = true;
                }
            }
            Event::Left { session } => self.left(*session),
            Event::Reported { session, report } => {
                self.seats.entry(*session).and_modify(|seat| seat.late = false);
                if self.is_usable(event) {
                    self.renew(*session, report);
                }
            }
            _ => {}
        }
    }

    /// What the farm is told about its ledger.
    pub fn told(&mut self, answer: &Answer) {
        let Answer::Written { record, total, tasks } = answer else { return };
        let id = match record {
            Record::Job { job, plan, priority } => {
                self.books.insert(*job, Book::new(plan, *priority));
                return;
            }
            Record::State { .. } => return,
            Record::Done { job, .. } => {
                let book = self.book(*job);
                if book.disputes.is_empty() {
                    book.state = JobState::Done;
                }
                return;
            }
            Record::Range { report, .. }
            | Record::Dispute { report, .. }
            | Record::Settle { report, .. } => report.job,
        };
        let book = self.book(id);
        book.total += total;
        book.tasks_done += tasks;
        if let Record::Settle { report, .. } = record {
            book.disputes.remove(&report.range);
        }
    }

    /// All that one step wants, before any of it is done.
    pub fn step(&self, farm: &Farm, event: &Event, effects: &[Effect]) {
        if let Event::Compared { ticket, found: Found::Exactly { count, .. } } = event {
            let (report, _) = &self.compares[ticket];
            let book = &self.books[&report.job];
            let mut disputed = book.disputes.keys();
            let frozen = disputed.any(|range| range.intersect(report.range).is_some());
            let is_dispute =
                |e: &Effect| matches!(e, Effect::Write { record: Record::Dispute { .. }, .. });
            let conflict = *count != report.count.into() && book.state != JobState::Cancelled;
            if conflict && !frozen {
                assert!(effects.iter().any(is_dispute), "a conflict is kept: {report:?}, {count}");
            }
        }
        if let Event::Written { .. } | Event::Joined { .. } = event {
            for view in farm.jobs() {
                let book = &self.books[&view.id];
                assert_eq!(view.tasks_done, book.tasks_done, "tasks done of job {}", view.id);
                assert_eq!(view.total as i128, book.total, "running total of job {}", view.id);
                assert!(view.tasks_done <= view.plan.tasks, "{view:?}");
            }
        }
    }

    /// One effect, as it is carried out.
    pub fn effect(&mut self, event: &Event, effect: &Effect, ledger: &Ledger, tally: &mut Tally) {
        self.judged |= !matches!(effect, Effect::Revoke { .. });
        match effect {
            Effect::Lend { session, loan } => self.lend(*session, loan, ledger),
            Effect::Revoke { session, lease } => {
                let seat = self.seats.get_mut(session).expect("only sessions that are there");
                let Some(held) = seat.leases.get(lease) else { return };
                let expired = match event {
                    Event::Paused { job, .. } | Event::Cancelled { job, .. } => *job != held.job,
                    Event::Reported { .. } => self.judged,
                    Event::Declined { lease: declined, .. } => declined != lease,
                    Event::Written { .. } if held.whole => {
                        self.books[&held.job].disputes.contains_key(&held.hull)
                    }
                    _ => true,
                };
                if expired {
                    tally.expiries += 1;
                    seat.late |= !held.reported;
                }
                self.end_lease(*session, *lease);
            }
            Effect::Ack { job, range, verdict, .. } => {
                self.ack(event, *job, *range, *verdict, ledger, tally);
            }
            Effect::Dismiss { session } => {
                tally.dismissals += 1;
                assert!(!self.seats.contains_key(session), "{session} was not replaced");
            }
            Effect::Write { record, .. } => self.write(event, record, ledger),
            Effect::Compare { ticket, job, range } => {
                let Event::Reported { session, report } = event else { panic!("{effect:?}: why?") };
                assert_eq!((report.job, report.range), (*job, *range));
                let worker = self.seats[session].worker.clone();
                self.compares.insert(*ticket, (*report, worker));
            }
            Effect::Reply { request, answer } => self.reply(*request, *answer, ledger),
            Effect::Finished { job } => {
                let state = ledger.jobs[job].state;
                assert!(
                    matches!(state, JobState::Done | JobState::Cancelled),
                    "job {job} is {state} in the ledger"
                );
            }
        }
    }

    /// After a step: no worker stands idle while there is work for it.
    pub fn check_idle(&self) {
        let works = |book: &Book| book.state == JobState::Running && book.free > 0;
        for (&job, book) in self.books.iter().filter(|(_, book)| works(book)) {
            let mut seats = self.seats.iter();
            let waiting = seats.find(|(_, seat)| seat.is_ready_for(job, book));
            let idle = waiting.map(|(session, _)| session);
            assert!(idle.is_none(), "session {idle:?} idles, job {job} waits");
        }
    }

    /// The world is over: nothing may be left.
    pub fn end(&self) {
        for (id, book) in &self.books {
            let held = book.holder.iter().flatten().next();
            assert!(held.is_none(), "job {id}: a lease remains: {held:?}");
            assert!(book.disputes.is_empty() || book.state != JobState::Done);
        }
    }

    fn is_usable(&self, event: &Event) -> bool {
        let Event::Reported { session, report } = event else { return false };
        let book = self.books.get(&report.job).filter(|_| self.seats.contains_key(session));
        book.is_some_and(|book| {
            book.fingerprint == report.fingerprint
                && report.range.end() <= book.claimed.len() as u64
        })
    }

    /// Whether a report may take ordinals from leases: a vote in a dispute does not.
    fn may_end_leases(&self, event: &Event) -> bool {
        let Event::Reported { report, .. } = event else { return false };
        self.is_usable(event) && !self.books[&report.job].disputes.contains_key(&report.range)
    }

    fn book(&mut self, job: JobId) -> &mut Book {
        self.books.get_mut(&job).expect("only jobs that are durable")
    }

    fn joined(&mut self, id: SessionId, hello: &Hello, tally: &mut Tally) {
        let same = |seat: &Seat| seat.instance == hello.instance;
        let earlier = self.seats.iter().find(|(_, seat)| same(seat)).map(|(&id, _)| id);
        earlier.into_iter().for_each(|earlier| self.left(earlier));
        let mut seat = Seat {
            worker: hello.worker.clone(),
            instance: hello.instance,
            memory: hello.memory,
            declined: BTreeSet::new(),
            credit: hello.credit,
            leaving: false,
            outstanding: 0,
            leases: BTreeMap::new(),
            late: false,
        };
        // Everything that it still holds and nobody else has, it keeps.
        for holding in &hello.holding {
            let Some(book) = self.books.get_mut(&holding.job) else { continue };
            let known = holding.lease.0 <= self.last_lease;
            let elsewhere = |seat: &Seat| seat.leases.contains_key(&holding.lease);
            if book.state != JobState::Running || !known || self.seats.values().any(elsewhere) {
                continue;
            }
            let mut adopted = 0;
            for ordinal in ordinals(holding.range) {
                if !book.claimed[ordinal] && book.holder[ordinal].is_none() {
                    book.holder[ordinal] = Some(holding.lease);
                    book.free -= 1;
                    adopted += 1;
                }
            }
            if adopted > 0 {
                tally.adoptions += 1;
                seat.outstanding += adopted;
                let held = seat.leases.entry(holding.lease).or_insert(Held {
                    job: holding.job,
                    hull: holding.range,
                    whole: false,
                    open: 0,
                    reported: false,
                });
                held.hull = hull(held.hull, holding.range);
                held.open += adopted;
            }
        }
        self.seats.insert(id, seat);
    }

    fn left(&mut self, id: SessionId) {
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
        if !held.whole {
            let freed = self.book(held.job).free(held.hull, Some(lease)).len() as u64;
            assert_eq!(freed, held.open, "lease {lease}");
        }
    }

    /// A report renews its lease. A recount comes back as a whole, and is over.
    fn renew(&mut self, session: SessionId, report: &Report) {
        let seat = self.seats.get_mut(&session);
        let Some(held) = seat.and_then(|seat| seat.leases.get_mut(&report.lease)) else { return };
        held.reported = true;
        if held.whole {
            self.end_lease(session, report.lease);
        }
    }

    fn lend(&mut self, session: SessionId, loan: &Loan, ledger: &Ledger) {
        let Loan { lease, job, plan, fingerprint, range, whole } = *loan;
        assert!(lease.0 > self.last_lease, "lease {lease} was lent before");
        self.last_lease = lease.0;
        let durable = ledger.jobs.get(&job).expect("only a durable job is lent");
        assert_eq!((plan, fingerprint), (durable.plan, durable.fingerprint));
        assert!(range.end() <= plan.tasks, "{range} is not in {plan}");
        let seat = self.seats.get_mut(&session).expect("only a session that is there is lent to");
        assert!(!seat.leaving, "{session} wants no more");
        let alone = whole && seat.outstanding == 0 && seat.credit > 0;
        seat.outstanding += range.len();
        assert!(
            seat.outstanding <= seat.credit || alone,
            "{} of {} lent to {session}: {loan:?}",
            seat.outstanding,
            seat.credit
        );
        seat.leases
            .insert(lease, Held { job, hull: range, whole, open: range.len(), reported: false });
        let book = self.books.get_mut(&job).expect("a job that the farm knows to be durable");
        assert_eq!(book.state, JobState::Running, "lent of job {job}");
        assert!(seat.may_count(job, book), "{session} has no memory for it: {loan:?}");
        if whole {
            let voted = book.disputes.get(&range).expect("only a dispute is recounted");
            assert!(!voted.contains(&seat.worker), "{} has voted on {range}", seat.worker);
            return;
        }
        let priority = book.priority;
        for ordinal in ordinals(range) {
            assert!(!book.claimed[ordinal], "{ordinal} of job {job} is accepted, and lent again");
            let holder = book.holder[ordinal].replace(lease);
            book.free -= 1;
            assert!(holder.is_none(), "{ordinal} of job {job} is lent under {holder:?} already");
        }
        let (seat, book) = (&self.seats[&session], &self.books[&job]);
        let late = seat.late;
        let patient = self.seats.values().any(|seat| seat.is_ready_for(job, book));
        assert!(!late || !patient, "{session} missed a deadline, and is served first: {loan:?}");
        let waits = |book: &Book| book.state == JobState::Running && book.free > 0;
        let mut earlier = self.books.iter().filter(|(_, book)| book.priority > priority);
        let earlier = earlier.find(|(id, book)| waits(book) && seat.may_count(**id, book));
        assert!(earlier.is_none(), "job {} comes first: {loan:?}", earlier.expect("some").0);
    }

    fn write(&mut self, event: &Event, record: &Record, ledger: &Ledger) {
        match record {
            Record::Range { report, worker } => {
                self.check_worker(event, worker);
                let book = self.books.get_mut(&report.job).expect("only jobs that are durable");
                for ordinal in ordinals(report.range) {
                    assert!(!book.claimed[ordinal], "{ordinal} is accepted twice: {report:?}");
                    book.claimed[ordinal] = true;
                    book.free -= u64::from(book.holder[ordinal].is_none());
                }
                let freed = book.free(report.range, None);
                self.no_longer_outstanding(&freed);
            }
            Record::State { job, state } => {
                let asked = match event {
                    Event::Paused { job, .. } => (*job, JobState::Paused),
                    Event::Resumed { job, .. } => (*job, JobState::Running),
                    Event::Cancelled { job, .. } => (*job, JobState::Cancelled),
                    _ => panic!("nobody asked: {record:?}"),
                };
                assert_eq!((*job, *state), asked, "another thing was asked");
                self.book(*job).state = *state;
            }
            Record::Dispute { report, worker } => {
                self.check_worker(event, worker);
                let accepted_from = lone_counter(&ledger.jobs[&report.job], report.range);
                let book = self.book(report.job);
                if book.state == JobState::Done {
                    book.state = JobState::Running;
                }
                if let Some(voted) = book.disputes.get_mut(&report.range) {
                    assert!(!voted.contains(worker), "{worker} votes twice on {}", report.range);
                    voted.push(worker.clone());
                } else {
                    // It may contradict itself.
                    let voted = accepted_from.into_iter().chain([worker.clone()]).collect();
                    book.disputes.insert(report.range, voted);
                }
            }
            Record::Settle { worker, .. } => self.check_worker(event, worker),
            Record::Job { .. } | Record::Done { .. } => {}
        }
    }

    /// A count goes down in the ledger under the name of the worker that told it.
    fn check_worker(&self, event: &Event, worker: &str) {
        assert_eq!(self.reporter(event), worker, "whose count is it?");
    }

    /// Who told the count that this is about.
    fn reporter(&self, event: &Event) -> &str {
        match event {
            Event::Reported { session, .. } => &self.seats[session].worker,
            Event::Compared { ticket, .. } => &self.compares[ticket].1,
            _ => panic!("a count comes from a report"),
        }
    }

    /// A worker that voted may forget its vote only when that is durable.
    fn check_vote(&self, event: &Event, job: JobId, range: Range, ledger: &Ledger) {
        let worker = self.reporter(event);
        let Some(voted) = self.books[&job].disputes.get(&range) else { return };
        if voted.iter().any(|voter| voter == worker) {
            let known = &ledger.jobs[&job];
            let votes = known.disputes.get(&range).into_iter().flatten();
            let durable = votes.map(|vote| vote.worker.as_str()).any(|voter| voter == worker)
                || lone_counter(known, range).as_deref() == Some(worker);
            assert!(durable, "{worker}'s vote on {range} is not durable");
        }
    }

    fn ack(
        &mut self,
        event: &Event,
        job: JobId,
        range: Range,
        verdict: Verdict,
        ledger: &Ledger,
        tally: &mut Tally,
    ) {
        let what = format!("{verdict:?} for {range} of job {job} on {event:?}");
        let book = self.books.get_mut(&job);
        match verdict {
            Verdict::Accepted => {
                tally.accepted += 1;
                assert!(ledger.accepted.contains(&(job, range)), "not durable: {what}");
            }
            Verdict::Agreed => {
                tally.agreed += 1;
                let Event::Compared { ticket, found } = event else { panic!("unasked: {what}") };
                let (report, _) = &self.compares[ticket];
                let equal = |count: u128| count == report.count.into();
                let agreed = matches!(found, Found::Exactly { count, .. } if equal(*count));
                assert!(agreed, "they differ, {report:?}: {what}");
                assert!(ledger.jobs[&job].covers(range), "not durable: {what}");
            }
            Verdict::Superseded => {
                tally.superseded += 1;
                let known = book.expect("a job that exists");
                assert!(ordinals(range).any(|ordinal| known.claimed[ordinal]), "useful: {what}");
                self.check_vote(event, job, range, ledger);
                if let Event::Reported { session, report } = event
                    && self.seats[session].leases.contains_key(&report.lease)
                {
                    let freed = self.book(job).free(range, Some(report.lease));
                    self.no_longer_outstanding(&freed);
                }
            }
            Verdict::Disputed => {
                assert!(ledger.evidence.contains(&(job, range)), "not durable: {what}");
            }
            Verdict::Obsolete => {
                tally.obsolete += 1;
                assert!(book.is_none_or(|b| b.state == JobState::Cancelled), "wanted: {what}");
            }
            Verdict::Foreign => {
                let Event::Reported { report, .. } = event else { panic!("unasked: {what}") };
                assert_ne!(report.fingerprint, ledger.jobs[&job].fingerprint, "{what}");
            }
            Verdict::Invalid => assert!(range.end() > ledger.jobs[&job].plan.tasks, "{what}"),
        }
    }

    fn no_longer_outstanding(&mut self, leases: &[LeaseId]) {
        for lease in leases {
            let mut seats = self.seats.values_mut();
            let seat = seats.find(|seat| seat.leases.contains_key(lease)).expect("it is lent");
            seat.outstanding -= 1;
            let held = seat.leases.get_mut(lease).expect("it was found");
            held.open -= 1;
            if held.open == 0 {
                seat.leases.remove(lease);
            }
        }
    }

    fn reply(&mut self, request: RequestId, answer: Result<JobId, Refusal>, ledger: &Ledger) {
        let (wish, named) = self.requests.remove(&request).expect("one answer to a question");
        let state = match wish {
            Wish::Submit(plan, _) => {
                let job = answer.expect("every plan is welcome");
                assert_eq!(ledger.jobs[&job].plan, plan, "the job is not durable");
                return;
            }
            Wish::Pause(_) => JobState::Paused,
            Wish::Resume(_) => JobState::Running,
            Wish::Cancel(_) => JobState::Cancelled,
        };
        match answer {
            Ok(job) => {
                assert_eq!(Some(job), named, "the answer is about another job");
                let told = self.told_states.entry((job, state.name())).or_default();
                *told += 1;
                let durable = ledger.states.get(&(job, state.name())).copied().unwrap_or(0);
                assert!(*told <= durable, "{state} of job {job} is not durable");
            }
            Err(Refusal::NoSuchJob(job)) => assert!(!self.books.contains_key(&job)),
            Err(Refusal::Over(job, _)) => {
                let book = &self.books[&job];
                let covered = book.claimed.iter().all(|&claimed| claimed);
                assert!(book.state == JobState::Cancelled || covered, "job {job} is not over");
            }
        }
    }
}
