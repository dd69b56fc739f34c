//! What is applied, refused, answered and read back.

use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::*;
use crate::LedgerLock;

#[test]
fn a_range_that_was_counted_twice_is_one_for_jobs_and_for_contributors() {
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    ledger.db.execute_batch(&confirm_all()).expect("it is SQL");
    let view = LedgerView::open(&path).expect("it can be read beside its writer");
    let credits = view.credits(&CreditOf::Owners).expect("it can be read");
    assert_eq!(credits.iter().map(|credit| credit.agreed).sum::<u64>(), 1);
    drop((view, ledger));
    let ledger = open(&path).expect("it opens");
    assert_eq!(read(&ledger)[0].audits_agreed, 1);
}

/// Who counted, and for how long, is told the same after the jobs are removed and the ledger was
/// opened again. What is kept of it does not grow with the number of removed jobs.
#[test]
fn contributors_keep_their_credit_when_jobs_are_removed() {
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    ledger.db.execute_batch(&confirm_all()).expect("it is SQL");
    let by = |start, end, worker| range_by(start, end, 3, worker);
    let dispute = LedgerCommand::Dispute(report(interval(20, 30), 8), provenance("c"));
    ledger.apply(&[by(20, 30, "a"), by(30, 35, "b"), dispute]).expect("it is written");
    let told = |of: &CreditOf| {
        let view = LedgerView::open(&path).expect("it can be read beside its writer");
        let mut all = view.credits(of).expect("it can be read");
        all.sort_by(|a, b| a.worker.cmp(&b.worker));
        all
    };
    let of = [CreditOf::Owners, CreditOf::Workers(OWNER.into())];
    let before = of.each_ref().map(told);
    let [owners, workers] = &before;
    assert_eq!((owners.len(), workers.len()), (1, 4), "{before:?}");
    assert_eq!((owners[0].tasks, owners[0].agreed, owners[0].contradicted), (25, 1, 1));

    ledger.apply(&[change(Change::Cancel), LedgerCommand::Remove(JOB)]).expect("it is over");
    ledger.close().expect("it can be closed");
    let ledger = open(&path).expect("its tables are ours");
    assert_eq!(of.each_ref().map(told), before);
    let one = told(&CreditOf::Jobs(principal("a"), "a".into()));
    assert_eq!(one.iter().map(|it| (it.job, it.tasks)).collect::<Vec<_>>(), [(None, 10)]);

    // What is removed later is added to it.
    let LedgerCommand::CreateJob { spec, .. } = new_job() else { unreachable!("it is one") };
    let job = JobId(2);
    let report = Report { job, ..report(interval(0, 10), 3) };
    let accept = LedgerCommand::Accept { report, provenance: provenance("a"), audit: false };
    let cancel = LedgerCommand::Change { job, change: Change::Cancel, by: OWNER.into() };
    let create = LedgerCommand::CreateJob { job, spec, audit: None };
    ledger.apply(&[create, accept, cancel]).expect("it is written");
    let hours = || ledger.read_back().expect("it can be read").hours;
    let (with_both, taken) = (told(&of[0]), hours());
    assert_eq!((with_both[0].tasks, with_both[0].agreed), (35, 1));
    ledger.apply(&[LedgerCommand::Remove(job)]).expect("it is over");
    assert_eq!((told(&of[0]), hours()), (with_both, taken));
    let rows = "SELECT count(*) = count(DISTINCT day) FROM removed_hours";
    let is_one: bool = ledger.db.query_row(rows, [], |row| row.get(0)).expect("it is SQL");
    assert!(is_one, "both jobs were counted by one owner, on a day or two");
}

#[test]
fn people_see_what_was_counted_by_whom_and_when_while_the_ledger_is_written() {
    let (_folder, path) = scratch();
    let ledger = open(&path).expect("it opens");
    let by = |start, end, worker| range_by(start, end, 1, worker);
    let dispute = LedgerCommand::Dispute(report(interval(0, 10), 8), provenance("c"));
    let priority = |priority| {
        let by = "admin".into();
        LedgerCommand::Change { job: JOB, change: Change::Priority(priority), by }
    };
    let audit = LedgerCommand::Change {
        job: JOB,
        change: Change::Audit { policy: everything(1, false), narrows: true },
        by: "auditor".into(),
    };
    let (begun, counted) = (LedgerCommand::NoteBegun(JOB), LedgerCommand::NoteCounted(JOB));
    let (again, runs) = (counted.clone(), change(Change::Resume));
    let changes = [begun, priority(5), priority(5), runs, audit, counted, again];
    let written = [new_job(), by(20, 30, "b"), by(0, 10, "a"), dispute];
    ledger.apply(&written).expect("it is written");
    ledger.apply(&changes).expect("it is written");
    ledger.apply(&[change(Change::Cancel)]).expect("it is written");

    // The job is submitted in the millisecond in which the ledger was opened. Its log must begin
    // after the opening.
    let same = "UPDATE epochs SET opened_at = (SELECT submitted_at FROM jobs)";
    ledger.db.execute(same, []).expect("it is written");
    let view = LedgerView::open(&path).expect("it can be read beside its writer");
    let mut ranges = Vec::new();
    view.ranges(JOB, |range, worker, is_audited| {
        ranges.push((range, worker.to_string(), is_audited));
        ControlFlow::Continue(())
    })
    .expect("it can be read");
    let plain = |start, end, worker: &str| (interval(start, end), worker.to_string(), false);
    assert_eq!(ranges, [plain(0, 10, "a"), plain(20, 30, "b")]);

    let credits = |of| {
        let credits = view.credits(&of).expect("it can be read").into_iter();
        let reported = |it: Credit| (it.worker, it.job, it.tasks, it.placements, it.contradicted);
        credits.map(reported).collect::<Vec<_>>()
    };
    assert_eq!(credits(CreditOf::Owners), [(String::new(), None, 20, 2.0, 1)]);
    let mut workers = credits(CreditOf::Workers(OWNER.into()));
    workers.sort_by(|a, b| a.0.cmp(&b.0));
    let of = |name: &str, tasks, placements, contradicted| {
        (name.to_string(), None, tasks, placements, contradicted)
    };
    assert_eq!(workers, [of("a", 10, 1.0, 0), of("b", 10, 1.0, 0), of("c", 0, 0.0, 1)]);
    let of_one = credits(CreditOf::Jobs(principal("a"), "a".into()));
    assert_eq!(of_one, [("a".into(), Some(JOB), 10, 1.0, 0)]);
    assert_eq!(credits(CreditOf::Workers("nobody".into())), []);

    let mut first = Vec::new();
    view.ranges(JOB, |range, _, _| {
        first.push(range);
        ControlFlow::Break(())
    })
    .expect("it can be read");
    assert_eq!(first, [interval(0, 10)], "who breaks off sees no more");

    let log = view.incidents(JOB).expect("it can be read");
    for text in [
        &format!("submitted by {OWNER}"),
        &format!(
            "the count of [0, 10) by c ({OWNER}/c) is kept as evidence: it contradicts another, or is distrusted"
        ),
        "its first tasks were leased",
        "all its tasks were counted",
        "given the priority 5 by admin",
        "an audit of 100% of the ranges was ordered by auditor",
        &format!("cancelled by {OWNER}"),
    ] {
        let times = log.iter().filter(|incident| incident.text == text).count();
        assert_eq!(times, 1, "{text} in {log:?}");
    }
    assert_eq!(log.len(), 7, "what changes nothing is not told: {log:?}");
    assert!(log.is_sorted_by_key(|incident| std::cmp::Reverse(incident.at_ms)));
    view.incidents(JobId(2)).expect_err("there is no such job");

    // The next coordinator reads the times of the job.
    let set = "UPDATE jobs SET counted_at = begun_at + 9, paused_ms = 2";
    ledger.db.execute(set, []).expect("it is written");
    ledger.apply(&[priority(7)]).expect("it is written");
    let [job] = read(&ledger);
    assert_eq!(job.stored.times.counting(), Some(Duration::from_millis(7)));
}

#[test]
fn a_job_has_all_its_tasks_until_a_worker_that_counted_some_is_distrusted() {
    let (_folder, path) = scratch();
    let ledger = open(&path).expect("it opens");
    let counted = LedgerCommand::NoteCounted(JOB);
    let finish = LedgerCommand::Finish { job: JOB, tasks: 100, total: 7, reason: None };
    ledger.apply(&[new_job(), range(0, 100, 7), counted, finish]).expect("it is written");
    assert!(read(&ledger)[0].stored.times.counted_at_ms.is_some());

    let party = principal("worker").party(AuditScope::Machines);
    let distrust = LedgerCommand::Trust { party, trusted: false, reason: "it lies".into() };
    ledger.apply(&[distrust]).expect("it is written");

    let [job] = read(&ledger);
    assert_eq!((job.stored.state, job.stored.times.counted_at_ms), (JobState::Running, None));
    let view = LedgerView::open(&path).expect("it can be read beside its writer");
    let log = view.incidents(JOB).expect("it can be read");
    assert!(log.iter().any(|it| it.text == "counts of it were taken back"), "{log:?}");
}

#[test]
fn answers_come_in_order_and_a_comparison_reads_few_rows_of_those_written_before() {
    let compare = |end| LedgerCommand::Compare(report(interval(0, end), 1), provenance("c"));
    let rows: Vec<_> = (0..1_000).map(|task| range(task, task + 1, 7)).collect();
    let answers = ledger_with(&[]).apply(&[&rows[..], &[compare(10), compare(1_000)]].concat());
    let answers = answers.expect("they are written");
    let (written, last) = answers.split_last_chunk::<2>().expect("there are two at least");
    assert!(written.iter().all(|answer| *answer == LedgerAnswer::Written), "{written:?}");
    let [LedgerAnswer::Compared(Some(result)), LedgerAnswer::Compared(None)] = last else {
        panic!("{last:?}");
    };
    assert_eq!(result.count, 10 * 7);
}

#[test]
fn what_only_those_confirmed_that_are_distrusted_is_joined_as_unconfirmed_or_left_out() {
    // Given: two machines that are distrusted have confirmed all rows of a part, and one has
    // counted a row.
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("part.db");
    let part = open(&path).expect("it opens");
    let rows = [("honest", 0, 50), ("liar", 50, 60), ("honest", 60, 100)];
    let confirm = |(start, end), worker: &str| {
        let report = Report { kernel: kernel("reference"), ..report(interval(start, end), 1) };
        LedgerCommand::Confirm(report, provenance(worker))
    };
    part.apply(&[new_job()]).expect("it is written");
    part.apply(&rows.map(|(worker, start, end)| range_by(start, end, 1, worker)))
        .expect("it is written");
    let audit = audit(JOB, everything(1, false), "lab");
    let seconds = [((0, 50), "liar"), ((50, 60), "friend"), ((60, 100), "liar")];
    part.apply(&[audit]).expect("it is written");
    part.apply(&seconds.map(|(of, worker)| confirm(of, worker))).expect("they are apart");
    part.close().expect("it can be closed");

    let parties = ["liar", "friend"].map(|worker| principal(worker).party(AuditScope::Machines));
    let wrong = Distrusted(parties.into_iter().collect());
    let part = Evidence::open(&path).expect("it is sound");
    let joined = ledger_with(&[]);
    let absorbed = joined.absorb(JOB, &part, JOB, &wrong).expect("nothing conflicts");

    assert_eq!(absorbed.left_out, 10);
    let [job] = read(&joined);
    assert_eq!((job.counted, job.audits_agreed), (2, 0));
    assert_eq!(job.accepted, [interval(0, 50), interval(60, 100)].into_iter().collect());
}

#[test]
fn totals_pass_64_bits() {
    let ledger = ledger_with(&[range(0, 50, u64::MAX), range(50, 100, u64::MAX)]);
    let total = 2 * u128::from(u64::MAX);

    ledger
        .apply(&[LedgerCommand::Finish { job: JOB, tasks: 100, total, reason: None }])
        .expect("it is the sum");

    let [job] = read(&ledger);
    assert_eq!(job.counted, total);
}

/// Takes the lock of a ledger when it is woken.
struct Successor {
    ledger: PathBuf,
    has_lock: mpsc::SyncSender<bool>,
}

impl Wake for Successor {
    fn wake(self: Arc<Successor>) {
        // A process that another test starts has a copy of the lock until it runs its program.
        let is_free_soon = || (0..10).any(|_| LedgerLock::of(&self.ledger).is_ok());
        _ = self.has_lock.try_send(is_free_soon());
    }
}

#[test]
fn the_thread_answers_until_it_ends_and_then_says_why_and_leaves_the_ledger_to_others() {
    let (_folder, path) = scratch();
    let handle = spawn(ledger_in(&path));
    let mut events = handle.events;
    let send = |command| {
        let sent = handle.requests.blocking_send(LedgerRequest::Farm(Asker::Farm, command));
        sent.is_ok()
    };

    assert!(send(range(10, 20, 7)), "the thread runs");
    assert!(matches!(events.blocking_recv(), Some(LedgerEvent::Committed(..))));
    let answered = events.blocking_recv().expect("it answers");
    assert!(matches!(answered, LedgerEvent::Answered(Asker::Farm, _, LedgerAnswer::Written)));

    let (has_lock, woken) = mpsc::sync_channel(1);
    let waker = Waker::from(Arc::new(Successor { ledger: path, has_lock }));
    assert!(events.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    assert!(send(range(10, 20, 7)), "the thread runs");
    let has_lock = woken.recv_timeout(Duration::from_secs(60));
    assert_eq!(has_lock, Ok(true), "whoever hears that it has failed can open the ledger");
    assert!(matches!(events.blocking_recv(), Some(LedgerEvent::Failed(LedgerFault::Content(_)))));

    assert!(events.blocking_recv().is_none(), "that was the last word");
    assert!(!send(range(20, 30, 1)), "it takes no more");

    let (_folder, ledger) = scratch();
    let mut handle = spawn(ledger_in(&ledger));
    let (has_lock, woken) = mpsc::sync_channel(1);
    let waker = Waker::from(Arc::new(Successor { ledger, has_lock }));
    assert!(handle.events.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    drop(handle.requests);
    let has_lock = woken.recv_timeout(Duration::from_secs(60));
    assert_eq!(has_lock, Ok(true), "whoever hears that it is closed can open the ledger");
}

/// What a person sees who opens the ledger with `sqlite3`, and again once the job is removed.
#[test]
fn the_view_of_hours_tells_kinds_days_and_who_counted() {
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    let hour = 3_600_000_000_i64;
    let device = Report { kernel: kernel("gpu"), ..report(interval(20, 30), 1) };
    let principal = Principal { owner: "other".into(), machine: "b".into() };
    let provenance = Provenance { principal, ..provenance("b") };
    let by_device = LedgerCommand::Accept { report: device, provenance, audit: false };
    ledger.apply(&[range_by(10, 20, 1, "a"), by_device]).expect("it is written");
    let dispute = LedgerCommand::Dispute(report(interval(20, 30), 8), self::provenance("c"));
    ledger.apply(&[dispute, change(Change::Cancel)]).expect("it is written");
    // The first range on a day, the others on the next one; one of them by a device, and one of
    // them counted twice.
    let day_ms = 86_400_000;
    let times = format!(
        "UPDATE counts SET busy_us = {hour}, noted_at = {} WHERE place = 0;
         UPDATE counts SET noted_at = {} WHERE place = 0 AND first > 0;
         {} UPDATE counts SET busy_us = busy_us / 2 WHERE place = 1;
         UPDATE counts SET standing = 'agreed' WHERE place = 0 AND first = 10;
         UPDATE counts SET busy_us = {hour} / 4, noted_at = {0} WHERE place > 1",
        2 * day_ms - 1,
        2 * day_ms,
        copies(1, "second", "first = 10"),
    );
    ledger.db.execute_batch(&times).expect("it is SQL");
    let told = |ledger: &Ledger| -> String {
        let query = "SELECT group_concat(concat_ws(' ', counted_by, day, processor_hours, gpu_hours), ', ') \
                     FROM (SELECT * FROM accounting WHERE owner = 'owner' ORDER BY counted_by, day)";
        ledger.db.query_row(query, [], |row| row.get(0)).expect("there is such a view")
    };
    let wanted = "other 1970-01-03 0.0 1.0, owner 1970-01-02 1.25 0.0, owner 1970-01-03 1.5 0.0";
    assert_eq!(told(&ledger), wanted);
    let hours = ledger.read_back().expect("it can be read").hours;
    let taken = Hours { processor_us: 11 * hour as u64 / 4, gpu_us: hour as u64 };
    assert_eq!(hours, [(OWNER.to_string(), taken)].into());

    ledger.apply(&[LedgerCommand::Remove(JOB)]).expect("it is over");
    assert_eq!(told(&ledger), wanted, "a removed job has taken its time");
    ledger.close().expect("it can be closed");
    let ledger = open(&path).expect("its view is ours");
    assert_eq!(ledger.restored.hours, hours);
}

/// Workers may invent times, so the sums have a bound and cause no error. A floating-point number
/// of hours could not keep each microsecond.
#[test]
fn hours_keep_each_microsecond_up_to_a_bound_over_a_restart_and_a_removal() {
    const EXACT: u64 = (1 << 53) - 1;
    const BOUND: u64 = 4_000_000_000_000_000_000;
    for (busy_us, processor_us) in [(EXACT, EXACT), (i64::MAX as u64, BOUND)] {
        let folder = TempDir::new().expect("a temporary folder");
        let ledger = ledger_in(&folder.path().join("ledger.db"));
        let times = format!("UPDATE counts SET busy_us = {busy_us}");
        ledger.db.execute_batch(&times).expect("it is SQL");
        let taken = [(OWNER.to_string(), Hours { processor_us, gpu_us: 0 })].into();
        assert_eq!(ledger.read_back().expect("it can be read").hours, taken);

        ledger.apply(&[change(Change::Cancel)]).expect("it is written");
        ledger.apply(&[LedgerCommand::Remove(JOB)]).expect("it is over");
        assert_eq!(ledger.read_back().expect("it can be read").hours, taken);
    }
}
