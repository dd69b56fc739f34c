//! Accepted ranges are counted again, by another worker and another kernel.

use farm::{
    AuditPolicy, AuditScope, Change, Effect, Event, Hello, JobId, JobState, LeaseId, LedgerCommand,
    Refusal, Report, RequestId, SessionId, Verdict, WorkerMessage,
};

use crate::stage::{
    AUDIT_ALL, Stage, answered, asked_again, audits, change, checked_count, hello, kernel, plan,
    proven, range, recount, report, work,
};

/// A job of 4 tasks, all of it under audit, that w1 has counted.
fn counted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    (stage, job)
}

fn ask(stage: &mut Stage, job: JobId, policy: AuditPolicy) -> Result<JobId, Refusal> {
    let request = RequestId(70);
    stage.act(change(request, job, Change::Audit(policy)));
    stage.sent.iter().rev().find_map(answered).expect("it is answered")
}

fn confirmations(stage: &Stage) -> usize {
    stage.commands.iter().filter(|command| matches!(command, LedgerCommand::Confirm { .. })).count()
}

#[test]
fn a_job_under_audit_needs_a_second_worker_with_another_kernel() {
    let (mut stage, job) = counted();
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Running, 4), (1, 0)));

    let two = stage.join("w2", 10);
    let lease = stage.last_lease(two);
    let unlike = kernel("portable");
    assert_eq!((lease.range, lease.recount.map(|r| r.unlike)), (range(0, 4), Some(unlike)));
    let verdict = recount(&mut stage, two, lease, "search");

    assert_eq!(verdict, Some(Verdict::Agreed));
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn nobody_audits_himself() {
    let (mut stage, job) = counted();
    stage.act(Event::Said { session: SessionId(1), message: WorkerMessage::Credit(100) });
    assert!(stage.leases(SessionId(1)).is_empty());

    // Nor unasked, with another kernel.
    let again = Report { kernel: kernel("search"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(SessionId(1), again), Some(Verdict::Agreed));

    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Running, 0));
}

#[test]
fn the_kernel_that_is_to_be_checked_confirms_nothing_and_is_not_asked_again() {
    let (mut stage, job) = counted();
    let stubborn = stage.join("w2", 10);
    let lease = stage.last_lease(stubborn);

    let verdict = recount(&mut stage, stubborn, lease, "portable");

    assert_eq!((verdict, stage.leases(stubborn).len()), (Some(Verdict::Agreed), 1));
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Running, (1, 0)));
    let three = stage.join("w3", 10);
    assert_eq!(stage.last_lease(three).range, lease.range);
}

#[test]
fn who_was_asked_about_a_row_that_is_no_more_may_be_asked_about_the_next() {
    // Given: w2 was asked for another kernel than avx512, and counted with portable. What it was asked about
    // is no more: the ledger has another row by w1, counted with portable.
    let (mut stage, job) = counted();
    let two = stage.join("w2", 0);
    let late = Report { kernel: kernel("portable"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(two, asked_again(late)), Some(Verdict::Agreed));

    stage.act(Event::Said { session: two, message: WorkerMessage::Credit(10) });

    assert_eq!(stage.last_lease(two).recount.map(|r| r.unlike), Some(kernel("portable")));
}

#[test]
fn who_contradicts_unasked_is_not_asked_nor_is_any_machine_of_its_owner() {
    // Given: a machine of rack8 comes late to a range of w1 with another count, and repeats it.
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

    // When machines of rack8 and of another owner ask for work
    for (number, owner) in [(3, "rack8"), (4, "rack9")] {
        let hello = Hello { instance: number, ..hello(&format!("w{number}"), 10) };
        stage.join_as(SessionId(number), owner, hello);
    }

    // Then only the other owner's counts the range again, and the ledger was told once.
    let is_recount = |number| stage.leases(SessionId(number)).iter().any(|l| l.recount.is_some());
    assert_eq!([3, 4].map(is_recount), [false, true]);
    let doubts = |stage: &Stage| {
        let is_doubt = |command: &&LedgerCommand| matches!(command, LedgerCommand::Doubt { .. });
        stage.commands.iter().filter(is_doubt).count()
    };
    assert_eq!(doubts(&stage), 1);

    // Nor is it told of every repetition once the range is confirmed.
    let lease = stage.leases(SessionId(4)).into_iter().find(|lease| lease.recount.is_some());
    recount(&mut stage, SessionId(4), lease.expect("it was leased"), "search");
    for _ in 0..3 {
        stage.report_as_is(liar, proven(lie.clone(), "rack8"));
    }
    assert_eq!((audits(&stage, job), doubts(&stage)), ((0, 1), 2));
}

#[test]
fn a_later_audit_does_not_take_back_that_owners_check_each_other() {
    let (mut stage, job) = counted();
    for across in [AuditScope::Owners, AuditScope::Machines] {
        ask(&mut stage, job, AuditPolicy { across, ..AUDIT_ALL }).expect("it runs");
    }

    let same = stage.join("w2", 10);

    assert_eq!(stage.leases(same), []);
    stage.restart();
    let same = stage.join("w2", 10);
    assert_eq!(stage.leases(same), []);
}

#[test]
fn a_worker_that_repeated_it_unasked_is_asked_for_another_kernel() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 0);
    stage.report(two, report(job, plan(4), range(0, 4)));

    stage.act(Event::Said { session: two, message: WorkerMessage::Credit(10) });
    let lease = stage.last_lease(two);
    recount(&mut stage, two, lease, "search");

    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_count_that_comes_unasked_confirms_nothing() {
    let (mut stage, job) = counted();
    let (busy, late) = (stage.join("w2", 10), stage.join("w3", 0));
    let lease = stage.last_lease(busy);

    let unasked = Report { kernel: kernel("avx512"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(late, unasked), Some(Verdict::Agreed));
    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Running, 0));

    recount(&mut stage, busy, lease, "search");
    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Done, 1));
}

#[test]
fn a_recount_that_was_asked_for_confirms_and_ends_the_recount_elsewhere() {
    // Given: w3 was asked for a recount, and lost its lease to w2.
    let (mut stage, job) = counted();
    let late = stage.join("w3", 10);
    let asked = stage.last_lease(late);
    let busy = stage.join("w2", 10);
    stage.tick(60_000);
    let lease = stage.last_lease(busy);

    recount(&mut stage, late, asked, "avx512");
    assert!(stage.revoked(lease.id));
    recount(&mut stage, busy, lease, "search");

    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Done, 1));
    assert_eq!(stage.leases(busy).len(), 1);
}

#[test]
fn across_owners_no_machine_of_the_same_owner_is_asked() {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let across = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
    ask(&mut stage, job, across).expect("it runs");
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));

    let same = stage.join("w2", 10);
    assert!(stage.leases(same).is_empty());
    let other = SessionId(3);
    stage.join_as(other, "rack8", hello("w3", 10));
    work(&mut stage, other);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn a_recount_is_leased_once_while_the_ledger_looks_it_up() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 100);
    let lease = stage.last_lease(two);

    let (id, token) = (lease.id, lease.token);
    let of = report(job, plan(4), range(0, 4));
    let report = Report { lease: id, token, kernel: kernel("search"), ..of };
    let effects = stage.farm.step(
        farm::Millis(0),
        Event::Said { session: two, message: WorkerMessage::Report(report) },
    );

    let [Effect::Ledger { command, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(matches!(command, LedgerCommand::Compare { .. }), "{command:?}");
}

#[test]
fn a_policy_chooses_some_of_the_ranges() {
    let policy = AuditPolicy { share_ppm: 300_000, seed: 5, by_search: true, ..AUDIT_ALL };
    let mut stage = Stage::new();
    let job = stage.submit(40, 0);
    ask(&mut stage, job, policy).expect("it runs");
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 1));
    stage.act(Event::Said { session: two, message: WorkerMessage::Credit(0) });
    for task in 0..40 {
        stage.report(one, report(job, plan(40), range(task, task + 1)));
    }
    let chosen = |&task: &u64| policy.chooses(plan(40).fingerprint(), range(task, task + 1));
    let chosen: Vec<_> = (0..40).filter(chosen).map(|task| range(task, task + 1)).collect();
    assert!((1..40).contains(&chosen.len()), "{chosen:?}");
    assert_eq!(audits(&stage, job), (chosen.len() as u64, 0));

    stage.act(Event::Said { session: two, message: WorkerMessage::Credit(1) });
    work(&mut stage, two);

    let recounts =
        stage.leases(two).into_iter().filter_map(|lease| Some((lease.range, lease.recount?)));
    let (ranges, how): (Vec<_>, Vec<_>) = recounts.unzip();
    assert_eq!((ranges, stage.state(job)), (chosen, (JobState::Done, 40)));
    assert!(how.iter().all(|recount| recount.by_search));
}

#[test]
fn a_job_that_is_done_stays_so_while_it_is_audited_and_after_a_restart() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    assert_eq!(stage.state(job).0, JobState::Done);

    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Ok(job));
    for _ in 0..2 {
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (1, 0)));
        stage.act(change(RequestId(71), job, Change::Cancel));
        let said = stage.sent.iter().rev().find_map(answered);
        assert_eq!(said, Some(Err(Refusal::Over(job, JobState::Done))));
        stage.restart();
    }
    let two = stage.join("w2", 10);
    work(&mut stage, two);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
    let ends = stage.sent.iter().filter(|e| **e == Effect::AtRest { job }).count();
    assert_eq!(ends, 1);
    let three = stage.join("w3", 10);
    assert!(stage.leases(three).is_empty(), "nothing more is counted again");
}

#[test]
fn an_audit_is_withdrawn_whether_its_job_is_done_or_waits_for_it() {
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
        recount(&mut stage, two, leased, "search");
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 8), (0, 0)));
        stage.restart();
        assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 8), (0, 0)));
    }
}

#[test]
fn a_withdrawal_wins_over_what_is_on_its_way_to_be_counted_again() {
    // Given: a recount has come back, and the ledger is asked what it has of the range.
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    let leased = stage.last_lease(two);
    stage.slow_disk = true;
    let nothing = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
    stage.act(change(RequestId(71), job, Change::Audit(nothing)));
    recount(&mut stage, two, leased, "search");
    stage.flush();
    stage.flush();

    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, 0)));
}

#[test]
fn a_count_that_contradicts_takes_the_total_of_a_job_that_is_done_back() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    ask(&mut stage, job, AUDIT_ALL).expect("it is done");
    let two = stage.join("w2", 10);
    let leased = stage.last_lease(two);

    let other = Report { kernel: kernel("search"), ..report(job, plan(4), range(0, 4)) };
    let other = Report { checked_count: checked_count(plan(4), range(0, 4), 5), ..other };
    stage.report_as_is(two, Report { lease: leased.id, token: leased.token, ..other });

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
fn a_job_does_not_end_while_an_audit_is_on_its_way_into_the_ledger() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.slow_disk = true;
    stage.report(one, report(job, plan(4), range(0, 4)));
    stage.act(change(RequestId(70), job, Change::Audit(AUDIT_ALL)));

    stage.slow_disk = false;
    stage.flush();

    assert!(!stage.commands.iter().any(|command| matches!(command, LedgerCommand::Finish { .. })));
    assert_eq!(audits(&stage, job), (1, 0));
}

#[test]
fn a_job_that_is_cancelled_is_not_audited() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    let lease = stage.last_lease(two);

    stage.act(change(RequestId(1), job, Change::Cancel));

    assert!(stage.revoked(lease.id));
    assert_eq!(recount(&mut stage, two, lease, "search"), Some(Verdict::Obsolete));
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

#[test]
fn audits_go_on_after_a_restart() {
    let (mut stage, job) = counted();
    stage.join("w2", 10);

    stage.restart();
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Running, 4), (1, 0)));
    let one = stage.join("w1", 10);
    assert!(stage.leases(one).is_empty());
    let three = stage.join("w3", 10);
    work(&mut stage, three);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn a_recount_lives_as_long_as_its_worker_gets_on_with_it() {
    let (mut stage, job) = counted();
    let (two, three) = (stage.join("w2", 10), stage.join("w3", 0));
    let lease = stage.last_lease(two);
    for minute in 1..10 {
        stage.now = minute * 59_000;
        // Another one's word counts for nothing.
        stage.act(Event::Said { session: three, message: WorkerMessage::Working(lease.id) });
        stage.act(Event::Said { session: two, message: WorkerMessage::Working(lease.id) });
    }
    assert!(!stage.revoked(lease.id));
    assert_eq!(recount(&mut stage, two, lease, "search"), Some(Verdict::Agreed));
    assert_eq!(stage.state(job).0, JobState::Done);
}

/// Lets a worker say for as long as it can that it gets on with its latest lease. The minutes that it kept it.
fn hold_on(stage: &mut Stage, session: SessionId) -> u64 {
    let (lease, begun) = (stage.last_lease(session).id, stage.now);
    while !stage.revoked(lease) {
        stage.act(Event::Said { session, message: WorkerMessage::Working(lease) });
        stage.tick(stage.now + 30_000);
        assert!(stage.now - begun < 24 * 3_600_000, "it keeps it for a day");
    }
    (stage.now - begun) / 60_000
}

#[test]
fn who_says_for_ever_that_it_gets_on_keeps_a_recount_for_64_times_the_time_of_a_silent_one() {
    // Given: a liar is asked first, and says nothing but that it gets on.
    let (mut stage, job) = counted();
    let liar = stage.join("w2", 10);
    assert_eq!(hold_on(&mut stage, liar), 64);

    // Then it is another one's turn, who has twice as long, and after that the liar's again.
    assert_eq!(stage.leases(liar).len(), 1);
    let slow = stage.join("w3", 10);
    assert_eq!(hold_on(&mut stage, slow), 128);
    let lease = stage.last_lease(liar);
    assert_eq!((stage.leases(liar).len(), lease.range), (2, range(0, 4)));
    recount(&mut stage, liar, lease, "search");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn who_says_once_that_it_gets_on_and_then_nothing_is_not_asked_again_before_others() {
    let (mut stage, job) = counted();
    let liar = stage.join("w2", 10);
    let other = stage.join("w3", 10);
    let lease = stage.last_lease(liar).id;
    stage.act(Event::Said { session: liar, message: WorkerMessage::Working(lease) });
    while !stage.revoked(lease) {
        stage.tick(stage.now + 30_000);
    }
    assert_eq!(stage.leases(liar).len(), 1);
    let lease = stage.last_lease(other);
    recount(&mut stage, other, lease, "search");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_machine_without_company_is_asked_again_and_has_longer() {
    let (mut stage, job) = counted();
    let only = stage.join("w2", 10);
    hold_on(&mut stage, only);
    let rested = stage.farm.next_wakeup().expect("it is waited for").0;

    stage.tick(rested);

    let lease = stage.last_lease(only);
    assert_eq!((stage.leases(only).len(), lease.range), (2, range(0, 4)));
    for minute in 1..100 {
        stage.now = rested + 59_000 * minute;
        stage.act(Event::Said { session: only, message: WorkerMessage::Working(lease.id) });
    }
    recount(&mut stage, only, lease, "search");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn news_of_another_lease_does_not_end_a_rest() {
    // Given: w2 holds a recount, and has missed the deadline of another lease.
    let (mut stage, _) = counted();
    let two = stage.join_with("w2", 4, 0);
    let recount = stage.last_lease(two);
    let other = stage.submit(100, 1);
    let lease = stage.last_lease(two);
    assert_eq!(lease.job, other);
    stage.now = 50_000;
    stage.act(Event::Said { session: two, message: WorkerMessage::Working(recount.id) });
    stage.tick(60_000);
    assert!(stage.revoked(lease.id) && !stage.revoked(recount.id));
    let leases = stage.leases(two).len();

    stage.now = 61_000;
    stage.act(Event::Said { session: two, message: WorkerMessage::Working(recount.id) });
    stage.tick(62_000);

    assert_eq!(stage.leases(two).len(), leases);
}

#[test]
fn what_one_owner_has_confirmed_is_counted_again_when_other_owners_are_asked_for() {
    // Given: two machines of one owner have counted all of a job, and it is done.
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    work(&mut stage, two);
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, 1)));

    let owners = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
    ask(&mut stage, job, owners).expect("it is done");

    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (1, 0)));
    let other = SessionId(3);
    stage.join_as(other, "rack8", hello("w3", 10));
    work(&mut stage, other);
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, 1)));
}

#[test]
fn a_recount_of_which_nothing_is_heard_goes_to_another() {
    let (mut stage, _) = counted();
    let (two, three) = (stage.join("w2", 10), stage.join("w3", 10));
    let lease = stage.last_lease(two);
    stage.act(Event::Said { session: three, message: WorkerMessage::Working(lease.id) });

    stage.tick(60_000);

    assert!(stage.revoked(lease.id));
    assert_eq!(stage.last_lease(three).range, lease.range);
}

#[test]
fn a_sign_of_life_renews_no_other_lease_than_a_recount() {
    let mut stage = Stage::new();
    stage.submit(4, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker).id;

    stage.now = 50_000;
    stage.act(Event::Said { session: worker, message: WorkerMessage::Working(lease) });
    stage.tick(60_000);

    assert!(stage.revoked(lease));
}

#[test]
fn more_audits_than_the_farm_keeps_are_all_done() {
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
fn an_owner_that_invents_machines_takes_no_turns_with_itself() {
    // Given: two machines of mallory wait before an honest one, and the first says nothing but that it gets on.
    let (mut stage, job) = counted();
    let liars = [2, 3].map(SessionId);
    for (liar, worker) in liars.into_iter().zip(["w2", "w3"]) {
        stage.join_as(liar, "mallory", hello(worker, 10));
    }
    let honest = stage.join("w4", 10);

    hold_on(&mut stage, liars[0]);

    assert_eq!(stage.leases(liars[1]), []);
    let lease = stage.last_lease(honest);
    recount(&mut stage, honest, lease, "search");
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn however_many_late_counts_one_owner_has_another_one_is_heard() {
    // Given: single rows of w1, and late counts of mallory that contradict as many of them as the farm remembers.
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
