//! Accepted ranges are counted again, by another worker and another kernel.

use farm::{
    AuditPolicy, Dismissal, Effect, Event, JobId, JobState, Loan, Record, Refusal, Report,
    RequestId, SessionId, Verdict,
};

use crate::stage::{AUDIT_ALL, Stage, kernel, plan, range, report, tally};

/// A job of 4 tasks, all of it under audit, that w1 has counted.
fn counted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    (stage, job)
}

/// A second count of the loan, with `kernel`.
fn recount(stage: &mut Stage, session: SessionId, loan: Loan, name: &str) -> Option<Verdict> {
    let of = report(loan.job, loan.plan, loan.range);
    stage.report(session, Report { lease: loan.lease, kernel: kernel(name), ..of })
}

/// Counts all that a worker is lent, as it should be done.
fn work(stage: &mut Stage, session: SessionId) {
    let mut done = stage.loans(session).len() - 1;
    while let Some(&loan) = stage.loans(session).get(done) {
        let name = if loan.recount.is_some() { "by search" } else { "straight" };
        recount(stage, session, loan, name);
        done += 1;
    }
}

fn audits(stage: &Stage, job: JobId) -> (u64, u64) {
    let view = stage.farm.job(job).expect("it exists");
    (view.audits_wanted, view.audits_agreed)
}

fn ask(stage: &mut Stage, job: JobId, policy: AuditPolicy) -> Result<JobId, Refusal> {
    let request = RequestId(70);
    stage.act(Event::AuditAsked { request, job, policy });
    let answers = stage.sent.iter().rev().find_map(|effect| match effect {
        Effect::Reply { request: RequestId(70), answer } => Some(*answer),
        _ => None,
    });
    answers.expect("it is answered")
}

fn confirmations(stage: &Stage) -> usize {
    stage.records.iter().filter(|record| matches!(record, Record::Confirm { .. })).count()
}

#[test]
fn a_job_under_audit_needs_a_second_worker_with_another_kernel() {
    let (mut stage, job) = counted();
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Running, 4), (1, 0)));

    let two = stage.join("w2", 10);
    let loan = stage.last_loan(two);
    let unlike = kernel("straight");
    assert_eq!((loan.range, loan.recount.map(|r| r.unlike)), (range(0, 4), Some(unlike)));
    let verdict = recount(&mut stage, two, loan, "by search");

    assert_eq!(verdict, Some(Verdict::Agreed));
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn nobody_audits_himself() {
    let (mut stage, job) = counted();
    stage.act(Event::CreditChanged { session: SessionId(1), credit: 100 });
    assert!(stage.loans(SessionId(1)).is_empty());

    // Nor unasked, with another kernel.
    let again = Report { kernel: kernel("by search"), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(SessionId(1), again), Some(Verdict::Agreed));

    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Running, 0));
}

#[test]
fn the_kernel_that_is_to_be_checked_confirms_nothing_and_is_not_asked_again() {
    let (mut stage, job) = counted();
    let stubborn = stage.join("w2", 10);
    let loan = stage.last_loan(stubborn);

    let verdict = recount(&mut stage, stubborn, loan, "straight");

    assert_eq!((verdict, stage.loans(stubborn).len()), (Some(Verdict::Agreed), 1));
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Running, (1, 0)));
    let three = stage.join("w3", 10);
    assert_eq!(stage.last_loan(three).range, loan.range);
}

#[test]
fn a_worker_that_repeated_it_unasked_is_asked_for_another_kernel() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 0);
    stage.report(two, report(job, plan(4), range(0, 4)));

    stage.act(Event::CreditChanged { session: two, credit: 10 });
    let loan = stage.last_loan(two);
    recount(&mut stage, two, loan, "by search");

    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_count_that_comes_unasked_confirms_and_ends_the_recount_elsewhere() {
    let (mut stage, job) = counted();
    let (busy, late) = (stage.join("w2", 10), stage.join("w3", 0));
    let loan = stage.last_loan(busy);

    let unasked = Report { kernel: kernel("wide"), ..report(job, plan(4), range(0, 4)) };
    stage.report(late, unasked);
    assert!(stage.revoked(loan.lease));
    recount(&mut stage, busy, loan, "by search");

    assert_eq!((stage.state(job).0, confirmations(&stage)), (JobState::Done, 1));
    assert_eq!(stage.loans(busy).len(), 1);
}

#[test]
fn a_recount_is_lent_once_while_the_ledger_looks_it_up() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 100);
    let loan = stage.last_loan(two);

    let of = report(job, plan(4), range(0, 4));
    let report = Report { lease: loan.lease, kernel: kernel("by search"), ..of };
    let effects = stage.farm.step(farm::Millis(0), Event::Reported { session: two, report });

    assert!(matches!(effects[..], [Effect::Compare { .. }]), "{effects:?}");
}

#[test]
fn a_policy_chooses_some_of_the_ranges() {
    let policy = AuditPolicy { share_ppm: 300_000, seed: 5, by_search: true };
    let mut stage = Stage::new();
    let job = stage.submit(40, 0);
    ask(&mut stage, job, policy).expect("it runs");
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 1));
    stage.act(Event::CreditChanged { session: two, credit: 0 });
    for task in 0..40 {
        stage.report(one, report(job, plan(40), range(task, task + 1)));
    }
    let chosen = |&task: &u64| policy.chooses(plan(40).fingerprint(), range(task, task + 1));
    let chosen: Vec<_> = (0..40).filter(chosen).map(|task| range(task, task + 1)).collect();
    assert!((1..40).contains(&chosen.len()), "{chosen:?}");
    assert_eq!(audits(&stage, job), (chosen.len() as u64, 0));

    stage.act(Event::CreditChanged { session: two, credit: 1 });
    work(&mut stage, two);

    let recounts =
        stage.loans(two).into_iter().filter_map(|loan| Some((loan.range, loan.recount?)));
    let (ranges, how): (Vec<_>, Vec<_>) = recounts.unzip();
    assert_eq!((ranges, stage.state(job)), (chosen, (JobState::Done, 40)));
    assert!(how.iter().all(|recount| recount.by_search));
}

/// Under an audit of everything w1 counts [0, 2) right and [2, 4) wrong, w2 confirms the first, and w1
/// confirms what w2 counts, [4, 6). Then w2 counts the second again.
fn contradicted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit_audited(6);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    let of = |start, more, name: &str| {
        let range = range(start, start + 2);
        let (tally, kernel) = (tally(plan(6), range, more), kernel(name));
        Report { tally, kernel, ..report(job, plan(6), range) }
    };
    stage.report(one, of(0, 0, "straight"));
    stage.report(one, of(2, 7, "straight"));
    stage.report(two, of(4, 0, "straight"));
    stage.report(two, of(0, 0, "by search"));
    stage.report(one, of(4, 0, "by search"));
    assert_eq!(audits(&stage, job), (1, 2));
    assert_eq!(stage.report(two, of(2, 0, "by search")), Some(Verdict::Disputed));
    (stage, job)
}

#[test]
fn a_liar_is_caught_and_named_and_its_confirmations_are_void() {
    let (mut stage, job) = contradicted();

    let three = stage.join("w3", 2);
    let loan = stage.last_loan(three);
    recount(&mut stage, three, loan, "straight");

    let named =
        |record: &Record| matches!(record, Record::Settle { wrong, .. } if *wrong == ["w1"]);
    assert!(stage.records.iter().any(named));
    let reason = Dismissal::Distrusted;
    assert!(stage.sent.contains(&Effect::Dismiss { session: SessionId(1), reason }));
    // What w2 has confirmed of w1's stays, and what w1 has confirmed of w2's is counted again.
    assert_eq!(stage.farm.job(job).map(|view| view.tasks_done), Some(6));
    assert_eq!(stage.last_loan(three).range, range(4, 6));
    work(&mut stage, three);
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 6), (0, 2)));
}

#[test]
fn what_only_a_liar_has_counted_is_counted_anew_in_every_job() {
    // Given: w1 lies in one job, is contradicted, and has counted all of another, which is done, and
    // some of a third, which is cancelled.
    let mut stage = Stage::new();
    let (first, other, ended) = (stage.submit(4, 0), stage.submit(3, 0), stage.submit(5, 0));
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    let lie = tally(plan(4), range(0, 2), 1);
    stage.report(one, Report { tally: lie, ..report(first, plan(4), range(0, 2)) });
    stage.report(one, report(first, plan(4), range(2, 4)));
    stage.report(one, report(other, plan(3), range(0, 3)));
    stage.report(one, report(ended, plan(5), range(0, 3)));
    stage.act(Event::Cancelled { request: RequestId(1), job: ended });
    assert_eq!(stage.state(other), (JobState::Done, 3));
    stage.report(two, report(first, plan(4), range(0, 2)));

    // When w3 agrees with w2
    let three = stage.join("w3", 2);
    let loan = stage.last_loan(three);
    recount(&mut stage, three, loan, "straight");

    // Then only the settled range is left of both.
    assert_eq!(stage.state(first), (JobState::Running, 2));
    assert_eq!(stage.state(other), (JobState::Running, 0));
    assert_eq!(stage.state(ended), (JobState::Cancelled, 3));
    work(&mut stage, three);
    assert_eq!(stage.state(first), (JobState::Done, 4));
    assert_eq!(stage.state(other), (JobState::Done, 3));
}

#[test]
fn a_dispute_of_which_a_liar_is_part_is_void() {
    // Given: w1 contradicts what w2 has counted of one job, and is contradicted in another.
    let mut stage = Stage::new();
    let (first, other) = (stage.submit(4, 0), stage.submit(3, 0));
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    let lie = |of, tasks| {
        let tally = tally(plan(tasks), range(0, tasks), 1);
        Report { tally, ..report(of, plan(tasks), range(0, tasks)) }
    };
    stage.report(two, report(other, plan(3), range(0, 3)));
    stage.report(one, lie(other, 3));
    stage.report(one, lie(first, 4));
    stage.report(two, report(first, plan(4), range(0, 4)));

    // When the second dispute is settled
    let three = stage.join("w3", 0);
    stage.report(three, report(first, plan(4), range(0, 4)));

    // Then nothing is left of the first but what is to be counted.
    let disputes = |stage: &Stage| stage.farm.job(other).map(|view| view.disputes);
    assert_eq!((stage.state(first), disputes(&stage)), ((JobState::Done, 4), Some(0)));
    assert_eq!(stage.state(other), (JobState::Running, 0));
    assert_eq!(stage.report(two, report(other, plan(3), range(0, 3))), Some(Verdict::Accepted));
    assert_eq!(stage.state(other), (JobState::Done, 3));
}

#[test]
fn who_was_proven_wrong_is_never_heard_again() {
    let (mut stage, job) = contradicted();
    let three = stage.join("w3", 2);
    let loan = stage.last_loan(three);
    recount(&mut stage, three, loan, "straight");

    let reason = Dismissal::Distrusted;
    let (again, sent) = (
        Event::Joined { session: SessionId(11), hello: crate::stage::hello("w1", 9) },
        stage.sent.len(),
    );
    stage.act(again.clone());
    assert_eq!(stage.sent[sent..], [Effect::Dismiss { session: SessionId(11), reason }]);
    assert_eq!(stage.report(SessionId(11), report(job, plan(6), range(4, 6))), None);

    stage.restart();
    let sent = stage.sent.len();
    stage.act(again);
    assert_eq!(stage.sent[sent..], [Effect::Dismiss { session: SessionId(11), reason }]);
}

#[test]
fn no_job_is_said_to_be_done_while_a_liars_rows_are_taken_back() {
    // Given: w1 has counted all of a second job, and neither its end nor the proof that w1 lies is
    // durable.
    let mut stage = Stage::new();
    let (first, other) = (stage.submit(2, 0), stage.submit(3, 0));
    let (one, two, three) = (stage.join("w1", 0), stage.join("w2", 0), stage.join("w3", 0));
    let lie = tally(plan(2), range(0, 2), 1);
    stage.report(one, Report { tally: lie, ..report(first, plan(2), range(0, 2)) });
    stage.report(two, report(first, plan(2), range(0, 2)));
    stage.report(one, report(other, plan(3), range(0, 2)));
    stage.slow_disk = true;
    stage.report(one, report(other, plan(3), range(2, 3)));
    stage.flush();
    stage.report(three, report(first, plan(2), range(0, 2)));
    assert!(stage.records.iter().any(|r| matches!(r, Record::Done { job, .. } if *job == other)));

    stage.slow_disk = false;
    stage.flush();

    assert!(!stage.sent.contains(&Effect::Finished { job: other }));
    assert_eq!(stage.state(other), (JobState::Running, 0));
    assert_eq!(stage.state(first), (JobState::Done, 2));
}

#[test]
fn a_conflict_that_comes_up_meanwhile_waits_and_is_not_dropped() {
    // Given: the end of one dispute is on its way
    let mut stage = Stage::new();
    let (first, other) = (stage.submit(2, 0), stage.submit(3, 0));
    let (one, two, three) = (stage.join("w1", 0), stage.join("w2", 0), stage.join("w3", 0));
    let lie = tally(plan(2), range(0, 2), 1);
    stage.report(one, Report { tally: lie, ..report(first, plan(2), range(0, 2)) });
    stage.report(two, report(first, plan(2), range(0, 2)));
    stage.report(two, report(other, plan(3), range(0, 3)));
    stage.slow_disk = true;
    stage.report(three, report(first, plan(2), range(0, 2)));

    // When another range is contradicted, nobody is answered
    let wrong = tally(plan(3), range(0, 3), 5);
    let claim = Report { tally: wrong, ..report(other, plan(3), range(0, 3)) };
    assert_eq!(stage.report(three, claim), None);
    stage.flush();
    stage.slow_disk = false;

    // and the worker asks again.
    assert_eq!(stage.report(three, claim), Some(Verdict::Disputed));
}

#[test]
fn an_audit_reopens_a_job_that_was_done_and_ends_it_again() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    assert_eq!(stage.state(job).0, JobState::Done);

    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Ok(job));
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Running, (1, 0)));
    let two = stage.join("w2", 10);
    work(&mut stage, two);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
    let ends = stage.sent.iter().filter(|e| **e == Effect::Finished { job }).count();
    assert_eq!(ends, 2);
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
    stage.act(Event::AuditAsked { request: RequestId(70), job, policy: AUDIT_ALL });

    stage.slow_disk = false;
    stage.flush();

    assert!(!stage.records.iter().any(|record| matches!(record, Record::Done { .. })));
    assert_eq!(audits(&stage, job), (1, 0));
}

#[test]
fn a_job_that_is_cancelled_is_not_audited() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    let loan = stage.last_loan(two);

    stage.act(Event::Cancelled { request: RequestId(1), job });

    assert!(stage.revoked(loan.lease));
    assert_eq!(recount(&mut stage, two, loan, "by search"), Some(Verdict::Obsolete));
    let over = Refusal::Over(job, JobState::Cancelled);
    assert_eq!(ask(&mut stage, job, AUDIT_ALL), Err(over));
    assert_eq!(ask(&mut stage, JobId(9), AUDIT_ALL), Err(Refusal::NoSuchJob(JobId(9))));
}

#[test]
fn a_paused_job_is_audited_when_it_goes_on() {
    let (mut stage, job) = counted();
    let two = stage.join("w2", 10);
    stage.act(Event::Paused { request: RequestId(1), job });
    assert!(stage.revoked(stage.last_loan(two).lease));
    assert_eq!(stage.loans(two).len(), 1);

    stage.act(Event::Resumed { request: RequestId(2), job });
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
    assert!(stage.loans(one).is_empty());
    let three = stage.join("w3", 10);
    work(&mut stage, three);

    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn a_recount_lives_as_long_as_its_worker_gets_on_with_it() {
    let (mut stage, job) = counted();
    let (two, three) = (stage.join("w2", 10), stage.join("w3", 0));
    let loan = stage.last_loan(two);
    for minute in 1..10 {
        stage.now = minute * 59_000;
        // Another one's word counts for nothing.
        stage.act(Event::Working { session: three, lease: loan.lease });
        stage.act(Event::Working { session: two, lease: loan.lease });
    }
    assert!(!stage.revoked(loan.lease));
    assert_eq!(recount(&mut stage, two, loan, "by search"), Some(Verdict::Agreed));
    assert_eq!(stage.state(job).0, JobState::Done);
}

#[test]
fn a_recount_of_which_nothing_is_heard_goes_to_another() {
    let (mut stage, _) = counted();
    let (two, three) = (stage.join("w2", 10), stage.join("w3", 10));
    let loan = stage.last_loan(two);
    stage.act(Event::Working { session: three, lease: loan.lease });

    stage.tick(60_000);

    assert!(stage.revoked(loan.lease));
    assert_eq!(stage.last_loan(three).range, loan.range);
}

#[test]
fn a_sign_of_life_renews_no_other_loan_than_a_recount() {
    let mut stage = Stage::new();
    stage.submit(4, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_loan(worker).lease;

    stage.now = 50_000;
    stage.act(Event::Working { session: worker, lease });
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
