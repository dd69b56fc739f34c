//! Tests of the verdicts on reports.

use farm::{
    Change, CheckedCount, Fingerprint, JobId, JobSpec, JobState, Known, Report, RequestId, Shard,
    Verdict,
};

use crate::scene::{Scene, asked_again, change, checked_count, plan, range, report, spec};

#[test]
fn each_report_that_is_not_accepted_has_its_verdict_and_changes_nothing() {
    let mut scene = Scene::new();
    let (job, cancelled) = (scene.submit(10, 0), scene.submit(10, 0));
    scene.act(change(RequestId(1), cancelled, Change::Cancel));
    let (one, two, three) = (scene.join("w1", 0), scene.join("w2", 0), scene.join("w3", 0));
    let of = |start, end| report(job, plan(10), range(start, end));
    scene.report(one, of(0, 4));
    scene.report(two, of(4, 6));

    let checked_count = of(0, 4).checked_count;
    let altered = CheckedCount { count: checked_count.count ^ 1 << 40, ..checked_count };
    for (late, expected) in [
        (of(0, 4), Verdict::Agreed),
        (of(0, 6), Verdict::Agreed),
        (of(2, 6), Verdict::Superseded),
        (of(1, 3), Verdict::Superseded),
        (of(4, 8), Verdict::Superseded),
        (of(8, 11), Verdict::Invalid),
        (Report { checked_count: altered, ..of(6, 10) }, Verdict::Invalid),
        (Report { fingerprint: Fingerprint([7; 32]), ..of(6, 10) }, Verdict::Foreign),
        (Report { job: cancelled, ..of(6, 10) }, Verdict::Obsolete),
        (Report { job: JobId(99), ..of(6, 10) }, Verdict::Obsolete),
    ] {
        assert_eq!(scene.report(three, late.clone()), Some(expected), "{late:?}");
        assert_eq!(scene.state(job), (JobState::Running, 6), "{late:?}");
    }
}

#[test]
fn a_report_across_a_frozen_range_frees_its_other_part() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let (one, two, three) = (scene.join("w1", 10), scene.join("w2", 0), scene.join("w3", 0));
    let lease = scene.last_lease(one);
    scene.report(two, report(job, plan(4), range(0, 2)));
    let checked_count = checked_count(plan(4), range(0, 2), 7);
    scene.report(three, asked_again(Report { checked_count, ..report(job, plan(4), range(0, 2)) }));

    let verdict = scene.finish(one, &lease, 1_000);

    assert_eq!(verdict, Some(Verdict::Superseded));
    let four = scene.join("w4", 10);
    assert_eq!(scene.last_lease(four).range, range(2, 4));
}

#[test]
fn a_range_outside_of_the_slice_is_invalid() {
    let mut scene = Scene::new();
    let shard = Shard::new(1, 2).expect("it is one");
    let spec = JobSpec { shard, ..spec(plan(4)) };
    let job = scene.submit_spec(spec, None, Known::nothing());
    let worker = scene.join("w1", 0);

    // The shard has the first and the third of four tasks.
    let verdicts = [(0, 1), (1, 2), (2, 3), (0, 2)]
        .map(|(start, end)| scene.report(worker, report(job, plan(4), range(start, end))));

    let (accepted, invalid) = (Some(Verdict::Accepted), Some(Verdict::Invalid));
    assert_eq!(verdicts, [accepted, invalid, accepted, invalid]);
    assert_eq!(scene.state(job), (JobState::Done, 2));
}
