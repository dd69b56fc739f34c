//! Watches everything that goes into the farm and comes out of it, and keeps its own books.
//!
//! The books say what the farm's documentation promises, kept the slow and obvious way: one entry
//! per ordinal. They are begun anew whenever the coordinator is, from what was durable.

use std::collections::{BTreeMap, BTreeSet};

use farm::{
    Author, Dismissal, Effect, Event, Farm, Found, Hello, JobId, JobState, LeaseId, Loan, Range,
    Record, Recount, Refusal, Report, RequestId, SessionId, Ticket, Verdict, Vote, Withdrawn,
};

use crate::books::{Book, Held, Seat, hull, ordinals};
use crate::ledger::{Answer, Ledger, row};
use crate::rows::{Check, vote_of};
use crate::scenario::Wish;
use crate::tally::Tally;

#[derive(Default)]
pub struct Witness {
    books: BTreeMap<JobId, Book>,
    seats: BTreeMap<SessionId, Seat>,
    /// Reports of which the ledger is asked, and whose they are.
    compares: BTreeMap<Ticket, (Report, Author)>,
    /// Confirmations on their way.
    confirms: BTreeMap<Ticket, Report>,
    /// Who may be called wrong at all.
    liars: BTreeSet<String>,
    /// Who was proven wrong.
    distrusted: BTreeSet<String>,
    /// The end of a dispute is on its way: what it takes back is not known.
    settling: bool,
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
    pub fn new(liars: BTreeSet<String>) -> Witness {
        Witness { liars, ..Witness::default() }
    }

    /// The coordinator died; these are the books of the next one.
    pub fn restart(&mut self, ledger: &Ledger) {
        self.seats.clear();
        self.compares.clear();
        self.confirms.clear();
        self.distrusted = ledger.distrusted.clone();
        self.settling = false;
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
                    self.renew(*session, report, tally);
                }
            }
            Event::Working { session, lease } => {
                if let Some(seat) = self.seats.get_mut(session)
                    && let Some(held) = seat.leases.get_mut(lease).filter(|held| held.whole)
                {
                    (held.reported, seat.late) = (true, false);
                }
            }
            _ => {}
        }
    }

    /// What the farm is told about its ledger.
    pub fn told(&mut self, answer: &Answer, tally: &mut Tally) {
        match answer {
            Answer::Written(record) => self.told_written(record, tally),
            Answer::Noted(record, wanted) => {
                let Record::Audit { job, policy } = record else {
                    panic!("{record:?} asks nothing")
                };
                let book = self.book(*job);
                let plan = book.fingerprint;
                book.asked -= 1;
                book.rows.check(|row| {
                    let is_new = row.check == Check::None && policy.chooses(plan, row.range);
                    is_new.then_some(Check::Wanted)
                });
                assert_eq!(book.rows.wanted, *wanted, "audits of job {job}");
                if book.state == JobState::Done {
                    book.state = JobState::Running;
                }
            }
            Answer::Settled(record, withdrawn) => self.told_settled(record, withdrawn),
            Answer::Compared(_) | Answer::AuditsFound(_) => {}
        }
    }

    fn told_written(&mut self, record: &Record, tally: &mut Tally) {
        match record {
            Record::Job { job, plan, slice, priority, audit } => {
                self.books.insert(*job, Book::new(plan, *slice, *priority, *audit));
            }
            Record::Done { job, .. } => {
                tally.put_off += u64::from(self.settling);
                self.book(*job).ended = true;
                self.conclude();
            }
            Record::Range { report, author, audit } => {
                let check = if *audit { Check::Wanted } else { Check::None };
                self.book(report.job).rows.put(row(report, author, check));
            }
            Record::Confirm { report, author } => {
                let book = self.book(report.job);
                book.confirming.remove(&report.range);
                let mut row = book.rows.take(report.range);
                row.check = Check::Confirmed(author.worker.clone());
                book.rows.put(row);
            }
            Record::State { .. } | Record::Dispute { .. } => {}
            Record::Audit { .. } | Record::Settle { .. } => {
                panic!("more is to be told: {record:?}")
            }
        }
    }

    /// Of a worker that was wrong nothing is left that nobody confirmed.
    fn told_settled(&mut self, record: &Record, withdrawn: &[Withdrawn]) {
        let Record::Settle { report, author, wrong } = record else {
            panic!("{record:?} ends nothing")
        };
        self.settling = false;
        let book = self.book(report.job);
        book.disputes.remove(&report.range).expect("it was disputed");
        let tiles = book.rows.tiles(report.range).expect("rows that are disputed stay");
        tiles.iter().for_each(|row| drop(book.rows.take(row.range)));
        book.rows.put(row(report, author, Check::Settled));
        assert!(withdrawn.iter().any(|of| of.job == report.job), "{withdrawn:?}");
        for Withdrawn { job, ranges, total, audits_wanted, audits_agreed } in withdrawn {
            let book = self.book(*job);
            book.rows.check(|row| {
                let is_void = matches!(&row.check, Check::Confirmed(by) if wrong.contains(by));
                is_void.then_some(Check::Wanted)
            });
            let before = book.rows.total;
            book.withdraw(ranges);
            assert_eq!(before - book.rows.total, *total, "the sum of what goes");
            let audits = (book.rows.wanted, book.rows.agreed);
            assert_eq!(audits, (*audits_wanted, *audits_agreed), "audits of job {job}");
            if book.state == JobState::Done && !book.is_complete() {
                book.state = JobState::Running;
            }
        }
        let live = self.books.iter().filter(|(_, book)| book.state != JobState::Cancelled);
        for (id, book) in live {
            for row in book.rows.iter() {
                let is_theirs = wrong.contains(&row.worker) && row.is_unconfirmed();
                let is_void = matches!(&row.check, Check::Confirmed(by) if wrong.contains(by));
                assert!(!is_theirs && !is_void, "still in job {id}: {row:?}");
            }
            let mut votes = book.disputes.values().flatten();
            let vote = votes.find(|vote| wrong.contains(&vote.worker));
            assert!(vote.is_none(), "still counts in job {id}: {vote:?}");
        }
        self.conclude();
    }

    /// Jobs whose end is durable are done, once it is known that their rows stay.
    fn conclude(&mut self) {
        let settling = self.settling;
        for book in self.books.values_mut().filter(|book| book.ended && !settling) {
            book.ended = false;
            if book.is_complete() {
                book.state = JobState::Done;
            }
        }
    }

    /// All that one step wants, before any of it is done.
    pub fn step(&mut self, farm: &Farm, event: &Event, effects: &[Effect], tally: &mut Tally) {
        let is_decision = |effect: &Effect| {
            let Effect::Write { record, .. } = effect else { return false };
            matches!(
                record,
                Record::Dispute { .. } | Record::Confirm { .. } | Record::Settle { .. }
            )
        };
        if let Event::Compared { ticket, found } = event {
            let decided = effects.iter().any(is_decision);
            self.judged = !decided;
            let (report, _) = &self.compares[ticket];
            let book = &self.books[&report.job];
            let live = book.state != JobState::Cancelled;
            let is_certain = !self.settling
                && !book.confirming.contains(&report.range)
                && book.has_claimed(report.range);
            let acked = effects.iter().any(|effect| matches!(effect, Effect::Ack { .. }));
            if live && !is_certain {
                tally.doubts += 1;
                assert!(!decided && !acked, "its rows are changing: {report:?}, {effects:?}");
            } else if live
                && let Found::Exactly { claim, .. } = found
                && *claim != report.tally.claim()
                && !book.is_frozen(report.range)
            {
                assert!(decided, "a conflict is kept: {report:?}, {claim:?}");
            }
        }
        self.check_dismissals(event, effects);
        if !matches!(event, Event::Tick | Event::Reported { .. } | Event::Compared { .. }) {
            for view in farm.jobs() {
                let rows = &self.books[&view.id].rows;
                assert_eq!(view.tasks_done, rows.tasks, "tasks done of job {}", view.id);
                assert_eq!(view.total, rows.total, "running total of job {}", view.id);
                let audits = (view.audits_wanted, view.audits_agreed);
                assert_eq!(audits, (rows.wanted, rows.agreed), "audits of job {}", view.id);
            }
        }
    }

    /// Who was proven wrong is sent away at once, and whenever he comes again.
    fn check_dismissals(&self, event: &Event, effects: &[Effect]) {
        let is_dismissed = |who: SessionId| {
            let reason = Dismissal::Distrusted;
            effects.contains(&Effect::Dismiss { session: who, reason })
        };
        if let Event::Joined { session, hello } = event {
            let known = self.distrusted.contains(&hello.worker);
            assert_eq!(is_dismissed(*session), known, "{}", hello.worker);
        }
        for effect in effects {
            let Effect::Write { record: Record::Settle { wrong, .. }, .. } = effect else {
                continue;
            };
            for (&session, seat) in &self.seats {
                assert_eq!(is_dismissed(session), wrong.contains(&seat.worker), "{}", seat.worker);
            }
        }
    }

    /// One effect, as it is carried out.
    pub fn effect(&mut self, event: &Event, effect: &Effect, ledger: &Ledger, tally: &mut Tally) {
        self.judged |= !matches!(effect, Effect::Revoke { .. });
        match effect {
            Effect::Lend { session, loan } => self.lend(*session, loan, ledger, tally),
            Effect::Revoke { session, lease } => {
                let seat = self.seats.get_mut(session).expect("only sessions that are there");
                let Some(held) = seat.leases.get(lease) else { return };
                let expired = match event {
                    Event::Paused { job, .. } | Event::Cancelled { job, .. } => *job != held.job,
                    Event::Reported { .. } | Event::Compared { .. } => self.judged,
                    Event::Declined { lease: declined, .. } => declined != lease,
                    Event::Settled { .. } if held.whole => {
                        self.books[&held.job].wants_again(held.hull)
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
            Effect::Dismiss { session, reason: Dismissal::Replaced } => {
                tally.dismissals += 1;
                assert!(!self.seats.contains_key(session), "{session} was not replaced");
            }
            Effect::Dismiss { session, reason: Dismissal::Distrusted } => self.left(*session),
            Effect::Write { ticket, record } => {
                if let Record::Confirm { report, .. } = record {
                    self.confirms.insert(*ticket, *report);
                }
                self.write(event, record);
            }
            Effect::Compare { ticket, job, range } => {
                let Event::Reported { session, report } = event else { panic!("{effect:?}: why?") };
                assert_eq!((report.job, report.range), (*job, *range));
                self.compares.insert(*ticket, (*report, self.seats[session].author()));
            }
            Effect::FindAudits { job, .. } => {
                assert_ne!(self.books[job].state, JobState::Cancelled, "audits of job {job}");
            }
            Effect::Reply { request, answer } => self.reply(*request, *answer, ledger, tally),
            Effect::Finished { job } => {
                let state = self.books[job].state;
                let is_durable = state == JobState::Done || ledger.jobs[job].state == state;
                assert!(state.is_over() && is_durable, "job {job} is {state}");
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
                && book.ordinals.contains(report.range)
                && report.tally.is_sound()
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
        if self.distrusted.contains(&hello.worker) {
            return;
        }
        let mut seat = Seat {
            worker: hello.worker.clone(),
            build: hello.build.clone(),
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
        if held.whole {
            self.book(held.job).recounts.retain(|_, holder| *holder != lease);
        } else {
            let freed = self.book(held.job).free(held.hull, Some(lease)).len() as u64;
            assert_eq!(freed, held.open, "lease {lease}");
        }
    }

    /// A report renews its lease. A recount comes back as a whole, and is over.
    fn renew(&mut self, session: SessionId, report: &Report, tally: &mut Tally) {
        let seat = self.seats.get_mut(&session);
        let Some(held) = seat.and_then(|seat| seat.leases.get_mut(&report.lease)) else { return };
        held.reported = true;
        if held.whole {
            let row = self.books[&report.job].unaudited(report.range);
            tally.repetitions += u64::from(row.is_some_and(|row| row.kernel == report.kernel));
            self.end_lease(session, report.lease);
        }
    }

    fn lend(&mut self, session: SessionId, loan: &Loan, ledger: &Ledger, tally: &mut Tally) {
        let Loan { lease, job, plan, fingerprint, range, recount } = *loan;
        let whole = recount.is_some();
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
        assert!(book.ordinals.contains(range), "{range} is not in the slice");
        if let Some(recount) = recount {
            let other = book.recounts.insert(range, lease);
            assert!(other.is_none(), "{loan:?} is counted again under {other:?} already");
            return check_recount(&seat.worker, book, range, recount, tally);
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

    fn write(&mut self, event: &Event, record: &Record) {
        match record {
            Record::Range { report, author, audit } => {
                self.check_author(event, author);
                let book = self.books.get_mut(&report.job).expect("only jobs that are durable");
                let plan = book.fingerprint;
                let chosen = book.policy.is_some_and(|policy| policy.chooses(plan, report.range));
                assert_eq!(*audit, chosen, "{:?} on {report:?}", book.policy);
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
            Record::Audit { job, policy } => {
                let Event::AuditAsked { job: of, policy: asked, .. } = event else {
                    panic!("nobody asked: {record:?}")
                };
                assert_eq!((job, policy), (of, asked), "another thing was asked");
                let book = self.book(*job);
                book.policy = Some(*policy);
                book.asked += 1;
            }
            Record::Confirm { report, author } => {
                self.check_author(event, author);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                let book = self.book(report.job);
                let row = book.unaudited(report.range).expect("only what waits, and once");
                assert_eq!(row.tally.claim(), report.tally.claim(), "they differ: {report:?}");
                assert_ne!(row.worker, author.worker, "the same worker: {report:?}");
                assert_ne!(row.kernel, report.kernel, "the same kernel: {report:?}");
                book.confirming.insert(report.range);
            }
            Record::Dispute { report, author } => {
                self.check_author(event, author);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                self.vote(report, author);
            }
            Record::Settle { report, author, wrong } => {
                self.check_author(event, author);
                assert!(!self.settling, "one at a time: {report:?}");
                self.vote(report, author);
                let claim = report.tally.claim();
                let votes = &self.books[&report.job].disputes[&report.range];
                let named = votes.iter().filter(|vote| !vote.worker.is_empty());
                let (right, others): (Vec<_>, Vec<_>) = named.partition(|vote| vote.claim == claim);
                let names = |votes: Vec<&Vote>| -> BTreeSet<String> {
                    votes.into_iter().map(|vote| vote.worker.clone()).collect()
                };
                assert!(names(right).len() >= 2, "two must agree: {votes:?}");
                assert_eq!(names(others), wrong.iter().cloned().collect(), "{votes:?}");
                let mut honest = wrong.iter().filter(|worker| !self.liars.contains(*worker));
                assert_eq!(honest.next(), None, "an honest worker is distrusted: {votes:?}");
                self.distrusted.extend(wrong.iter().cloned());
                self.settling = true;
            }
            Record::Done { job, tasks, total } => {
                let book = &self.books[job];
                assert!(book.is_complete(), "job {job} is not done");
                assert_eq!((*tasks, *total), (book.rows.tasks, book.rows.total), "job {job}");
                assert!(!self.settling && book.asked == 0, "job {job} may not be done");
            }
            Record::Job { .. } => {}
        }
    }

    fn vote(&mut self, report: &Report, author: &Author) {
        let book = self.book(report.job);
        if book.state == JobState::Done {
            book.state = JobState::Running;
        }
        let worker = &author.worker;
        let vote = Vote { worker: worker.clone(), claim: report.tally.claim() };
        if let Some(votes) = book.disputes.get_mut(&report.range) {
            let voted = votes.iter().any(|vote| vote.worker == *worker);
            assert!(!voted, "{worker} votes twice on {}", report.range);
            votes.push(vote);
        } else {
            // It may contradict itself.
            let rows = book.rows.tiles(report.range).expect("only what rows tile");
            book.disputes.insert(report.range, vec![vote_of(&rows), vote]);
        }
    }

    /// A count goes down in the ledger under the name of the worker that told it.
    fn check_author(&self, event: &Event, author: &Author) {
        assert_eq!(self.reporter(event), *author, "whose count is it?");
        assert!(!self.distrusted.contains(&author.worker), "{author:?} is believed again");
    }

    /// Who told the count that this is about.
    fn reporter(&self, event: &Event) -> Author {
        match event {
            Event::Reported { session, .. } => self.seats[session].author(),
            Event::Compared { ticket, .. } => self.compares[ticket].1.clone(),
            _ => panic!("a count comes from a report"),
        }
    }

    /// A worker that voted may forget its vote only when that is durable.
    fn check_vote(&self, event: &Event, job: JobId, range: Range, ledger: &Ledger) {
        let Author { worker, .. } = self.reporter(event);
        let Some(voted) = self.books[&job].disputes.get(&range) else { return };
        if voted.iter().any(|vote| vote.worker == worker) {
            let known = &ledger.jobs[&job];
            let votes = known.disputes.get(&range).into_iter().flatten();
            let durable = votes.map(|vote| &vote.worker).any(|voter| *voter == worker)
                || known.rows.tiles(range).is_some_and(|rows| vote_of(&rows).worker == worker);
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
                match event {
                    Event::Compared { ticket, found: Found::Exactly { claim, .. } } => {
                        let (report, _) = &self.compares[ticket];
                        assert_eq!(*claim, report.tally.claim(), "they differ: {what}");
                        assert!(ledger.jobs[&job].rows.cover(range), "not durable: {what}");
                    }
                    Event::Written { ticket } => {
                        let report = &self.confirms[ticket];
                        assert_eq!((report.job, report.range), (job, range), "{what}");
                        assert!(ledger.confirmed.contains(&(job, range)), "not durable: {what}");
                    }
                    _ => panic!("unasked: {what}"),
                }
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
            Verdict::Invalid => {
                let Event::Reported { report, .. } = event else { panic!("unasked: {what}") };
                let is_part = self.books[&job].ordinals.contains(range);
                assert!(!is_part || !report.tally.is_sound(), "{what}");
            }
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

    fn reply(
        &mut self,
        request: RequestId,
        answer: Result<JobId, Refusal>,
        ledger: &Ledger,
        tally: &mut Tally,
    ) {
        let (wish, named) = self.requests.remove(&request).expect("one answer to a question");
        let state = match wish {
            Wish::Submit(submission) => {
                let job = answer.expect("every plan is welcome");
                assert_eq!(ledger.jobs[&job].plan, submission.plan, "the job is not durable");
                return;
            }
            Wish::Audit(..) => "audited",
            Wish::Pause(_) => JobState::Paused.name(),
            Wish::Resume(_) => JobState::Running.name(),
            Wish::Cancel(_) => JobState::Cancelled.name(),
        };
        match answer {
            Ok(job) => {
                assert_eq!(Some(job), named, "the answer is about another job");
                tally.audits_asked += u64::from(state == "audited");
                let told = self.told_states.entry((job, state)).or_default();
                *told += 1;
                let durable = ledger.states.get(&(job, state)).copied().unwrap_or(0);
                assert!(*told <= durable, "{state} of job {job} is not durable");
            }
            Err(Refusal::NoSuchJob(job)) => assert!(!self.books.contains_key(&job)),
            Err(Refusal::Over(job, _)) => {
                let book = &self.books[&job];
                let is_done = book.is_complete() && state != "audited";
                assert!(book.state == JobState::Cancelled || is_done, "job {job} is not over");
            }
        }
    }
}

/// Whoever counts again has not counted this before, and is asked for another kernel.
fn check_recount(worker: &str, book: &Book, range: Range, recount: Recount, tally: &mut Tally) {
    if let Some(votes) = book.disputes.get(&range) {
        assert!(votes.iter().all(|vote| vote.worker != worker), "{worker} has voted on {range}");
        return;
    }
    tally.audits_lent += 1;
    let row = book.unaudited(range).expect("only what waits for it is counted again");
    assert_ne!(row.worker, worker, "it would agree with itself");
    let by_search = book.policy.is_some_and(|policy| policy.by_search);
    assert_eq!(recount, Recount { unlike: row.kernel, by_search });
}
