//! Tests of the verdicts on reports.

use farm::{
    Change, CoordinatorMessage, Fingerprint, JobId, JobState, LedgerCommand, Report, RequestId,
    Verdict,
};

use crate::stage::{Stage, asked_again, change, checked_count, plan, range, report};

#[test]
fn an_uncovered_range_is_accepted_only_when_it_is_durable() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);
    stage.slow_disk = true;

    let before = stage.report(worker, report(job, plan(10), range(0, 4)));
    assert_eq!((before, stage.state(job)), (None, (JobState::Running, 0)));

    stage.flush();
    assert!(matches!(
        stage.sent.last(),
        Some(farm::Effect::Tell(
            _,
            CoordinatorMessage::Ack(farm::Ack { verdict: Verdict::Accepted, .. })
        ))
    ));
    assert_eq!(stage.state(job), (JobState::Running, 4));
}

#[test]
fn a_repeated_report_agrees_and_is_counted_once() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    stage.report(one, report(job, plan(10), range(0, 4)));

    let again = stage.report(two, report(job, plan(10), range(0, 4)));

    assert_eq!((again, stage.state(job).1), (Some(Verdict::Agreed), 4));
}

#[test]
fn several_rows_together_agree_with_one_report() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);
    stage.report(worker, report(job, plan(10), range(0, 4)));
    stage.report(worker, report(job, plan(10), range(4, 6)));

    let both = stage.report(worker, report(job, plan(10), range(0, 6)));

    assert_eq!(both, Some(Verdict::Agreed));
}

#[test]
fn the_rest_of_a_superseded_range_is_leased_again_at_once() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let (one, two) = (stage.join("w1", 10), stage.join("w2", 0));
    let lease = stage.last_lease(one);
    stage.report(two, report(job, plan(4), range(0, 2)));

    let verdict = stage.finish(one, &lease, 1_000);

    assert_eq!(verdict, Some(Verdict::Superseded));
    assert_eq!(stage.last_lease(one).range.start(), 2);
}

#[test]
fn a_report_across_a_frozen_range_frees_its_other_part() {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let (one, two, three) = (stage.join("w1", 10), stage.join("w2", 0), stage.join("w3", 0));
    let lease = stage.last_lease(one);
    stage.report(two, report(job, plan(4), range(0, 2)));
    let checked_count = checked_count(plan(4), range(0, 2), 7);
    stage.report(three, asked_again(Report { checked_count, ..report(job, plan(4), range(0, 2)) }));

    let verdict = stage.finish(one, &lease, 1_000);

    assert_eq!(verdict, Some(Verdict::Superseded));
    let four = stage.join("w4", 10);
    assert_eq!(stage.last_lease(four).range, range(2, 4));
}

#[test]
fn a_report_that_overlaps_rows_without_aligning_is_superseded() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);
    stage.report(worker, report(job, plan(10), range(0, 6)));

    let inside = stage.report(worker, report(job, plan(10), range(2, 4)));

    assert_eq!(inside, Some(Verdict::Superseded));
}

#[test]
fn a_cancelled_and_an_unknown_job_make_reports_obsolete() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);
    stage.act(change(RequestId(1), job, Change::Cancel));

    let cancelled = stage.report(worker, report(job, plan(10), range(0, 4)));
    let unknown = stage.report(worker, report(JobId(99), plan(10), range(0, 4)));

    assert_eq!((cancelled, unknown), (Some(Verdict::Obsolete), Some(Verdict::Obsolete)));
}

#[test]
fn a_count_under_another_plan_is_foreign() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);

    let fingerprint = Fingerprint([7; 32]);
    let verdict =
        stage.report(worker, Report { fingerprint, ..report(job, plan(10), range(0, 4)) });

    assert_eq!((verdict, stage.state(job).1), (Some(Verdict::Foreign), 0));
}

#[test]
fn a_range_outside_of_the_plan_is_invalid() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);

    let verdict = stage.report(worker, report(job, plan(10), range(8, 11)));

    assert_eq!((verdict, stage.state(job).1), (Some(Verdict::Invalid), 0));
}

#[test]
fn an_altered_sum_is_invalid() {
    let mut stage = Stage::new();
    let job = stage.submit(10, 0);
    let worker = stage.join("w1", 0);

    let right = report(job, plan(10), range(0, 4));
    let checked_count =
        farm::CheckedCount { count: right.checked_count.count ^ 1 << 40, ..right.checked_count };
    let verdict = stage.report(worker, Report { checked_count, ..right });

    assert_eq!((verdict, stage.state(job).1), (Some(Verdict::Invalid), 0));
}

#[test]
fn a_job_without_tasks_is_done_at_once_with_the_total_0() {
    let mut stage = Stage::new();

    let job = stage.submit(0, 0);

    assert_eq!(stage.state(job), (JobState::Done, 0));
    assert!(stage.commands.contains(&LedgerCommand::Finish {
        job,
        tasks: 0,
        total: 0,
        reason: None
    }));
}

#[test]
fn a_total_may_pass_64_bits() {
    let mut stage = Stage::new();
    let job = stage.submit(3, 0);
    let worker = stage.join("w1", 0);

    for task in 0..3 {
        let checked_count = checked_count(plan(3), range(task, task + 1), u64::MAX - 1);
        stage.report(
            worker,
            Report { checked_count, ..report(job, plan(3), range(task, task + 1)) },
        );
    }

    assert_eq!(stage.state(job), (JobState::Done, 3 * u128::from(u64::MAX)));
}
