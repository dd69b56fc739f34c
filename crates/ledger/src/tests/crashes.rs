//! The process dies before, within and after a write of every kind. Afterwards the ledger must hold
//! everything that was acknowledged and nothing of the failed transaction, and a restart must reach
//! the exact total.
//!
//! A child process plays a short history on a ledger and aborts at a given point. The same history
//! without a crash tells what the ledger must hold then.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rusqlite::Connection;

use super::*;

/// The environment variable that tells the child process where to die: `LEDGER KIND POINT`.
const ORDERS: &str = "QUEENS_TEST_CRASH";

type IsMeant = fn(&[LedgerCommand]) -> bool;

/// The kinds of batches at the first of which the child dies.
const KINDS: [(&str, IsMeant); 10] = [
    ("job", |batch| has(batch, |command| matches!(command, LedgerCommand::CreateJob { .. }))),
    ("state", |batch| has(batch, |command| matches!(command, LedgerCommand::Change { .. }))),
    ("range", |batch| has(batch, |command| matches!(command, LedgerCommand::Accept { .. }))),
    ("ranges", |batch| batch.len() > 1),
    ("dispute", |batch| has(batch, |command| matches!(command, LedgerCommand::Dispute(..)))),
    ("settle", |batch| has(batch, |command| matches!(command, LedgerCommand::Settle { .. }))),
    ("audit", |batch| {
        has(batch, |command| {
            matches!(command, LedgerCommand::Change { change: Change::Audit { .. }, .. })
        })
    }),
    ("confirm", |batch| has(batch, |command| matches!(command, LedgerCommand::Confirm(..)))),
    ("done", |batch| has(batch, |command| matches!(command, LedgerCommand::Finish { .. }))),
    ("removal", |batch| has(batch, |command| matches!(command, LedgerCommand::Remove(..)))),
];

fn has(batch: &[LedgerCommand], wanted: fn(&LedgerCommand) -> bool) -> bool {
    batch.iter().any(wanted)
}

#[test]
fn a_crash_at_any_point_of_any_write_loses_nothing_and_leaves_nothing_behind() {
    let moments = undisturbed();
    let mut points = 0;
    for (kind, _) in KINDS {
        for point in ["before", "commit", "after"] {
            let crashed = crash_and_go_on(kind, point, &moments);
            assert!(crashed, "{kind}, {point}: it was never reached");
            points += 1;
        }
        // A crash after every few instructions of SQLite's machine, until the transaction is
        // complete.
        let within =
            (1..).step_by(3).take_while(|step| crash_and_go_on(kind, &step.to_string(), &moments));
        let within = within.count();
        assert!(within > 0, "{kind}: nothing happens within the transaction");
        points += within;
    }
    println!("{points} crash points in {} kinds of writes", KINDS.len());
}

/// Lets a child die and checks the ledger. Returns `false` if the child lived to the end.
fn crash_and_go_on(kind: &str, point: &str, moments: &[String]) -> bool {
    let (_folder, path) = scratch();
    let orders = format!("{} {kind} {point}", path.display());
    let child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "tests::crashes::dies_as_it_is_told", "--ignored", "--nocapture"])
        .env(ORDERS, &orders)
        .output()
        .expect("this program can be started");
    if child.status.success() {
        return false;
    }
    let said = String::from_utf8_lossy(&child.stdout);
    // Windows reports an aborted process by an exit code.
    let aborted =
        if cfg!(unix) { child.status.code().is_none() } else { child.status.code() != Some(101) };
    assert!(aborted, "{orders}: it must abort, not panic: {said}");
    let mut acknowledged = said.lines().filter_map(|line| line.strip_prefix("acknowledged "));
    let acknowledged = acknowledged.next_back().map_or(0, |n| n.parse().expect("a number"));

    // Everything acknowledged is there, and the last batch is there completely or not at all.
    let there = acknowledged + usize::from(point == "after");
    let ledger = open(&path).expect("it is sound");
    assert_eq!(contents(&ledger.db), moments[there], "{orders}");
    drop(ledger);

    // The next process continues from there.
    let mut ledger = open(&path).expect("it is sound");
    let restored = ledger.take_restored();
    assert_eq!(play(&ledger, restored, |_| (), |_| ()), exact(), "{orders}");
    drop(ledger);
    let ledger = open(&path).expect("it is sound");
    let [job] = &ledger.restored.jobs[..] else { panic!("{orders}: another number of jobs") };
    assert_eq!((job.stored.state, job.counted, job.disputes.len()), exact(), "{orders}");
    true
}

/// What the ledger must hold after each batch.
fn undisturbed() -> Vec<String> {
    let ledger = empty();
    let mut moments = vec![contents(&ledger.db)];
    let end = play(&ledger, Restored::default(), |_| (), |_| moments.push(contents(&ledger.db)));
    assert_eq!(end, exact());
    moments
}

static ARMED: AtomicBool = AtomicBool::new(false);
static STEPS: AtomicU32 = AtomicU32::new(0);

#[test]
#[ignore = "the process that the other test lets die"]
fn dies_as_it_is_told() {
    const INSTRUCTIONS: i32 = 32;
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let mut orders = orders.split(' ');
    let mut next = || orders.next().expect("there are three words");
    let (path, kind, point) = (next(), next(), next());
    let (_, is_meant) = KINDS.into_iter().find(|(name, _)| *name == kind).expect("it is a kind");
    let mut ledger = open(Path::new(path)).expect("it is sound");
    let restored = ledger.take_restored();
    if let Ok(last) = point.parse::<u32>() {
        let step = move || {
            if ARMED.load(Ordering::Relaxed) && STEPS.fetch_add(1, Ordering::Relaxed) + 1 == last {
                std::process::abort();
            }
            false
        };
        ledger.db.progress_handler(INSTRUCTIONS, Some(step)).expect("it can be watched");
    }
    if point == "commit" {
        let commit = || {
            if ARMED.load(Ordering::Relaxed) {
                std::process::abort();
            }
            false
        };
        ledger.db.commit_hook(Some(commit)).expect("it can be watched");
    }
    let mut is_met = false;
    let before = |batch: &[LedgerCommand]| {
        let is_it = is_meant(batch) && !is_met;
        is_met |= is_it;
        ARMED.store(is_it, Ordering::Relaxed);
        if is_it && point == "before" {
            std::process::abort();
        }
    };
    let after = |batches| {
        if ARMED.swap(false, Ordering::Relaxed) && point == "after" {
            std::process::abort();
        }
        println!("\nacknowledged {batches}");
    };
    play(&ledger, restored, before, after);
}

/// The content of a ledger as text, without the times and the epochs.
fn contents(db: &Connection) -> String {
    let texts = |query: &str| -> Vec<String> {
        let mut statement = db.prepare(query).expect("the tables are there");
        let rows = statement.query_map([], |row| row.get(0)).expect("it can be read");
        rows.map(|row| row.expect("it is text")).collect()
    };
    let queries = "SELECT format('SELECT concat_ws('' '', ''%s'', %s) FROM %s', t.name, \
                   group_concat('quote(\"' || c.name || '\")'), t.name) \
                   FROM sqlite_schema t, pragma_table_info(t.name) c \
                   WHERE t.type = 'table' AND t.name <> 'epochs' AND c.name NOT GLOB '*_at' \
                   GROUP BY t.name";
    let mut rows: Vec<String> = texts(queries).iter().flat_map(|query| texts(query)).collect();
    rows.sort();
    rows.join("\n")
}

/// The state, the total and the number of open disputes at the end.
fn exact() -> (JobState, u128, usize) {
    (JobState::Done, ranges().map(|(_, count)| u128::from(count)).sum(), 0)
}

/// Plays a short history, which is the same in every process. A job is submitted, paused and
/// resumed. One worker counts it wrongly and a second one contradicts that, so a third worker is
/// asked, and then the second one again. Then all of the job is counted again. Another job of the
/// same plan is cancelled and removed.
///
/// `before` gets each batch before it is written, `after` gets the number of batches written so
/// far.
fn play(
    ledger: &Ledger,
    restored: Restored,
    before: impl FnMut(&[LedgerCommand]),
    after: impl FnMut(usize),
) -> (JobState, u128, usize) {
    let farm = Farm::restore(config(), key(), Millis(0), restored, |_, _| Known::nothing());
    let mut history = History { farm, ledger, batches: 0, before, after };
    history.go_on(vec![Event::Tick]);
    let submission = || {
        let (origin, plan, shard) = (Origin::default(), plan(), Shard::ALL);
        let spec = JobSpec { origin, plan, shard, priority: 0 };
        let known = Box::new(Known::nothing());
        asked(Request::Submit(vec![farm::Submission { spec, audit: None, known }]))
    };
    if history.farm.job(JOB).is_none() {
        history.go_on(vec![submission()]);
    }
    for change in [Change::Pause, Change::Resume] {
        history.go_on(vec![asked(Request::Change(JOB, change))]);
    }
    for (session, worker) in [(1, "wrong"), (2, "right"), (3, "third")] {
        let hello = Hello {
            worker: worker.into(),
            machine: worker.into(),
            build: "1.2.3".into(),
            backend: "portable".into(),
            instance: session,
            threads: 1,
            credit: 1,
            holding: Vec::new(),
            methods: Vec::new(),
        };
        let (session, owner) = (SessionId(session), OWNER.into());
        history.go_on(vec![Event::Joined { session, owner, is_trusted: false, hello }]);
    }

    let said = |job, name, kind, session, (range, count): (Range, u64)| {
        // Each range has its own lease, so that neighbours do not become one row.
        let lease = LeaseId(1 + range.start());
        let token = LeaseToken::new(range, kind, [0; 16]);
        let report = Report { job, lease, token, kernel: kernel(name), ..report(range, count) };
        let token = key().sign(&Holding::of_report(&report), OWNER);
        Event::Said(SessionId(session), WorkerMessage::Report(Report { token, ..report }))
    };
    let count = |job, session, counted| said(job, "avx2", LeaseKind::Count, session, counted);
    let recount = |session, counted| said(JOB, "portable", LeaseKind::Recount, session, counted);
    let first = ranges().next().expect("there are some");
    history.go_on(vec![count(JOB, 1, (first.0, first.1 + 1))]);
    history.go_on(ranges().map(|right| count(JOB, 2, right)).collect());
    history.go_on(vec![recount(3, first)]);
    history.go_on(vec![recount(2, first)]);
    let audit = Change::Audit { policy: everything(1, false), narrows: true };
    history.go_on(vec![asked(Request::Change(JOB, audit))]);
    history.go_on(ranges().map(|right| recount(3, right)).collect());
    // If the job was done before the second worker contradicted, a third worker is asked only now.
    history.go_on(vec![recount(2, first)]);
    let other = |farm: &Farm| farm.jobs(.., |_| true).map(|job| job.id).find(|id| *id != JOB);
    if other(&history.farm).is_none() {
        history.go_on(vec![submission()]);
    }
    let other = other(&history.farm).expect("it was submitted");
    history.go_on(ranges().map(|right| count(other, 3, right)).collect());
    history.go_on(vec![asked(Request::Change(other, Change::Cancel))]);
    history.go_on(vec![asked(Request::Remove(other))]);
    let job = history.farm.job(JOB).expect("it was submitted");
    (job.state, job.counted, job.disputes)
}

/// The ranges of a job, and the right count of each.
fn ranges() -> impl Iterator<Item = (Range, u64)> {
    (0..100).step_by(12).map(|start| (interval(start, 100.min(start + 12)), 1 + start))
}

fn asked(ask: Request) -> Event {
    Event::Asked(RequestId(1), "lab".into(), ask)
}

struct History<'a, B, A> {
    farm: Farm,
    ledger: &'a Ledger,
    batches: usize,
    before: B,
    after: A,
}

impl<B: FnMut(&[LedgerCommand]), A: FnMut(usize)> History<'_, B, A> {
    /// Handles events and all events that follow from them.
    fn go_on(&mut self, mut events: Vec<Event>) {
        loop {
            let effects = events.drain(..).flat_map(|event| self.farm.step(Millis(0), event));
            let for_ledger = effects.filter_map(|effect| match effect {
                Effect::Ledger(asker, command) => Some((asker, command)),
                _ => None,
            });
            let (askers, batch): (Vec<_>, Vec<_>) = for_ledger.unzip();
            if batch.is_empty() {
                return;
            }
            (self.before)(&batch);
            let answers = self.ledger.apply(&batch).expect("the disk is sound");
            let answered = askers.into_iter().zip(batch).zip(answers);
            let event =
                |((asker, command), answer)| Event::Ledger { asker, command, answer, at_ms: 0 };
            events = answered.map(event).collect();
            self.batches += 1;
            (self.after)(self.batches);
        }
    }
}
