//! A farm and its ledger, without anything between them: disputes and audits, with a restart after each step.

use super::*;

#[test]
fn a_dispute_is_settled_by_a_third_count_and_survives_a_restart_at_any_point() {
    let whole = interval(0, 100);
    let mut pair = Pair::new();
    pair.submit(Some(everything(7, false)));
    pair.join("wrong");
    pair.report("wrong", whole, 7);
    assert_eq!(pair.job(), (JobState::Running, 7, 0), "nobody has objected yet");

    // Another worker's recount differs: the range is leased to a third.
    pair.join("right");
    pair.recount("portable", "right", whole, 9);
    assert_eq!(pair.job(), (JobState::Running, 7, 1));
    let lease = pair.join("third").expect("somebody has to count it again");
    assert_eq!(lease.range, whole);
    assert_eq!(lease.recount.map(|recount| recount.unlike), Some(kernel("avx2")));

    pair.recount("portable", "third", whole, 9);
    assert_eq!(pair.job(), (JobState::Done, 9, 0));
    let evidence = pair.ledger.db.query_row(
        "SELECT group_concat(worker || ' ' || count || ' ' || state, ', ') FROM disputes",
        [],
        |row| row.get::<_, String>(0),
    );
    assert_eq!(evidence.expect("it is kept"), "right 9 1, wrong 7 1");
}

#[test]
fn a_second_count_is_kept_beside_the_first() {
    let mut pair = Pair::new();
    let policy = everything(7, false);
    pair.submit(Some(policy));
    pair.join("first");
    pair.report("first", interval(0, 100), 7);
    assert_eq!(pair.job(), (JobState::Running, 7, 0), "nobody has counted it again yet");

    let lease = pair.join("second").expect("it is to be counted again");
    assert_eq!(lease.recount.map(|recount| recount.unlike), Some(kernel("avx2")));
    pair.recount("avx2", "second", interval(0, 100), 7);
    assert_eq!(pair.job(), (JobState::Running, 7, 0), "the same kernel is no second opinion");
    pair.join("third").expect("it still is to be counted again");
    pair.recount("portable", "third", interval(0, 100), 7);

    assert_eq!(pair.job(), (JobState::Done, 7, 0));
    let audit = "SELECT worker || ' ' || kernel || ' ' || count FROM audits";
    assert_eq!(pair.text(audit), "third portable 7");
}

#[test]
fn a_job_that_is_done_stays_so_while_it_is_audited() {
    let mut pair = Pair::new();
    pair.submit(None);
    pair.join("first");
    pair.report("first", interval(0, 60), 3);
    pair.report("first", interval(60, 100), 4);
    assert_eq!(pair.job(), (JobState::Done, 7, 0));

    let policy = everything(7, true);
    pair.ask(Request::Change(JOB, Change::Audit(policy)));
    assert_eq!(pair.job(), (JobState::Done, 7, 0), "it stays done");
    assert_eq!(pair.text("SELECT group_concat(first) FROM ranges WHERE audit = 1"), "0,60");
    pair.assert_restart_changes_nothing();
    pair.join("second");
    pair.recount("search", "second", interval(0, 60), 3);
    pair.recount("search", "second", interval(60, 100), 4);

    assert_eq!(pair.job(), (JobState::Done, 7, 0));
    assert_eq!(pair.text("SELECT group_concat(first) FROM ranges WHERE audit = 2"), "0,60");
    assert_eq!(pair.text("SELECT seed || ' ' || by_search FROM audit_policies"), "7 1");
}

#[test]
fn what_a_worker_counted_that_was_wrong_elsewhere_is_counted_again() {
    let mut pair = Pair::new();
    pair.submit(None);
    pair.join("liar");
    pair.join("honest");
    pair.report("liar", interval(0, 10), 1);
    pair.report("liar", interval(10, 20), 2);
    pair.report("honest", interval(20, 30), 3);
    pair.report("liar", interval(30, 40), 999);
    let everything = everything(1, false);
    pair.ask(Request::Change(JOB, Change::Audit(everything)));
    // What another worker confirmed of the liar's counts stays; what it confirmed itself does not.
    pair.recount("portable", "honest", interval(0, 10), 1);
    pair.recount("portable", "liar", interval(20, 30), 3);
    assert_eq!(pair.text("SELECT group_concat(first) FROM ranges WHERE audit = 2"), "0,20");

    pair.recount("portable", "honest", interval(30, 40), 4);
    pair.join("third");
    pair.recount("portable", "third", interval(30, 40), 4);

    assert_eq!(pair.text("SELECT machine FROM trust"), "liar");
    let rows = "SELECT group_concat(first || ':' || count || ':' || audit, ' ') FROM ranges";
    assert_eq!(pair.text(rows), "0:1:2 20:3:1 30:4:2");
    assert_eq!(pair.job(), (JobState::Running, 8, 0));
    let evidence = "SELECT group_concat(first || ':' || count || ':' || state, ' ') FROM \
                    (SELECT * FROM disputes ORDER BY first, state)";
    assert_eq!(pair.text(evidence), "10:2:2 20:3:2 30:4:1 30:999:1");
    // It comes back, and is sent away.
    let leased = pair.leases.len();
    pair.join("liar");
    assert_eq!(pair.leases.len(), leased);
}

/// A farm and its ledger, without anything between them.
struct Pair {
    farm: Farm,
    ledger: Ledger,
    workers: Vec<String>,
    leases: Vec<(SessionId, Lease)>,
}

impl Pair {
    fn new() -> Pair {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("it opens");
        let restored = ledger.restored.clone();
        let farm = Farm::restore(config(), key(), Millis(0), restored, |_, _| Known::nothing());
        Pair { farm, ledger, workers: Vec::new(), leases: Vec::new() }
    }

    /// Lets an event and everything that follows from it happen.
    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.farm.step(Millis(0), event) {
                match effect {
                    Effect::Ledger(asker, command) => {
                        let answers = self.ledger.apply(std::slice::from_ref(&command));
                        let answer = answers.expect("it is written").remove(0);
                        events.push(Event::Ledger { asker, command, answer, at_ms: 0 });
                    }
                    Effect::Tell(session, CoordinatorMessage::Lease(lease)) => {
                        self.leases.push((session, lease))
                    }
                    _ => {}
                }
            }
        }
        self.assert_restart_changes_nothing();
    }

    /// A worker joins; what it was leased.
    fn join(&mut self, worker: &str) -> Option<Lease> {
        self.workers.push(worker.into());
        let session = self.session(worker);
        let hello = Hello {
            worker: worker.into(),
            machine: worker.into(),
            build: "1.2.3".into(),
            backend: "portable".into(),
            instance: session.0,
            threads: 1,
            memory: 0,
            credit: 1000,
            holding: Vec::new(),
        };
        self.step(Event::Joined { session, owner: OWNER.into(), is_trusted: false, hello });
        self.lease_of(worker)
    }

    fn submit(&mut self, audit: Option<AuditPolicy>) {
        let origin = Origin::default();
        let spec = JobSpec { origin, plan: plan(), slice: Slice::ALL, priority: 0 };
        self.ask(Request::Submit(vec![farm::Submission {
            spec,
            audit,
            known: Box::new(Known::nothing()),
        }]));
    }

    fn ask(&mut self, ask: Request) {
        self.step(Event::Asked(RequestId(1), OWNER.into(), ask));
    }

    /// A worker reports a first count.
    fn report(&mut self, worker: &str, range: Range, count: u64) {
        self.tell(LeaseKind::Count, "avx2", worker, range, count);
    }

    /// A worker counts a range again, as if it had been asked.
    fn recount(&mut self, name: &str, worker: &str, range: Range, count: u64) {
        self.tell(LeaseKind::Recount, name, worker, range, count);
    }

    fn tell(&mut self, kind: LeaseKind, name: &str, worker: &str, range: Range, count: u64) {
        let lease = match kind {
            // Each of its own, so that neighbours do not become one row.
            LeaseKind::Count => LeaseId(range.start()),
            LeaseKind::Recount => self.lease_of(worker).map_or(LeaseId(0), |lease| lease.id),
        };
        let token = LeaseToken { range, kind, mac: [0; 16] };
        let report = Report { lease, token, kernel: kernel(name), ..report(range, count) };
        let token = key().sign(&Holding::of_report(&report), OWNER);
        let report = Report { token, ..report };
        self.step(Event::Said(self.session(worker), WorkerMessage::Report(report)));
    }

    fn session(&self, worker: &str) -> SessionId {
        let place = self.workers.iter().position(|name| name == worker);
        SessionId(place.expect("it joined") as u64)
    }

    fn lease_of(&self, worker: &str) -> Option<Lease> {
        let session = self.session(worker);
        self.leases.iter().rev().find(|(to, _)| *to == session).map(|&(_, lease)| lease)
    }

    fn text(&self, query: &str) -> String {
        self.ledger.db.query_row(query, [], |row| row.get(0)).expect("there is one")
    }

    /// State, total and the number of disputes.
    fn job(&self) -> (JobState, u128, usize) {
        let job = self.farm.job(JOB).expect("it was submitted");
        (job.state, job.counted, job.disputes)
    }

    fn assert_restart_changes_nothing(&self) {
        let restored = self.ledger.read_back().expect("it can be read");
        let restored = Restored { epoch: 2, ..restored };
        let restarted =
            Farm::restore(config(), key(), Millis(0), restored, |_, _| Known::nothing());
        let essence = |farm: &Farm| {
            let jobs = farm.jobs(.., |_| true).map(|job| {
                let audits = (job.audit, job.audits_wanted, job.audits_agreed);
                (
                    job.id,
                    job.spec.plan,
                    job.state,
                    job.tasks_done,
                    job.counted,
                    job.disputes,
                    audits,
                )
            });
            jobs.collect::<Vec<_>>()
        };
        assert_eq!(essence(&restarted), essence(&self.farm));
    }
}
