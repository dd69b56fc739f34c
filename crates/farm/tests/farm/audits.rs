//! Tests of audits: another worker counts accepted ranges again with another kernel.

use farm::{
    AuditPolicy, Change, Effect, Event, Hello, JobId, JobState, LeaseId, LedgerCommand, Refusal,
    Report, RequestId, SessionId, Verdict, WorkerMessage,
};

use crate::stage::{
    AUDIT_ALL, Stage, asked_again, audit, audits, change, checked_count, hello, kernel, plan,
    proven, range, recount, report, report_of, work,
};

/// A job of 4 tasks under a full audit. w1 has counted all of it.
fn counted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    (stage, job)
}

fn ask(stage: &mut Stage, job: JobId, policy: AuditPolicy) -> Result<JobId, Refusal> {
    stage.ask(change(RequestId(70), job, audit(policy)))
}

fn confirmations(stage: &Stage) -> usize {
    stage.commands.iter().filter(|command| matches!(command, LedgerCommand::Confirm(..))).count()
}

#[test]
fn the_checked_kernel_confirms_nothing_and_is_not_asked_again() {
    let (mut stage, job) = counted();
    let stubborn = stage.join("w2", 10);
    let lease = stage.last_lease(stubborn);

    let verdict = recount(&mut stage, stubborn, lease, "portable");

    assert_eq!((verdict, stage.leases(stubborn).len()), (Some(Verdict::Agreed), 1));
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Running, (1, 0)));
    let stranded = |stage: &Stage| stage.farm.job(job).expect("it exists").audits_stranded;
    assert_eq!(stranded(&stage), Some(1), "nobody else is connected");
    let idle = stage.join("w3", 0);
    assert_eq!(stranded(&stage), Some(0), "another may count it");
    stage.act(Event::Left(idle));
    let three = stage.join("w3", 10);
    assert_eq!(stage.last_lease(three).range, lease.range);
}

#[test]
fn a_worker_asked_about_a_removed_row_may_check_the_next_one() {
    // Given: w2 was asked for another kernel than avx512, and counted with portable. The checked
    // row was replaced meanwhile: the ledger has another row by w1, counted with portable.
    let (mut stage, job) = counted();
    let two = stage.join("w2", 0);
    let late = Report { kernel: kernel("portable"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(two, asked_again(late)), Some(Verdict::Agreed));

    stage.act(Event::Said(two, WorkerMessage::Credit(10)));

    assert_eq!(stage.last_lease(two).recount.map(|r| r.unlike), Some(kernel("portable")));
}

#[test]
fn an_owner_that_contradicts_unasked_is_not_asked() {
    // Given: a machine of rack8 reports a late count that contradicts w1's range, and repeats it.
    let mut stage = Stage::new();
    let job = stage.submit(5, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(5), range(0, 4)));
    let liar = SessionId(2);
    stage.join_as(liar, "rack8", hello("w2", 0));
    let lie = Report {
        checked_count: checked_count(plan(5), range(0, 4), 1),
        ..report(job, plan(5), range(0, 4))
    };
    for _ in 0..3 {
        let verdict = stage.report_as_is(liar, proven(lie.clone(), "rack8"));
        assert_eq!(verdict, Some(Verdict::Superseded));
    }

    // When machines of rack8 and of another owner want work
    for (number, owner) in [(3, "rack8"), (4, "rack9")] {
        let hello = Hello { instance: number, ..hello(&format!("w{number}"), 10) };
        stage.join_as(SessionId(number), owner, hello);
    }

    // Then only the other owner's machine counts the range again, and the ledger has one record of
    // the doubt.
    let is_recount = |number| stage.leases(SessionId(number)).iter().any(|l| l.recount.is_some());
    assert_eq!([3, 4].map(is_recount), [false, true]);
    let doubts = |stage: &Stage| {
        let is_doubt = |command: &&LedgerCommand| matches!(command, LedgerCommand::Doubt(..));
        stage.commands.iter().filter(is_doubt).count()
    };
    assert_eq!(doubts(&stage), 1);

    // Once the range is confirmed, repetitions are not recorded either.
    let lease = stage.leases(SessionId(4)).into_iter().find(|lease| lease.recount.is_some());
    recount(&mut stage, SessionId(4), lease.expect("it was leased"), "reference");
    for _ in 0..3 {
        stage.report_as_is(liar, proven(lie.clone(), "rack8"));
    }
    assert_eq!((audits(&stage, job), doubts(&stage)), ((0, 1), 2));
}

#[test]
fn a_recount_confirms_and_ends_the_same_recount_elsewhere() {
    // Given: w3 had a recount, and lost the lease to w2.
    let (mut stage, job) = counted();
    let late = stage.join("w3", 10);
    let asked = stage.last_lease(late);
    let busy = stage.join("w2", 10);
    stage.tick(60_000);
    let lease = stage.last_lease(busy);

    recount(&mut stage, late, asked, "avx512");
    assert!(stage.revoked(lease.id));
    recount(&mut stage, busy, lease, "reference");

    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Done, 1));
    assert_eq!(stage.leases(busy).len(), 1);
}

#[test]
fn a_recount_is_leased_once_while_the_ledger_looks_it_up() {
    let (mut stage, _) = counted();
    let two = stage.join("w2", 100);
    let lease = stage.last_lease(two);

    let report = Report { kernel: kernel("reference"), ..report_of(&lease, lease.range) };
    let effects = stage.farm.step(farm::Millis(0), Event::Said(two, WorkerMessage::Report(report)));

    let [Effect::Ledger(_, command)] = &effects[..] else { panic!("{effects:?}") };
    assert!(matches!(command, LedgerCommand::Compare(..)), "{command:?}");
}

#[test]
fn a_done_job_stays_done_during_an_audit_and_a_restart() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    assert_eq!(stage.state(job).0, JobState::Done);

    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Ok(job));
    for _ in 0..2 {
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (1, 0)));
        let cancelled = stage.ask(change(RequestId(71), job, Change::Cancel));
        assert_eq!(cancelled, Err(Refusal::Over(job, JobState::Done)));
        stage.restart();
    }
    let two = stage.join("w2", 10);
    work(&mut stage, two);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
    let ends = stage.sent.iter().filter(|e| **e == Effect::AtRest(job)).count();
    assert_eq!(ends, 1);
    let three = stage.join("w3", 10);
    assert!(stage.leases(three).is_empty(), "nothing more is counted again");
}

#[test]
fn an_audit_is_withdrawn_from_a_done_job_and_a_waiting_one() {
    for is_done in [true, false] {
        let mut stage = Stage::new();
        let job = if is_done { stage.submit(8, 0) } else { stage.submit_audited(8) };
        let one = stage.join("w1", 0);
        stage.report(one, report(job, plan(8), range(0, 4)));
        stage.report(one, report(job, plan(8), range(4, 8)));
        if is_done {
            ask(&mut stage, job, AUDIT_ALL).expect("it is done");
        }
        let waiting = audits(&stage, job).0;
        assert!(waiting > 0, "they wait");
        let two = stage.join("w2", 4);
        let leased = stage.last_lease(two);

        ask(&mut stage, job, AuditPolicy { share_ppm: 0, ..AUDIT_ALL }).expect("it is there");

        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 8), (0, 0)));
        assert!(stage.revoked(leased.id), "nobody wants it any more");
        recount(&mut stage, two, leased, "reference");
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 8), (0, 0)));
        stage.restart();
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 8), (0, 0)));
    }
}

#[test]
fn a_withdrawal_ends_recounts_that_are_being_ordered() {
    // Given: a recount has arrived, and the ledger looks up the rows of its range.
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    let leased = stage.last_lease(two);
    stage.slow_disk = true;
    let nothing = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
    stage.act(change(RequestId(71), job, audit(nothing)));
    recount(&mut stage, two, leased, "reference");
    stage.flush();
    stage.flush();

    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, 0)));
}

#[test]
fn a_contradiction_reopens_a_done_job() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    ask(&mut stage, job, AUDIT_ALL).expect("it is done");
    let two = stage.join("w2", 10);
    let leased = stage.last_lease(two);

    let (checked_count, kernel) = (checked_count(plan(4), range(0, 4), 5), kernel("reference"));
    let other = report_of(&leased, leased.range);
    stage.report_as_is(two, Report { checked_count, kernel, ..other });

    let view = stage.farm.job(job).expect("it is there");
    assert_eq!((view.state, view.total, view.disputes), (JobState::Running, None, 1));
}

#[test]
fn an_audit_of_nothing_ends_at_once() {
    let mut stage = Stage::new();
    let job = stage.submit(0, 0);

    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Ok(job));

    assert_eq!(stage.state(job), (JobState::Done, 0));
}

#[test]
fn a_job_that_is_cancelled_is_not_audited() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    let lease = stage.last_lease(two);

    stage.act(change(RequestId(1), job, Change::Cancel));

    assert!(stage.revoked(lease.id));
    assert_eq!(recount(&mut stage, two, lease, "reference"), Some(Verdict::Obsolete));
    let over = Refusal::Over(job, JobState::Cancelled);
    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Err(over));
    assert_eq!(ask(&mut stage, JobId(9), AUDIT_ALL), Err(Refusal::NoSuchJob(JobId(9))));
}

#[test]
fn a_paused_job_is_audited_when_it_goes_on() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    stage.act(change(RequestId(1), job, Change::Pause));
    assert!(stage.revoked(stage.last_lease(two).id));
    assert_eq!(stage.leases(two).len(), 1);

    stage.act(change(RequestId(2), job, Change::Resume));
    work(&mut stage, two);

    assert_eq!(stage.state(job), (JobState::Done, 4));
}

/// Makes a worker send signs of life for its latest lease until it is revoked. Returns how long the
/// worker kept it, in minutes.
fn hold_on(stage: &mut Stage, session: SessionId) -> u64 {
    let (lease, begun) = (stage.last_lease(session).id, stage.now);
    while !stage.revoked(lease) {
        stage.act(Event::Said(session, WorkerMessage::Working(lease)));
        stage.tick(stage.now + 30_000);
        assert!(stage.now - begun < 24 * 3_600_000, "it keeps it for a day");
    }
    (stage.now - begun) / 60_000
}

#[test]
fn signs_of_life_keep_a_recount_for_at_most_64_deadlines() {
    // Given: a liar is asked first, and only sends signs of life.
    let (mut stage, job) = counted();
    let liar = stage.join("w2", 10);
    assert_eq!(hold_on(&mut stage, liar), 64);

    // Then another worker is asked and has twice as long. After that, the liar is asked again.
    assert_eq!(stage.leases(liar).len(), 1);
    let slow = stage.join("w3", 10);
    assert_eq!(hold_on(&mut stage, slow), 128);
    let lease = stage.last_lease(liar);
    assert_eq!((stage.leases(liar).len(), lease.range), (2, range(0, 4)));
    recount(&mut stage, liar, lease, "reference");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn one_sign_of_life_does_not_put_a_worker_before_others() {
    let (mut stage, job) = counted();
    let liar = stage.join("w2", 10);
    let other = stage.join("w3", 10);
    let lease = stage.last_lease(liar).id;
    stage.act(Event::Said(liar, WorkerMessage::Working(lease)));
    while !stage.revoked(lease) {
        stage.tick(stage.now + 30_000);
    }
    assert_eq!(stage.leases(liar).len(), 1);
    let lease = stage.last_lease(other);
    recount(&mut stage, other, lease, "reference");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_lone_machine_is_asked_again_with_a_longer_deadline() {
    let (mut stage, job) = counted();
    let only = stage.join("w2", 10);
    hold_on(&mut stage, only);
    let (held_ms, rested) = (stage.now, stage.farm.next_wakeup().expect("it is waited for").0);
    assert_eq!(rested, 2 * held_ms, "it rests as long as it has kept the range");

    stage.tick(rested);

    let lease = stage.last_lease(only);
    assert_eq!((stage.leases(only).len(), lease.range), (2, range(0, 4)));
    for minute in 1..100 {
        stage.now = rested + 59_000 * minute;
        stage.act(Event::Said(only, WorkerMessage::Working(lease.id)));
    }
    recount(&mut stage, only, lease, "reference");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_report_of_another_lease_does_not_end_a_rest() {
    // Given: w2 holds a recount, and has missed the deadline of another lease.
    let (mut stage, _) = counted();
    let two = stage.join_with("w2", 4);
    let recount = stage.last_lease(two);
    let other = stage.submit(100, 1);
    let lease = stage.last_lease(two);
    assert_eq!(lease.job, other);
    stage.now = 50_000;
    stage.act(Event::Said(two, WorkerMessage::Working(recount.id)));
    stage.tick(60_000);
    assert!(stage.revoked(lease.id) && !stage.revoked(recount.id));
    let leases = stage.leases(two).len();

    stage.now = 61_000;
    stage.act(Event::Said(two, WorkerMessage::Working(recount.id)));
    stage.tick(62_000);

    assert_eq!(stage.leases(two).len(), leases);
}

#[test]
fn more_audits_than_the_farm_remembers_are_all_done() {
    let tasks = 2_000;
    let mut stage = Stage::new();
    let job = stage.submit_audited(tasks);
    let one = stage.join("w1", 0);
    for task in 0..tasks {
        stage.report(one, report(job, plan(tasks), range(task, task + 1)));
    }
    assert_eq!(audits(&stage, job), (tasks, 0));

    let two = stage.join("w2", 1);
    work(&mut stage, two);

    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, tasks)));
}

#[test]
fn an_owner_with_invented_machines_gets_one_turn() {
    // Given: two machines of mallory are asked before an honest one, and the first only sends signs
    // of life.
    let (mut stage, job) = counted();
    let liars = [2, 3].map(SessionId);
    for (liar, worker) in liars.into_iter().zip(["w2", "w3"]) {
        stage.join_as(liar, "mallory", hello(worker, 10));
    }
    let honest = stage.join("w4", 10);

    hold_on(&mut stage, liars[0]);

    assert_eq!(stage.leases(liars[1]), []);
    let lease = stage.last_lease(honest);
    recount(&mut stage, honest, lease, "reference");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn late_counts_of_one_owner_do_not_silence_another_owner() {
    // Given: single rows of w1, and late counts of mallory that contradict as many of them as the
    // farm remembers.
    let remembered = 512;
    let tasks = remembered + 2;
    let mut stage = Stage::new();
    let job = stage.submit(tasks, 0);
    let one = stage.join("w1", 0);
    let of =
        |task| Report { lease: LeaseId(task), ..report(job, plan(tasks), range(task, task + 1)) };
    for task in 0..=remembered {
        stage.report(one, of(task));
    }
    let lie = |task| Report {
        checked_count: checked_count(plan(tasks), range(task, task + 1), 1),
        ..of(task)
    };
    for (session, owner) in [(2, "mallory"), (3, "rack8")] {
        stage.join_as(SessionId(session), owner, hello(&format!("w{session}"), 0));
    }
    for task in 0..remembered {
        stage.report_as_is(SessionId(2), proven(lie(task), "mallory"));
    }

    stage.report_as_is(SessionId(3), proven(lie(remembered), "rack8"));

    assert_eq!(audits(&stage, job), (remembered + 1, 0));
}

#[test]
fn an_audit_behind_another_job_says_so_and_may_come_first() {
    // Given a job that is done, and a worker that counts one of higher priority
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let other = stage.submit(1_000, 5);
    stage.join("w2", 10);

    ask(&mut stage, job, AUDIT_ALL).expect("it is done");
    let view = stage.farm.job(job).expect("it exists");
    let waits_for = view.waits_for.clone().unwrap_or_default();
    assert!(waits_for.contains(&format!("job {other}")), "{waits_for}");
    assert!(view.remarks().iter().any(|it| it.contains("to be counted again")), "{view:?}");

    let priority = change(RequestId(71), job, Change::Priority(9));
    stage.ask(priority).expect("it is served while it is audited");
    let three = stage.join("w3", 10);
    assert_eq!(stage.last_lease(three).job, job);
}
