//! Watches everything that goes into the farm and comes out of it, and keeps its own books.
//!
//! The books say what the farm's documentation promises, kept the slow and obvious way: one entry
//! per ordinal. They are begun anew whenever the coordinator is, from what was durable.

use std::collections::BTreeMap;

use farm::{
    Effect, Event, Farm, Found, Hello, JobId, JobState, LeaseId, Loan, Range, Record, Refusal,
    Report, RequestId, SessionId, Ticket, Verdict,
};

use crate::ledger::{Answer, Ledger, LedgerJob};
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
}

/// One job.
struct Book {
    state: JobState,
    /// Per ordinal: accepted or on the way into the ledger.
    claimed: Vec<bool>,
    /// Per ordinal: who counts it, as far as it is not a recount.
    holder: Vec<Option<LeaseId>>,
    /// What the farm was told about the rows.
    total: i128,
    tasks_done: u64,
    /// Who has voted.
    disputes: BTreeMap<Range, Vec<String>>,
}

/// One session.
struct Seat {
    worker: String,
    instance: u64,
    credit: u64,
    leaving: bool,
    outstanding: u64,
    leases: BTreeMap<LeaseId, (JobId, Range, bool)>,
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
        match event {
            Event::Joined { session, hello } => self.joined(*session, hello, tally),
            Event::CreditChanged { session, credit } => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.credit = *credit;
                }
            }
            Event::Leaving { session } => {
                if let Some(seat) = self.seats.get_mut(session) {
                    seat.leaving = true;
                }
            }
            Event::Left { session } => self.left(*session),
            Event::Reported { session, report } => self.recount_came_back(*session, report),
            _ => {}
        }
    }

    /// What the farm is told about its ledger.
    pub fn told(&mut self, answer: &Answer) {
        let Answer::Written { record, total, tasks } = answer else { return };
        let id = match record {
            Record::Job { job, plan, .. } => {
                self.books.insert(*job, Book::new(plan.tasks));
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
        match effect {
            Effect::Lend { session, loan } => self.lend(*session, loan, ledger),
            Effect::Revoke { session, lease } => {
                tally.expiries += u64::from(*event == Event::Tick);
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

    /// The world is over: nothing may be left.
    pub fn end(&self) {
        for (id, book) in &self.books {
            let held = book.holder.iter().flatten().next();
            assert!(held.is_none(), "job {id}: a lease remains: {held:?}");
            assert!(book.disputes.is_empty() || book.state != JobState::Done);
        }
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
            credit: hello.credit,
            leaving: false,
            outstanding: 0,
            leases: BTreeMap::new(),
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
                    adopted += 1;
                }
            }
            if adopted > 0 {
                tally.adoptions += 1;
                seat.outstanding += adopted;
                let hull =
                    seat.leases.get(&holding.lease).map_or(holding.range, |(_, known, _)| {
                        let start = known.start().min(holding.range.start());
                        Range::new(start, known.end().max(holding.range.end())).expect("a hull")
                    });
                seat.leases.insert(holding.lease, (holding.job, hull, false));
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
        let Some((job, range, whole)) = seat.leases.remove(&lease) else { return };
        let open = match whole {
            true => range.len(),
            false => self.books.get_mut(&job).expect("lent").free(range, Some(lease)).len() as u64,
        };
        self.seats.get_mut(&session).expect("it is there").outstanding -= open;
    }

    fn recount_came_back(&mut self, session: SessionId, report: &Report) {
        let Some(book) = self.books.get(&report.job) else { return };
        let usable = report.range.end() <= book.claimed.len() as u64;
        let lease = self.seats.get(&session).and_then(|seat| seat.leases.get(&report.lease));
        if usable && lease.is_some_and(|&(_, _, whole)| whole) {
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
        seat.leases.insert(lease, (job, range, whole));
        let book = self.books.get_mut(&job).expect("a job that the farm knows to be durable");
        assert_eq!(book.state, JobState::Running, "lent of job {job}");
        if whole {
            let voted = book.disputes.get(&range).expect("only a dispute is recounted");
            assert!(!voted.contains(&seat.worker), "{} has voted on {range}", seat.worker);
            return;
        }
        for ordinal in ordinals(range) {
            assert!(!book.claimed[ordinal], "{ordinal} of job {job} is accepted, and lent again");
            let holder = book.holder[ordinal].replace(lease);
            assert!(holder.is_none(), "{ordinal} of job {job} is lent under {holder:?} already");
        }
    }

    fn write(&mut self, event: &Event, record: &Record, ledger: &Ledger) {
        match record {
            Record::Range { report, worker } => {
                self.check_worker(event, worker);
                let book = self.books.get_mut(&report.job).expect("only jobs that are durable");
                for ordinal in ordinals(report.range) {
                    assert!(!book.claimed[ordinal], "{ordinal} is accepted twice: {report:?}");
                    book.claimed[ordinal] = true;
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
        let whose = match event {
            Event::Reported { session, .. } => &self.seats[session].worker,
            Event::Compared { ticket, .. } => &self.compares[ticket].1,
            _ => panic!("a count comes from a report"),
        };
        assert_eq!(whose, worker, "whose count is it?");
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
                let book = book.expect("a job that exists");
                assert!(ordinals(range).any(|ordinal| book.claimed[ordinal]), "useful: {what}");
                if let Event::Reported { session, report } = event
                    && self.seats[session].leases.contains_key(&report.lease)
                {
                    let freed = book.free(range, Some(report.lease));
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

impl Book {
    fn new(tasks: u64) -> Book {
        Book {
            state: JobState::Running,
            claimed: vec![false; tasks as usize],
            holder: vec![None; tasks as usize],
            total: 0,
            tasks_done: 0,
            disputes: BTreeMap::new(),
        }
    }

    fn restored(job: &LedgerJob) -> Book {
        let mut book = Book::new(job.plan.tasks);
        book.state = job.state;
        for row in job.rows.values() {
            ordinals(row.range).for_each(|ordinal| book.claimed[ordinal] = true);
            book.total += i128::from(row.count);
            book.tasks_done += row.range.len();
        }
        for (&range, votes) in &job.disputes {
            let first = lone_counter(job, range).into_iter();
            let voted = first.chain(votes.iter().map(|vote| vote.worker.clone())).collect();
            book.disputes.insert(range, voted);
        }
        book
    }

    /// Nobody holds `range` any more, or `lease` does not. Returns the lease of each ordinal freed.
    fn free(&mut self, range: Range, lease: Option<LeaseId>) -> Vec<LeaseId> {
        let mut freed = Vec::new();
        for ordinal in ordinals(range) {
            let holder = &mut self.holder[ordinal];
            if holder.is_some() && (lease.is_none() || *holder == lease) {
                freed.extend(holder.take());
            }
        }
        freed
    }
}

/// The worker that counted all of a disputed range that is accepted, if one did.
fn lone_counter(job: &LedgerJob, range: Range) -> Option<String> {
    let mut workers: Vec<_> = job.overlapping(range).map(|row| row.worker.clone()).collect();
    workers.dedup();
    workers.pop().filter(|_| workers.is_empty())
}

fn ordinals(range: Range) -> std::ops::Range<usize> {
    range.start() as usize..range.end() as usize
}
