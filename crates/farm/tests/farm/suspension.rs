//! Tests that totals which contradict known facts are suspended.

use farm::{
    AuditPolicy, Change, CheckedCount, Effect, Fact, JobId, JobState, Known, LedgerCommand, Method,
    Plan, Refusal, Report, RequestId, SessionId, TaskCounts, Verdict,
};

use crate::stage::{
    AUDIT_ALL, Stage, audit, change, checked_count, kernel, plan, report_of, spec, work,
};

/// Known facts about four tasks: none counts more than 10, and together they count 5.
fn known() -> Known {
    let fact = Fact::Published { value: 5, source: "a paper" };
    Known { most_per_task: 10, facts: vec![fact], ..Known::nothing() }
}

fn submit(stage: &mut Stage, plan: Plan) -> JobId {
    stage.submit_spec(spec(plan), None, known())
}

/// Reports the worker's newest lease with a count of 1 per task, and `more` in addition for the
/// first one.
fn tell(stage: &mut Stage, worker: SessionId, more: u64, name: &str) -> Option<Verdict> {
    let lease = stage.last_lease(worker);
    let checked_count = checked_count(lease.plan, lease.range, more);
    let of = report_of(&lease, lease.range);
    stage.report_as_is(worker, Report { checked_count, kernel: kernel(name), ..of })
}

/// A job that is suspended, because w1 has counted 4 where 5 is known.
fn suspended() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = submit(&mut stage, plan(4));
    let worker = stage.join("w1", 4);
    assert_eq!(tell(&mut stage, worker, 0, "portable"), Some(Verdict::Accepted));
    (stage, job)
}

/// The sum of the range is possible, but the count of one of its tasks is not.
#[test]
fn a_task_count_above_its_bound_is_refused() {
    let short = plan(4).method;
    for (method, counts, expected) in [
        (Method::Colours, [10, 0, 0, 0], Verdict::Accepted),
        (Method::Colours, [11, 0, 0, 0], Verdict::Invalid),
        // The counts of short tasks are not kept.
        (short, [11, 0, 0, 0], Verdict::Accepted),
    ] {
        let mut stage = Stage::new();
        let plan = Plan { method, ..plan(4) };
        submit(&mut stage, plan);
        let worker = stage.join("w1", 4);
        let lease = stage.last_lease(worker);
        let with = |sum: CheckedCount, (at, &count)| sum.with(plan.fingerprint(), at, count);
        let checked_count =
            (0..4).zip(&counts).try_fold(CheckedCount::EMPTY, with).expect("it is small");
        let task_counts = TaskCounts::new(&counts);
        let reported = Report { checked_count, task_counts, ..report_of(&lease, lease.range) };
        assert_eq!(stage.report_as_is(worker, reported), Some(expected), "{method} {counts:?}");
    }
}

#[test]
fn a_total_that_contradicts_a_fact_is_suspended_with_the_reason() {
    let (stage, job) = suspended();

    assert_eq!(stage.state(job).0, JobState::Suspended);
    assert!(stage.sent.contains(&Effect::AtRest(job)));
    let suspended = stage.farm.job(job).and_then(|view| view.suspended).expect("it is suspended");
    assert!(suspended.contains("comes to 4") && suspended.contains("a paper"), "{suspended:?}");
}

#[test]
fn an_impossible_count_is_invalid_and_changes_nothing() {
    let mut stage = Stage::new();
    let job = submit(&mut stage, plan(4));
    let worker = stage.join("w1", 4);

    // Four tasks count at most 40.
    assert_eq!(tell(&mut stage, worker, u64::MAX - 4, "portable"), Some(Verdict::Invalid));
    assert_eq!(tell(&mut stage, worker, 37, "portable"), Some(Verdict::Invalid));
    assert_eq!(stage.farm.job(job).map(|view| view.tasks_done), Some(0));

    assert_eq!(tell(&mut stage, worker, 36, "portable"), Some(Verdict::Accepted));
    assert_eq!(stage.state(job).0, JobState::Suspended);
}

#[test]
fn an_audit_of_a_suspended_job_ends_with_the_right_total() {
    let (mut stage, job) = suspended();
    let withdrawn = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
    let asked = change(RequestId(69), job, audit(withdrawn));
    assert_eq!(stage.ask(asked), Err(Refusal::Suspended(job)), "there is nothing to withdraw");

    let request = RequestId(70);
    let asked = change(request, job, audit(AUDIT_ALL));
    assert_eq!(stage.ask(asked), Ok(job));
    assert_eq!(stage.state(job).0, JobState::Running);
    for worker in ["w2", "w3"] {
        let worker = stage.join(worker, 4);
        tell(&mut stage, worker, 1, "reference");
    }

    assert_eq!(stage.state(job), (JobState::Done, 5));
    assert_eq!(stage.farm.job(job).and_then(|view| view.suspended), None);
    let ends = stage.sent.iter().filter(|effect| **effect == Effect::AtRest(job)).count();
    assert_eq!(ends, 2, "it was suspended before");
}

#[test]
fn an_audit_that_confirms_a_wrong_total_suspends_again() {
    let (mut stage, job) = suspended();
    let audited = change(RequestId(70), job, audit(AUDIT_ALL));
    stage.ask(audited).expect("it may be audited");
    let two = stage.join("w2", 4);

    work(&mut stage, two);

    assert_eq!(stage.state(job), (JobState::Suspended, 4));
    let suspensions = stage
        .commands
        .iter()
        .filter(|command| matches!(command, LedgerCommand::Finish { reason: Some(_), .. }));
    assert_eq!(suspensions.count(), 2);
}

#[test]
fn a_suspended_job_is_cancelled_but_neither_paused_nor_resumed() {
    let (mut stage, job) = suspended();
    let request = RequestId(70);
    let refused = Err(Refusal::Suspended(job));
    assert_eq!(stage.ask(change(request, job, Change::Pause)), refused);
    assert_eq!(stage.ask(change(request, job, Change::Resume)), refused);
    assert_eq!(stage.state(job).0, JobState::Suspended);

    assert_eq!(stage.ask(change(request, job, Change::Cancel)), Ok(job));
    assert_eq!(stage.state(job).0, JobState::Cancelled);
    assert_eq!(stage.farm.job(job).and_then(|view| view.suspended), None);
}

#[test]
fn suspensions_are_durable_first_and_skip_cancelled_jobs() {
    let mut stage = Stage::new();
    let job = submit(&mut stage, plan(4));
    let worker = stage.join("w1", 4);
    stage.slow_disk = true;
    tell(&mut stage, worker, 0, "portable");
    stage.flush();
    assert_eq!(stage.state(job).0, JobState::Running, "the record is on its way");

    let request = RequestId(70);
    stage.act(change(request, job, Change::Resume));
    stage.act(change(RequestId(71), job, Change::Cancel));
    stage.flush();

    let refusal = Effect::Reply(request, Err(Refusal::Suspended(job)));
    assert!(stage.sent.contains(&refusal));
    let ends = stage.sent.iter().filter(|effect| **effect == Effect::AtRest(job)).count();
    assert_eq!((ends, stage.state(job).0), (1, JobState::Cancelled));
}

#[test]
fn a_restart_keeps_a_suspension_until_the_fact_is_corrected() {
    let (mut stage, job) = suspended();
    let before = stage.farm.job(job).and_then(|view| view.suspended);

    stage.restart_knowing(&known());
    assert_eq!(stage.state(job).0, JobState::Suspended);
    assert_eq!(stage.farm.job(job).and_then(|view| view.suspended), before);

    stage.restart_knowing(&Known::nothing());
    assert_eq!(stage.state(job), (JobState::Done, 4));

    // A fact that is learned later suspends a job that is done.
    stage.restart_knowing(&known());
    assert_eq!(stage.state(job).0, JobState::Suspended);
}
