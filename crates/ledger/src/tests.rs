//! What a ledger promises, and what becomes of one that was tampered with.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use farm::rules::{Jobs, Store};
use farm::{
    Across, AuditPolicy, Author, Config, Distrusted, Effect, Event, Farm, Fingerprint, Found,
    Hello, JobChange, JobId, JobState, KernelName, Known, LeaseId, LedgerAnswer, LedgerCommand,
    LedgerId, Loan, LoanKey, LoanKind, LoanProof, LoanTerms, Maker, Method, Millis, Origin, Party,
    Plan, Problem, PublicKey, Range, Report, RequestId, Restored, RestoredJob, SessionId,
    Signature, Signed, Signer, Slice, Tally, TaskCounts, Ticket, Tiled, rules,
};
use tempfile::TempDir;

use super::merge::Verdicts;
use super::store::SqlStore;
use super::{
    CheckedLedger, Evidence, Happening, Ledger, LedgerEvent, LedgerFault, LedgerRequest, Look,
    Slot, spawn, unix_ms,
};

const JOB: JobId = JobId(1);

fn open(path: &Path) -> Result<Ledger, LedgerFault> {
    CheckedLedger::open_again(path)?.begin()
}

#[test]
fn what_was_applied_is_read_back() {
    let ledger = ledger_with(&[range(0, 10, 7), range(20, 30, 5)]);
    ledger.apply(&[state(JobState::Paused)]).expect("it is written");

    let [job] = read(&ledger);

    assert_eq!((job.id, job.plan, job.priority), (JOB, plan(), 3));
    assert_eq!((job.state, job.total), (JobState::Paused, 12));
    assert_eq!(job.accepted, [interval(0, 10), interval(20, 30)].into_iter().collect());
    assert!(job.disputes.is_empty());
}

#[test]
fn people_see_what_was_counted_by_whom_and_when_while_the_ledger_is_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    let by = |start, end, worker| range_by(start, end, 1, worker);
    let dispute = LedgerCommand::Dispute {
        report: report(interval(0, 10), 8),
        author: Author { maker: maker("c"), worker: "c".into(), build: "1".into() },
    };
    let priority = |priority| {
        let by = "admin".into();
        LedgerCommand::SetPriority { job: JOB, priority, by }
    };
    let audit = LedgerCommand::RequestAudit {
        job: JOB,
        policy: everything(1, false),
        by: "auditor".into(),
    };
    let changes = [priority(5), priority(5), state(JobState::Running), audit];
    let written = [new_job(), by(20, 30, "b"), by(0, 10, "a"), dispute];
    ledger.apply(&written).expect("it is written");
    ledger.apply(&changes).expect("it is written");
    ledger.apply(&[state(JobState::Cancelled)]).expect("it is written");

    let look = Look::open(&path).expect("it can be read beside its writer");
    let mut ranges = Vec::new();
    look.ranges(JOB, |seen| {
        ranges.push((seen.range, seen.worker.to_string(), seen.is_audited));
        ControlFlow::Continue(())
    })
    .expect("it can be read");
    let plain = |start, end, worker: &str| (interval(start, end), worker.to_string(), false);
    assert_eq!(ranges, [plain(0, 10, "a"), plain(20, 30, "b")]);

    let now = unix_ms();
    let history = |span, slot_ms| {
        let mut slots = Vec::new();
        look.history(span, slot_ms, |slot| slots.push(slot)).expect("it can be read");
        slots
    };
    let all = Slot { job: JOB, at_ms: 0, tasks: 20, workers: 2 };
    assert_eq!(history((0, now + 1), i64::MAX), [all]);
    assert_eq!(history((now + 1_000_000, i64::MAX), 1), []);

    let mut first = Vec::new();
    look.ranges(JOB, |seen| {
        first.push(seen.range);
        ControlFlow::Break(())
    })
    .expect("it can be read");
    assert_eq!(first, [interval(0, 10)], "who breaks off sees no more");

    let party = Party { owner: OWNER.into(), machine: Some("c".into()) };
    let disputed = Happening::Disputed { range: interval(0, 10), worker: "c".into(), party };
    let log = look.incidents(JOB).expect("it can be read");
    let changed = |change, by: &str| Happening::Changed { change, by: by.into() };
    let by = "auditor".into();
    for what in [
        Happening::Submitted(OWNER.into()),
        disputed,
        changed(JobChange::Priority(5), "admin"),
        Happening::AuditOrdered { share_ppm: AuditPolicy::ALL, by },
        changed(JobChange::State(JobState::Cancelled), OWNER),
    ] {
        let times = log.iter().filter(|incident| incident.what == what).count();
        assert_eq!(times, 1, "{what:?} in {log:?}");
    }
    assert_eq!(log.len(), 5, "what changes nothing is not told: {log:?}");
    assert!(log.is_sorted_by_key(|incident| std::cmp::Reverse(incident.at_ms)));
    look.incidents(JobId(2)).expect_err("there is no such job");
}

#[test]
fn a_batch_is_applied_whole_or_not_at_all() {
    let ledger = ledger_with(&[]);

    let fault = ledger.apply(&[range(0, 10, 7), range(5, 15, 5)]).expect_err("they overlap");

    assert_eq!(fault.to_string(), "job 1 was about to accept [5, 15) twice");
    let [job] = read(&ledger);
    assert!(job.accepted.is_empty());
}

#[test]
fn a_count_that_was_found_wrong_and_is_accepted_again_is_noticed() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    let ledger = ledger_in(&path);
    let keep = "INSERT INTO disputes SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
                build, lease, busy_us, accepted_at, seal, ?, signer, signatures FROM ranges";
    ledger.db.execute(keep, [2]).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("what was taken back may be counted again");
    ledger.db.execute(keep, [1]).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("whoever is believed may have been right");
    let party = maker("worker").party(Across::Machines);
    SqlStore(&ledger.db).distrust(&party, None, "it lies").expect("it can be written");
    drop(ledger);
    let ledger = open(&path).expect("it may have been right here, and wrong elsewhere");
    let proof = Some((JOB, interval(0, 10)));
    SqlStore(&ledger.db).distrust(&party, proof, "").expect("it can be written");
    drop(ledger);
    let fault = open(&path).expect_err("it was found wrong").to_string();
    assert!(fault.contains("found wrong, and is accepted again"), "{fault}");
}

#[test]
fn overlaps_of_every_kind_are_refused() {
    let ledger = ledger_with(&[range(10, 20, 7)]);
    for (start, end) in [(10, 20), (12, 15), (5, 11), (19, 30), (5, 30)] {
        ledger.apply(&[range(start, end, 1)]).expect_err("it overlaps");
    }
    ledger.apply(&[range(5, 10, 1), range(20, 21, 1)]).expect("they only touch");
}

#[test]
fn answers_come_in_order_and_see_what_was_written_before() {
    let ledger = ledger_with(&[]);
    let compare = LedgerCommand::Compare { job: JOB, range: interval(0, 10) };

    let answers = ledger.apply(&[range(0, 10, 7), compare]).expect("it is written");

    let claim = tally(interval(0, 10), 7).claim();
    let found = Found::Exactly { claim, maker: Some(maker("worker")), kernel: kernel("avx2") };
    assert_eq!(answers, [LedgerAnswer::Written, LedgerAnswer::Compared(found)]);
}

#[test]
fn a_comparison_names_the_worker_only_if_it_was_one_alone() {
    let by = |start, end, worker| range_by(start, end, 1, worker);
    let ledger = ledger_with(&[by(0, 10, "a"), by(10, 20, "a"), by(20, 30, "b"), by(40, 50, "b")]);
    let found = |start, end| {
        rules::tiled(&mut SqlStore(&ledger.db), JOB, interval(start, end)).expect("it can be read")
    };
    let tiled = |worker: Option<&str>, starts: &[u64]| {
        let parts = starts.iter().map(|&start| tally(interval(start, start + 10), 1));
        let whole = parts.reduce(|sum, part| sum.join(part).expect("it is small"));
        let claim = whole.expect("there is a part").claim();
        Some(Tiled { claim, maker: worker.map(maker), kernel: kernel("avx2") })
    };

    assert_eq!(found(0, 10), tiled(Some("a"), &[0]));
    assert_eq!(found(0, 20), tiled(Some("a"), &[0, 10]));
    assert_eq!(found(0, 30), tiled(None, &[0, 10, 20]));
    assert_eq!(found(10, 30), tiled(None, &[10, 20]));
    for (start, end) in [(0, 5), (5, 20), (20, 50), (30, 40), (0, 35)] {
        assert_eq!(found(start, end), None, "[{start}, {end})");
    }
}

#[test]
fn a_job_is_done_only_if_its_rows_say_so() {
    let done = |total| LedgerCommand::Finish { job: JOB, tasks: 100, total };
    let ledger = ledger_with(&[range(0, 60, 7)]);
    ledger.apply(&[done(7)]).expect_err("ordinals are missing");
    ledger.apply(&[range(60, 100, 5), done(7)]).expect_err("the total is another");

    ledger.apply(&[range(60, 100, 5), done(12)]).expect("all is there");

    let [job] = read(&ledger);
    assert_eq!((job.state, job.total), (JobState::Done, 12));
}

#[test]
fn what_only_those_confirmed_that_are_not_believed_is_joined_as_unconfirmed_or_left_out() {
    // Given: two machines that are not believed have confirmed all rows of a part, and one has counted a row.
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("part.db");
    let part = open(&path).expect("it opens");
    let rows = [("honest", 0, 50), ("liar", 50, 60), ("honest", 60, 100)];
    let confirm = |(start, end), worker: &str| {
        let report = Report { kernel: kernel("search"), ..report(interval(start, end), 1) };
        let author = Author { maker: maker(worker), worker: worker.into(), build: "1.2.3".into() };
        LedgerCommand::Confirm { report, author }
    };
    part.apply(&[new_job()]).expect("it is written");
    part.apply(&rows.map(|(worker, start, end)| range_by(start, end, 1, worker)))
        .expect("it is written");
    let audit =
        LedgerCommand::RequestAudit { job: JOB, policy: everything(1, false), by: "lab".into() };
    let seconds = [((0, 50), "liar"), ((50, 60), "friend"), ((60, 100), "liar")];
    part.apply(&[audit]).expect("it is written");
    part.apply(&seconds.map(|(of, worker)| confirm(of, worker))).expect("they are apart");
    part.close().expect("it can be closed");

    let parties = ["liar", "friend"].map(|worker| maker(worker).party(Across::Machines));
    let distrusted = Distrusted(parties.into_iter().collect());
    let part = Evidence::open(&path).expect("it is sound");
    let joined = ledger_with(&[]);
    let verdicts = Verdicts { distrusted, ..Verdicts::default() };
    let absorbed = joined.absorb(JOB, &part, JOB, &verdicts).expect("nothing conflicts");

    assert_eq!((absorbed.added, absorbed.left_out), (90, 10));
    let [job] = read(&joined);
    assert_eq!((job.total, job.audits_agreed), (2, 0));
    assert_eq!(job.accepted, [interval(0, 50), interval(60, 100)].into_iter().collect());
}

#[test]
fn a_held_job_is_held_for_its_reason_when_the_ledger_is_opened_again() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    ledger.apply(&[new_job(), range(0, 60, 7), range(60, 100, 5)]).expect("it is written");
    let hold = |total| {
        let reason = "it is no multiple of 8".to_string();
        LedgerCommand::Hold { job: JOB, tasks: 100, total, reason }
    };
    ledger.apply(&[hold(7)]).expect_err("the total is another");
    let answers = ledger.apply(&[hold(12)]).expect("it is the sum");
    drop(ledger);

    let [job] =
        read(&CheckedLedger::open_again(&path).and_then(CheckedLedger::begin).expect("it opens"));

    let held = job.held.expect("it is held");
    assert_eq!((job.state, job.total), (JobState::Held, 12));
    assert_eq!((held.reason.as_str(), held.worst.len()), ("it is no multiple of 8", 2));
    assert_eq!(answers, [LedgerAnswer::Held { worst: held.worst }]);
}

#[test]
fn totals_pass_64_bits() {
    let ledger = ledger_with(&[range(0, 50, u64::MAX), range(50, 100, u64::MAX)]);
    let total = 2 * u128::from(u64::MAX);

    ledger.apply(&[LedgerCommand::Finish { job: JOB, tasks: 100, total }]).expect("it is the sum");

    let [job] = read(&ledger);
    assert_eq!(job.total, total);
}

#[test]
fn every_opening_has_its_own_number() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    for epoch in 1..=3 {
        let ledger = open(&path).expect("it opens");
        assert_eq!(ledger.restored().epoch, epoch);
        assert!(matches!(CheckedLedger::open(&path), Err(LedgerFault::Held)), "one at a time");
    }
}

#[test]
fn the_thread_answers_until_it_fails_and_then_says_why() {
    let handle = spawn(ledger_with(&[]));
    let mut events = handle.events;
    let send = |command| {
        let request = LedgerRequest::Farm(Ticket(1), command);
        handle.requests.blocking_send(request).expect("the thread runs");
    };
    let mut event = || events.blocking_recv().expect("it answers");

    send(range(0, 10, 7));
    assert!(matches!(event(), LedgerEvent::Committed { requests: 1, .. }));
    assert!(matches!(event(), LedgerEvent::Answered(Ticket(1), LedgerAnswer::Written)));
    send(range(0, 10, 7));
    assert!(matches!(event(), LedgerEvent::Failed(LedgerFault::Content(_))));

    handle.thread.join().expect("it ended in peace");
    assert!(
        handle.requests.blocking_send(LedgerRequest::Farm(Ticket(2), range(10, 20, 1))).is_err(),
        "it takes no more"
    );
}

#[test]
fn a_dispute_is_settled_by_a_third_count_and_survives_a_restart_at_any_point() {
    let whole = interval(0, 100);
    let mut pair = Pair::new();
    pair.submit(Some(everything(7, false)));
    pair.join("wrong");
    pair.report("wrong", whole, 7);
    assert_eq!(pair.job(), (JobState::Running, 7, 0), "nobody has objected yet");

    // Another worker's recount differs: the range is lent to a third.
    pair.join("right");
    pair.recount("portable", "right", whole, 9);
    assert_eq!(pair.job(), (JobState::Running, 7, 1));
    let loan = pair.join("third").expect("somebody has to count it again");
    assert_eq!(loan.range, whole);
    assert_eq!(loan.recount.map(|recount| recount.unlike), Some(kernel("avx2")));

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

    let loan = pair.join("second").expect("it is to be counted again");
    assert_eq!(loan.recount.map(|recount| recount.unlike), Some(kernel("avx2")));
    pair.recount("avx2", "second", interval(0, 100), 7);
    assert_eq!(pair.job(), (JobState::Running, 7, 0), "the same kernel is no second opinion");
    pair.join("third").expect("it still is to be counted again");
    pair.recount("portable", "third", interval(0, 100), 7);

    assert_eq!(pair.job(), (JobState::Done, 7, 0));
    let audit = "SELECT worker || ' ' || kernel || ' ' || count FROM audits";
    assert_eq!(pair.text(audit), "third portable 7");
}

#[test]
fn an_audit_of_a_job_that_is_done_opens_it_again() {
    let mut pair = Pair::new();
    pair.submit(None);
    pair.join("first");
    pair.report("first", interval(0, 60), 3);
    pair.report("first", interval(60, 100), 4);
    assert_eq!(pair.job(), (JobState::Done, 7, 0));

    let policy = everything(7, true);
    pair.step(Event::AuditAsked { request: RequestId(2), by: "lab".into(), job: JOB, policy });
    assert_eq!(pair.job(), (JobState::Running, 7, 0));
    pair.join("second");
    pair.recount("search", "second", interval(0, 60), 3);
    pair.recount("search", "second", interval(60, 100), 4);

    assert_eq!(pair.job(), (JobState::Done, 7, 0));
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
    pair.step(Event::AuditAsked {
        request: RequestId(2),
        by: "lab".into(),
        job: JOB,
        policy: everything,
    });
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
    let lent = pair.loans.len();
    pair.join("liar");
    assert_eq!(pair.loans.len(), lent);
}

/// Whatever bit of the file a bad disk turns: the ledger is refused and left alone, or it says
/// the same as before.
#[test]
fn a_flipped_bit_never_becomes_another_count() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    ledger.apply(&[new_job()]).expect("it is written");
    for start in 0..40 {
        ledger.apply(&[range(start, start + 1, 1000 * start)]).expect("it is written");
    }
    let known = what_counts(ledger.read_back(Jobs::Live).expect("it can be read").jobs);
    drop(ledger);
    let sound = fs::read(&path).expect("it can be read");
    let used = (0..sound.len()).filter(|&at| sound[at] != 0);

    let mut refused = 0;
    for at in used.step_by(7) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).expect("it can be written");
        match CheckedLedger::open_again(&path) {
            Ok(ledger) => {
                assert_eq!(what_counts(ledger.jobs().to_vec()), known, "byte {at}");
            }
            Err(_) => {
                refused += 1;
                assert!(fs::read(&path).expect("it can be read") == bytes, "byte {at}: changed");
            }
        }
        remove(&path, &["-wal", "-shm", "-journal"]);
    }
    assert!(refused > 0);
}

/// What a total rests on, once a farm goes on from it.
fn what_counts(jobs: Vec<RestoredJob>) -> Vec<(JobId, Plan, JobState, u64, u128)> {
    let farm = Farm::restore(
        config(),
        key(),
        Millis(0),
        Restored { epoch: 1, jobs, ..Restored::default() },
    );
    let jobs = farm.jobs(JobId(0), usize::MAX);
    jobs.into_iter().map(|job| (job.id, job.plan, job.state, job.tasks_done, job.total)).collect()
}

fn remove(path: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
}

/// A farm and its ledger, without anything between them.
struct Pair {
    farm: Farm,
    ledger: Ledger,
    workers: Vec<String>,
    loans: Vec<(SessionId, Loan)>,
}

impl Pair {
    fn new() -> Pair {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("it opens");
        let farm = Farm::restore(config(), key(), Millis(0), ledger.restored().clone());
        Pair { farm, ledger, workers: Vec::new(), loans: Vec::new() }
    }

    /// Lets an event and everything that follows from it happen.
    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.farm.step(Millis(0), event) {
                match effect {
                    Effect::Ledger { ticket, command } => {
                        let answers = self.ledger.apply(&[command]).expect("it is written");
                        let answered = answers.into_iter();
                        events.extend(answered.map(|answer| Event::Ledger { ticket, answer }));
                    }
                    Effect::Lend { session, loan } => self.loans.push((session, loan)),
                    _ => {}
                }
            }
        }
        self.assert_restart_changes_nothing();
    }

    /// A worker joins; what it was lent.
    fn join(&mut self, worker: &str) -> Option<Loan> {
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
            memory_kills: 0,
            credit: 1000,
            holding: Vec::new(),
            mark: None,
            key: None,
            is_paced: false,
            numbers_tasks: false,
        };
        self.step(Event::Joined { session, owner: OWNER.into(), hello });
        self.loan_of(worker)
    }

    fn submit(&mut self, audit: Option<AuditPolicy>) {
        self.step(Event::Submitted {
            request: RequestId(1),
            origin: Origin::default(),
            plan: plan(),
            slice: Slice::ALL,
            priority: 0,
            audit,
            thread_memory: 0,
            known: Known::nothing(),
        });
    }

    /// A worker reports a first count, under its latest lease if it has any.
    fn report(&mut self, worker: &str, range: Range, count: u64) {
        self.tell(LoanKind::Count, "avx2", worker, range, count);
    }

    /// A worker counts a range again, as if it had been asked.
    fn recount(&mut self, name: &str, worker: &str, range: Range, count: u64) {
        self.tell(LoanKind::Recount, name, worker, range, count);
    }

    fn tell(&mut self, kind: LoanKind, name: &str, worker: &str, range: Range, count: u64) {
        let lease = self.loan_of(worker).map_or(LeaseId(0), |loan| loan.lease);
        let terms = LoanTerms { job: JOB, plan: fingerprint(), lease, owner: OWNER };
        let proof = key().prove(&terms, range, kind);
        let report = Report { lease, proof, kernel: kernel(name), ..report(range, count) };
        self.step(Event::Reported { session: self.session(worker), report });
    }

    fn session(&self, worker: &str) -> SessionId {
        let place = self.workers.iter().position(|name| name == worker);
        SessionId(place.expect("it joined") as u64)
    }

    fn loan_of(&self, worker: &str) -> Option<Loan> {
        let session = self.session(worker);
        self.loans.iter().rev().find(|(to, _)| *to == session).map(|&(_, loan)| loan)
    }

    fn text(&self, query: &str) -> String {
        self.ledger.db.query_row(query, [], |row| row.get(0)).expect("there is one")
    }

    /// State, total and the number of disputes.
    fn job(&self) -> (JobState, u128, usize) {
        let job = self.farm.job(JOB).expect("it was submitted");
        (job.state, job.total, job.disputes)
    }

    fn assert_restart_changes_nothing(&self) {
        let restored = self.ledger.read_back(Jobs::Live).expect("it can be read");
        let restored = Restored { epoch: 2, ..restored };
        let restarted = Farm::restore(config(), key(), Millis(0), restored);
        let essence = |farm: &Farm| {
            let jobs = farm.jobs(JobId(0), usize::MAX).into_iter().map(|job| {
                let audits = (job.audit, job.audits_wanted, job.audits_agreed);
                (job.id, job.plan, job.state, job.tasks_done, job.total, job.disputes, audits)
            });
            jobs.collect::<Vec<_>>()
        };
        assert_eq!(essence(&restarted), essence(&self.farm));
    }
}

fn config() -> Config {
    Config { grace_ms: 0, probe_tasks: 100, ..Config::default() }
}

fn plan() -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 100 }
}

fn fingerprint() -> Fingerprint {
    plan().fingerprint()
}

fn ledger_with(commands: &[LedgerCommand]) -> Ledger {
    let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("it opens");
    ledger.apply(&[new_job()]).expect("it is written");
    ledger.apply(commands).expect("it is written");
    ledger
}

/// A ledger in the file `path`, with a job and a range.
pub(crate) fn ledger_in(path: &Path) -> Ledger {
    let ledger = open(path).expect("it opens");
    ledger.apply(&[new_job(), range(0, 10, 7)]).expect("it is written");
    ledger
}

pub(crate) fn read(ledger: &Ledger) -> [RestoredJob; 1] {
    let jobs = ledger.read_back(Jobs::Live).expect("it can be read").jobs;
    jobs.try_into().expect("it has one job")
}

fn new_job() -> LedgerCommand {
    let (plan, slice) = (plan(), Slice::ALL);
    let origin = Origin { owner: OWNER.into(), key: Some("first".into()) };
    LedgerCommand::CreateJob { job: JOB, origin, plan, slice, priority: 3, audit: None }
}

pub(crate) fn state(state: JobState) -> LedgerCommand {
    LedgerCommand::SetState { job: JOB, state, by: OWNER.into() }
}

pub(crate) fn range(start: u64, end: u64, count: u64) -> LedgerCommand {
    range_by(start, end, count, "worker")
}

fn range_by(start: u64, end: u64, count: u64, worker: &str) -> LedgerCommand {
    let author = Author { maker: maker(worker), worker: worker.into(), build: "1.2.3".into() };
    LedgerCommand::Accept { report: report(interval(start, end), count), author, audit: false }
}

fn report(range: Range, count: u64) -> Report {
    Report {
        job: JOB,
        fingerprint: fingerprint(),
        lease: LeaseId((1 << 40) + 1),
        proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
        range,
        tally: tally(range, count),
        task_counts: TaskCounts::default(),
        kernel: kernel("avx2"),
        busy_us: 1,
        signed: Some(signed(count)),
    }
}

/// What a ledger takes for a signature.
fn signed(count: u64) -> Signed {
    let (key, ledger) = (PublicKey([1; 32]), LedgerId([2; 16]));
    let signer = Signer { key, ledger, job: JOB, kind: LoanKind::Count };
    Signed { signer, signature: Signature([count as u8; 64]) }
}

/// All of it is counted by the first task.
fn tally(range: Range, count: u64) -> Tally {
    Tally::EMPTY.with(fingerprint(), range.start(), count).expect("it is one count")
}

const OWNER: &str = "owner";

fn maker(worker: &str) -> Maker {
    Maker { owner: OWNER.into(), machine: worker.into() }
}

fn key() -> LoanKey {
    LoanKey::new([4; 32])
}

fn everything(seed: u64, by_search: bool) -> AuditPolicy {
    let (share_ppm, across) = (AuditPolicy::ALL, Across::Machines);
    AuditPolicy { share_ppm, seed, salt: 9, by_search, across, beacon: None }
}

fn kernel(name: &str) -> KernelName {
    KernelName::new(name).expect("there is such a kernel")
}

fn interval(start: u64, end: u64) -> Range {
    Range::new(start, end).expect("not empty")
}
