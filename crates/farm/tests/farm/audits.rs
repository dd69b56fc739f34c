//! Tests of audits: another worker counts accepted ranges again with another kernel.

use farm::{
    AuditPolicy, AuditScope, Change, Effect, Event, Hello, JobId, JobState, Known, LeaseId,
    LedgerCommand, Refusal, Report, RequestId, SessionId, Verdict, WorkerMessage,
};

use crate::scene::{
    AUDIT_ALL, Scene, asked_again, at_work, audit, audits, change, checked_count, hello, kernel,
    plan, proven, range, recount, report, report_of, spec, work,
};

/// A job of 4 tasks under a full audit. w1 has counted all of it.
fn counted() -> (Scene, JobId) {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let one = scene.join("w1", 0);
    scene.report(one, report(job, plan(4), range(0, 4)));
    (scene, job)
}

fn ask(scene: &mut Scene, job: JobId, policy: AuditPolicy) -> Result<JobId, Refusal> {
    scene.ask(change(RequestId(70), job, audit(policy)))
}

fn confirmations(scene: &Scene) -> usize {
    scene.commands.iter().filter(|command| matches!(command, LedgerCommand::Confirm(..))).count()
}

#[test]
fn the_checked_kernel_confirms_nothing_and_is_not_asked_again() {
    let (mut scene, job) = counted();
    let stubborn = scene.join("w2", 10);
    let lease = scene.last_lease(stubborn);

    let verdict = recount(&mut scene, stubborn, lease, "portable");

    assert_eq!((verdict, scene.leases(stubborn).len()), (Some(Verdict::Agreed), 1));
    assert_eq!((scene.state(job).0, audits(&scene, job)), (JobState::Running, (1, 0)));
    let stranded = |scene: &Scene| scene.farm.job(job).expect("it exists").audits_stranded;
    assert_eq!(stranded(&scene), Some(1), "nobody else is connected");
    let idle = scene.join("w3", 0);
    assert_eq!(stranded(&scene), Some(0), "another may count it");
    scene.act(Event::Left(idle));
    let three = scene.join("w3", 10);
    assert_eq!(scene.last_lease(three).range, lease.range);
}

#[test]
fn a_worker_asked_about_a_removed_row_may_check_the_next_one() {
    // Given: w2 was asked for another kernel than avx512, and counted with portable. The checked
    // row was replaced meanwhile: the ledger has another row by w1, counted with portable.
    let (mut scene, job) = counted();
    let two = scene.join("w2", 0);
    let late = Report { kernel: kernel("portable"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(scene.report(two, asked_again(late)), Some(Verdict::Agreed));

    scene.act(Event::Said(two, WorkerMessage::Credit(10)));

    assert_eq!(scene.last_lease(two).recount.map(|r| r.unlike), Some(kernel("portable")));
}

#[test]
fn an_owner_that_contradicts_unasked_is_not_asked() {
    // Given: a machine of rack8 reports a late count that contradicts w1's range, and repeats it.
    let (mut scene, job, one) = at_work(5, 0);
    scene.report(one, report(job, plan(5), range(0, 4)));
    let liar = SessionId(2);
    scene.join_as(liar, "rack8", hello("w2", 0));
    let lie = Report {
        checked_count: checked_count(plan(5), range(0, 4), 1),
        ..report(job, plan(5), range(0, 4))
    };
    for _ in 0..3 {
        let verdict = scene.report_as_is(liar, proven(lie.clone(), "rack8"));
        assert_eq!(verdict, Some(Verdict::Superseded));
    }

    // When machines of rack8 and of another owner want work
    for (number, owner) in [(3, "rack8"), (4, "rack9")] {
        let hello = Hello { instance: number, ..hello(&format!("w{number}"), 10) };
        scene.join_as(SessionId(number), owner, hello);
    }

    // Then only the other owner's machine counts the range again, and the ledger has one record of
    // the doubt.
    let is_recount = |number| scene.leases(SessionId(number)).iter().any(|l| l.recount.is_some());
    assert_eq!([3, 4].map(is_recount), [false, true]);
    let doubts = |scene: &Scene| {
        let is_doubt = |command: &&LedgerCommand| matches!(command, LedgerCommand::Doubt(..));
        scene.commands.iter().filter(is_doubt).count()
    };
    assert_eq!(doubts(&scene), 1);

    // Once the range is confirmed, repetitions are not recorded either.
    let lease = scene.leases(SessionId(4)).into_iter().find(|lease| lease.recount.is_some());
    recount(&mut scene, SessionId(4), lease.expect("it was leased"), "reference");
    for _ in 0..3 {
        scene.report_as_is(liar, proven(lie.clone(), "rack8"));
    }
    assert_eq!((audits(&scene, job), doubts(&scene)), ((0, 1), 2));
}

#[test]
fn a_recount_confirms_and_ends_the_same_recount_elsewhere() {
    // Given: w3 had a recount, and lost the lease to w2.
    let (mut scene, job) = counted();
    let late = scene.join("w3", 10);
    let asked = scene.last_lease(late);
    let busy = scene.join("w2", 10);
    scene.tick(60_000);
    let lease = scene.last_lease(busy);

    recount(&mut scene, late, asked, "avx512");
    assert!(scene.revoked(lease.id));
    recount(&mut scene, busy, lease, "reference");

    assert_eq!((scene.state(job).0, confirmations(&scene)), (JobState::Done, 1));
    assert_eq!(scene.leases(busy).len(), 1);
}

#[test]
fn a_recount_is_leased_once_while_the_ledger_looks_it_up() {
    let (mut scene, _) = counted();
    let two = scene.join("w2", 100);
    let lease = scene.last_lease(two);

    let report = Report { kernel: kernel("reference"), ..report_of(&lease, lease.range) };
    let effects = scene.farm.step(farm::Millis(0), Event::Said(two, WorkerMessage::Report(report)));

    let [Effect::Ledger(_, command)] = &effects[..] else { panic!("{effects:?}") };
    assert!(matches!(command, LedgerCommand::Compare(..)), "{command:?}");
}

#[test]
fn a_done_job_stays_done_during_an_audit_and_a_restart() {
    let (mut scene, job, one) = at_work(4, 0);
    scene.report(one, report(job, plan(4), range(0, 4)));
    assert_eq!(scene.state(job).0, JobState::Done);

    assert_eq!(ask(&mut scene, job, AUDIT_ALL), Ok(job));
    for _ in 0..2 {
        assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 4), (1, 0)));
        let cancelled = scene.ask(change(RequestId(71), job, Change::Cancel));
        assert_eq!(cancelled, Err(Refusal::Over(job, JobState::Done)));
        scene.restart();
    }
    let two = scene.join("w2", 10);
    work(&mut scene, two);

    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 4), (0, 1)));
    let ends = scene.sent.iter().filter(|e| **e == Effect::AtRest(job)).count();
    assert_eq!(ends, 1);
    let three = scene.join("w3", 10);
    assert!(scene.leases(three).is_empty(), "nothing more is counted again");
}

#[test]
fn an_audit_is_withdrawn_from_a_done_job_and_a_waiting_one() {
    for is_done in [true, false] {
        let mut scene = Scene::new();
        let job = if is_done { scene.submit(8, 0) } else { scene.submit_audited(8) };
        let one = scene.join("w1", 0);
        scene.report(one, report(job, plan(8), range(0, 4)));
        scene.report(one, report(job, plan(8), range(4, 8)));
        if is_done {
            ask(&mut scene, job, AUDIT_ALL).expect("it is done");
        }
        let waiting = audits(&scene, job).0;
        assert!(waiting > 0, "they wait");
        let two = scene.join("w2", 4);
        let leased = scene.last_lease(two);

        ask(&mut scene, job, AuditPolicy { share_ppm: 0, ..AUDIT_ALL }).expect("it is there");

        assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 8), (0, 0)));
        assert!(scene.revoked(leased.id), "nobody wants it any more");
        recount(&mut scene, two, leased, "reference");
        assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 8), (0, 0)));
        scene.restart();
        assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 8), (0, 0)));
    }
}

#[test]
fn a_withdrawal_ends_recounts_that_are_being_ordered() {
    // Given: a recount has arrived, and the ledger looks up the rows of its range.
    let (mut scene, job) = counted();
    let two = scene.join("w2", 10);
    let leased = scene.last_lease(two);
    scene.slow_disk = true;
    let nothing = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
    scene.act(change(RequestId(71), job, audit(nothing)));
    recount(&mut scene, two, leased, "reference");
    scene.flush();
    scene.flush();

    assert_eq!((scene.state(job).0, audits(&scene, job)), (JobState::Done, (0, 0)));
}

#[test]
fn a_waiting_worker_gets_what_another_audit_scope_lets_it_count() {
    use AuditScope::{Machines, Owners};
    for (before, after) in
        [(Owners, Machines), (Owners, Owners), (Machines, Owners), (Machines, Machines)]
    {
        // Given: w1 has counted a job that is audited. Another machine of its owner waits: it may
        // not count the job again, or holds that already.
        let mut scene = Scene::new();
        let policy = AuditPolicy { across: before, ..AUDIT_ALL };
        let job = scene.submit_spec(spec(plan(4)), Some(policy), Known::nothing());
        let one = scene.join("w1", 0);
        scene.report(one, report(job, plan(4), range(0, 4)));
        let two = scene.join("w2", 10);
        assert_eq!(scene.leases(two).len(), usize::from(before == Machines));

        // When the scope changes, also before that is durable
        scene.slow_disk = true;
        scene.act(change(RequestId(71), job, audit(AuditPolicy { across: after, ..AUDIT_ALL })));

        // Then the machine is leased what it may count now.
        let is_leased = before == Machines || after == Machines;
        assert_eq!(scene.leases(two).len(), usize::from(is_leased), "{before:?} to {after:?}");
        scene.flush();
        assert_eq!(scene.leases(two).len(), usize::from(is_leased), "{before:?} to {after:?}");
    }
}

#[test]
fn a_contradiction_reopens_a_done_job() {
    let (mut scene, job, one) = at_work(4, 0);
    scene.report(one, report(job, plan(4), range(0, 4)));
    ask(&mut scene, job, AUDIT_ALL).expect("it is done");
    let two = scene.join("w2", 10);
    let leased = scene.last_lease(two);

    let (checked_count, kernel) = (checked_count(plan(4), range(0, 4), 5), kernel("reference"));
    let other = report_of(&leased, leased.range);
    scene.report_as_is(two, Report { checked_count, kernel, ..other });

    let view = scene.farm.job(job).expect("it is there");
    assert_eq!((view.state, view.total, view.disputes), (JobState::Running, None, 1));
}

#[test]
fn an_audit_of_nothing_ends_at_once() {
    let mut scene = Scene::new();
    let job = scene.submit(0, 0);

    assert_eq!(ask(&mut scene, job, AUDIT_ALL), Ok(job));

    assert_eq!(scene.state(job), (JobState::Done, 0));
}

#[test]
fn a_job_that_is_cancelled_is_not_audited() {
    let (mut scene, job) = counted();
    let two = scene.join("w2", 10);
    let lease = scene.last_lease(two);

    scene.act(change(RequestId(1), job, Change::Cancel));

    assert!(scene.revoked(lease.id));
    assert_eq!(recount(&mut scene, two, lease, "reference"), Some(Verdict::Obsolete));
    let over = Refusal::Over(job, JobState::Cancelled);
    assert_eq!(ask(&mut scene, job, AUDIT_ALL), Err(over));
    assert_eq!(ask(&mut scene, JobId(9), AUDIT_ALL), Err(Refusal::NoSuchJob(JobId(9))));
}

#[test]
fn a_paused_job_is_audited_when_it_goes_on() {
    let (mut scene, job) = counted();
    let two = scene.join("w2", 10);
    scene.act(change(RequestId(1), job, Change::Pause));
    assert!(scene.revoked(scene.last_lease(two).id));
    assert_eq!(scene.leases(two).len(), 1);

    scene.act(change(RequestId(2), job, Change::Resume));
    work(&mut scene, two);

    assert_eq!(scene.state(job), (JobState::Done, 4));
}

/// Makes a worker send signs of life for its latest lease until it is revoked. Returns how long the
/// worker kept it, in minutes.
fn hold_on(scene: &mut Scene, session: SessionId) -> u64 {
    let (lease, begun) = (scene.last_lease(session).id, scene.now);
    while !scene.revoked(lease) {
        scene.act(Event::Said(session, WorkerMessage::Working(lease)));
        scene.tick(scene.now + 30_000);
        assert!(scene.now - begun < 24 * 3_600_000, "it keeps it for a day");
    }
    (scene.now - begun) / 60_000
}

#[test]
fn signs_of_life_keep_a_recount_for_at_most_64_deadlines() {
    // Given: a liar is asked first, and only sends signs of life.
    let (mut scene, job) = counted();
    let liar = scene.join("w2", 10);
    assert_eq!(hold_on(&mut scene, liar), 64);

    // Then another worker is asked and has twice as long. After that, the liar is asked again.
    assert_eq!(scene.leases(liar).len(), 1);
    let slow = scene.join("w3", 10);
    assert_eq!(hold_on(&mut scene, slow), 128);
    let lease = scene.last_lease(liar);
    assert_eq!((scene.leases(liar).len(), lease.range), (2, range(0, 4)));
    recount(&mut scene, liar, lease, "reference");
    assert_eq!(scene.state(job).0, JobState::Done);
}

#[test]
fn one_sign_of_life_does_not_put_a_worker_before_others() {
    let (mut scene, job) = counted();
    let liar = scene.join("w2", 10);
    let other = scene.join("w3", 10);
    let lease = scene.last_lease(liar).id;
    scene.act(Event::Said(liar, WorkerMessage::Working(lease)));
    while !scene.revoked(lease) {
        scene.tick(scene.now + 30_000);
    }
    assert_eq!(scene.leases(liar).len(), 1);
    let lease = scene.last_lease(other);
    recount(&mut scene, other, lease, "reference");
    assert_eq!(scene.state(job).0, JobState::Done);
}

#[test]
fn a_lone_machine_is_asked_again_with_a_longer_deadline() {
    let (mut scene, job) = counted();
    let only = scene.join("w2", 10);
    hold_on(&mut scene, only);
    let (held_ms, rested) = (scene.now, scene.farm.next_wakeup().expect("it is waited for").0);
    assert_eq!(rested, 2 * held_ms, "it rests as long as it has kept the range");

    scene.tick(rested);

    let lease = scene.last_lease(only);
    assert_eq!((scene.leases(only).len(), lease.range), (2, range(0, 4)));
    for minute in 1..100 {
        scene.now = rested + 59_000 * minute;
        scene.act(Event::Said(only, WorkerMessage::Working(lease.id)));
    }
    recount(&mut scene, only, lease, "reference");
    assert_eq!(scene.state(job).0, JobState::Done);
}

#[test]
fn a_report_of_another_lease_does_not_end_a_rest() {
    // Given: w2 holds a recount, and has missed the deadline of another lease.
    let (mut scene, _) = counted();
    let two = scene.join_with("w2", 4);
    let recount = scene.last_lease(two);
    let other = scene.submit(100, 1);
    let lease = scene.last_lease(two);
    assert_eq!(lease.job, other);
    scene.now = 50_000;
    scene.act(Event::Said(two, WorkerMessage::Working(recount.id)));
    scene.tick(60_000);
    assert!(scene.revoked(lease.id) && !scene.revoked(recount.id));
    let leases = scene.leases(two).len();

    scene.now = 61_000;
    scene.act(Event::Said(two, WorkerMessage::Working(recount.id)));
    scene.tick(62_000);

    assert_eq!(scene.leases(two).len(), leases);
}

#[test]
fn more_audits_than_the_farm_remembers_are_all_done() {
    let tasks = 2_000;
    let mut scene = Scene::new();
    let job = scene.submit_audited(tasks);
    let one = scene.join("w1", 0);
    for task in 0..tasks {
        scene.report(one, report(job, plan(tasks), range(task, task + 1)));
    }
    assert_eq!(audits(&scene, job), (tasks, 0));

    let two = scene.join("w2", 1);
    work(&mut scene, two);

    assert_eq!((scene.state(job).0, audits(&scene, job)), (JobState::Done, (0, tasks)));
}

#[test]
fn an_owner_with_invented_machines_gets_one_turn() {
    // Given: two machines of mallory are asked before an honest one, and the first only sends signs
    // of life.
    let (mut scene, job) = counted();
    let liars = [2, 3].map(SessionId);
    for (liar, worker) in liars.into_iter().zip(["w2", "w3"]) {
        scene.join_as(liar, "mallory", hello(worker, 10));
    }
    let honest = scene.join("w4", 10);

    hold_on(&mut scene, liars[0]);

    assert_eq!(scene.leases(liars[1]), []);
    let lease = scene.last_lease(honest);
    recount(&mut scene, honest, lease, "reference");
    assert_eq!(scene.state(job).0, JobState::Done);
}

#[test]
fn late_counts_of_one_owner_do_not_silence_another_owner() {
    // Given: single rows of w1, and late counts of mallory that contradict as many of them as the
    // farm remembers.
    let remembered = 512;
    let tasks = remembered + 2;
    let (mut scene, job, one) = at_work(tasks, 0);
    let of =
        |task| Report { lease: LeaseId(task), ..report(job, plan(tasks), range(task, task + 1)) };
    for task in 0..=remembered {
        scene.report(one, of(task));
    }
    let lie = |task| Report {
        checked_count: checked_count(plan(tasks), range(task, task + 1), 1),
        ..of(task)
    };
    for (session, owner) in [(2, "mallory"), (3, "rack8")] {
        scene.join_as(SessionId(session), owner, hello(&format!("w{session}"), 0));
    }
    for task in 0..remembered {
        scene.report_as_is(SessionId(2), proven(lie(task), "mallory"));
    }

    scene.report_as_is(SessionId(3), proven(lie(remembered), "rack8"));

    assert_eq!(audits(&scene, job), (remembered + 1, 0));
}

#[test]
fn an_audit_behind_another_job_says_so_and_may_come_first() {
    // Given a job that is done, and a worker that counts one of higher priority
    let (mut scene, job, one) = at_work(4, 0);
    scene.report(one, report(job, plan(4), range(0, 4)));
    let other = scene.submit(1_000, 5);
    scene.join("w2", 10);

    ask(&mut scene, job, AUDIT_ALL).expect("it is done");
    let view = scene.farm.job(job).expect("it exists");
    let waits_for = view.waits_for.clone().unwrap_or_default();
    assert!(waits_for.contains(&format!("job {other}")), "{waits_for}");
    assert!(view.remarks().iter().any(|it| it.contains("to be counted again")), "{view:?}");

    let priority = change(RequestId(71), job, Change::Priority(9));
    scene.ask(priority).expect("it is served while it is audited");
    let three = scene.join("w3", 10);
    assert_eq!(scene.last_lease(three).job, job);
}
