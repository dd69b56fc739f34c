//! Tests that totals which contradict known facts are suspended.

use farm::{
    AuditPolicy, Change, CheckedCount, Effect, Fact, JobId, JobState, Known, LedgerCommand, Method,
    Plan, Refusal, Report, RequestId, SessionId, TaskCounts, Verdict,
};

use crate::scene::{
    AUDIT_ALL, Scene, audit, change, checked_count, kernel, plan, report_of, spec, work,
};

/// Known facts about four tasks: none counts more than 10, and together they count 5.
fn known() -> Known {
    let fact = Fact::Published { value: 5, source: "a paper" };
    Known { most_per_task: 10, facts: vec![fact], ..Known::nothing() }
}

fn submit(scene: &mut Scene, plan: Plan) -> JobId {
    scene.submit_spec(spec(plan), None, known())
}

/// Reports the worker's newest lease with a count of 1 per task, and `more` in addition for the
/// first one.
fn tell(scene: &mut Scene, worker: SessionId, more: u64, name: &str) -> Option<Verdict> {
    let lease = scene.last_lease(worker);
    let checked_count = checked_count(lease.plan, lease.range, more);
    let of = report_of(&lease, lease.range);
    scene.report_as_is(worker, Report { checked_count, kernel: kernel(name), ..of })
}

/// A job that is suspended, because w1 has counted 4 where 5 is known.
fn suspended() -> (Scene, JobId) {
    let mut scene = Scene::new();
    let job = submit(&mut scene, plan(4));
    let worker = scene.join("w1", 4);
    assert_eq!(tell(&mut scene, worker, 0, "portable"), Some(Verdict::Accepted));
    (scene, job)
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
        let mut scene = Scene::new();
        let plan = Plan { method, ..plan(4) };
        submit(&mut scene, plan);
        let worker = scene.join("w1", 4);
        let lease = scene.last_lease(worker);
        let with = |sum: CheckedCount, (at, &count)| sum.with(plan.fingerprint(), at, count);
        let checked_count =
            (0..4).zip(&counts).try_fold(CheckedCount::EMPTY, with).expect("it is small");
        let task_counts = TaskCounts::new(&counts);
        let reported = Report { checked_count, task_counts, ..report_of(&lease, lease.range) };
        assert_eq!(scene.report_as_is(worker, reported), Some(expected), "{method} {counts:?}");
    }
}

#[test]
fn a_total_that_contradicts_a_fact_is_suspended_with_the_reason() {
    let (scene, job) = suspended();

    assert_eq!(scene.state(job).0, JobState::Suspended);
    assert!(scene.sent.contains(&Effect::AtRest(job)));
    let suspended = scene.farm.job(job).and_then(|view| view.suspended).expect("it is suspended");
    assert!(suspended.contains("comes to 4") && suspended.contains("a paper"), "{suspended:?}");
}

#[test]
fn an_impossible_count_is_invalid_and_changes_nothing() {
    let mut scene = Scene::new();
    let job = submit(&mut scene, plan(4));
    let worker = scene.join("w1", 4);

    // Four tasks count at most 40.
    assert_eq!(tell(&mut scene, worker, u64::MAX - 4, "portable"), Some(Verdict::Invalid));
    assert_eq!(tell(&mut scene, worker, 37, "portable"), Some(Verdict::Invalid));
    assert_eq!(scene.farm.job(job).map(|view| view.tasks_done), Some(0));

    assert_eq!(tell(&mut scene, worker, 36, "portable"), Some(Verdict::Accepted));
    assert_eq!(scene.state(job).0, JobState::Suspended);
}

#[test]
fn an_audit_of_a_suspended_job_ends_with_the_right_total() {
    let (mut scene, job) = suspended();
    let withdrawn = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
    let asked = change(RequestId(69), job, audit(withdrawn));
    assert_eq!(scene.ask(asked), Err(Refusal::Suspended(job)), "there is nothing to withdraw");

    let request = RequestId(70);
    let asked = change(request, job, audit(AUDIT_ALL));
    assert_eq!(scene.ask(asked), Ok(job));
    assert_eq!(scene.state(job).0, JobState::Running);
    for worker in ["w2", "w3"] {
        let worker = scene.join(worker, 4);
        tell(&mut scene, worker, 1, "reference");
    }

    assert_eq!(scene.state(job), (JobState::Done, 5));
    assert_eq!(scene.farm.job(job).and_then(|view| view.suspended), None);
    let ends = scene.sent.iter().filter(|effect| **effect == Effect::AtRest(job)).count();
    assert_eq!(ends, 2, "it was suspended before");
}

#[test]
fn an_audit_that_confirms_a_wrong_total_suspends_again() {
    let (mut scene, job) = suspended();
    let audited = change(RequestId(70), job, audit(AUDIT_ALL));
    scene.ask(audited).expect("it may be audited");
    let two = scene.join("w2", 4);

    work(&mut scene, two);

    assert_eq!(scene.state(job), (JobState::Suspended, 4));
    let suspensions = scene
        .commands
        .iter()
        .filter(|command| matches!(command, LedgerCommand::Finish { reason: Some(_), .. }));
    assert_eq!(suspensions.count(), 2);
}

#[test]
fn a_suspended_job_is_cancelled_but_neither_paused_nor_resumed() {
    let (mut scene, job) = suspended();
    let request = RequestId(70);
    let refused = Err(Refusal::Suspended(job));
    assert_eq!(scene.ask(change(request, job, Change::Pause)), refused);
    assert_eq!(scene.ask(change(request, job, Change::Resume)), refused);
    assert_eq!(scene.state(job).0, JobState::Suspended);

    assert_eq!(scene.ask(change(request, job, Change::Cancel)), Ok(job));
    assert_eq!(scene.state(job).0, JobState::Cancelled);
    assert_eq!(scene.farm.job(job).and_then(|view| view.suspended), None);
}

#[test]
fn suspensions_are_durable_first_and_skip_cancelled_jobs() {
    let mut scene = Scene::new();
    let job = submit(&mut scene, plan(4));
    let worker = scene.join("w1", 4);
    scene.slow_disk = true;
    tell(&mut scene, worker, 0, "portable");
    scene.flush();
    assert_eq!(scene.state(job).0, JobState::Running, "the record is on its way");

    let request = RequestId(70);
    scene.act(change(request, job, Change::Resume));
    scene.act(change(RequestId(71), job, Change::Cancel));
    scene.flush();

    let refusal = Effect::Reply(request, Err(Refusal::Suspended(job)));
    assert!(scene.sent.contains(&refusal));
    let ends = scene.sent.iter().filter(|effect| **effect == Effect::AtRest(job)).count();
    assert_eq!((ends, scene.state(job).0), (1, JobState::Cancelled));
}

#[test]
fn a_restart_keeps_a_suspension_until_the_fact_is_corrected() {
    let (mut scene, job) = suspended();
    let before = scene.farm.job(job).and_then(|view| view.suspended);

    scene.restart_knowing(&known());
    assert_eq!(scene.state(job).0, JobState::Suspended);
    assert_eq!(scene.farm.job(job).and_then(|view| view.suspended), before);

    scene.restart_knowing(&Known::nothing());
    assert_eq!(scene.state(job), (JobState::Done, 4));

    // A fact that is learned later suspends a job that is done.
    scene.restart_knowing(&known());
    assert_eq!(scene.state(job).0, JobState::Suspended);
}
