//! Tests of what clients are told, and when.

use farm::{Change, Effect, JobId, JobState, Refusal, RequestId};

use crate::stage::{CONFIG, Stage, answered, change, plan, submission, submission_by};

#[test]
fn clients_see_a_change_once_it_is_durable() {
    // Given a job that is leased, and a slow disk
    let mut stage = Stage::new();
    let job = stage.submit(8, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker).id;
    stage.slow_disk = true;

    // When it is cancelled
    stage.act(change(RequestId(1), job, Change::Cancel));

    // Then leasing stops at once, and clients learn of it once it is durable.
    assert!(stage.revoked(lease));
    assert_eq!(stage.state(job).0, JobState::Running);
    stage.flush();
    assert_eq!(stage.state(job).0, JobState::Cancelled);
    assert!(stage.sent.contains(&Effect::AtRest(job)));
}

#[test]
fn the_number_of_unfinished_jobs_is_bounded() {
    let mut stage = Stage::new();
    for number in 1..CONFIG.max_jobs {
        stage.act(submission_by(&format!("owner {number}"), None, plan(8), None));
    }
    let refusals = |stage: &Stage| {
        let most = CONFIG.max_jobs;
        let refusal = Err(Refusal::TooManyJobs(most));
        stage.sent.iter().filter_map(answered).filter(|answer| *answer == refusal).count()
    };

    // A job counts even while the ledger is still writing it.
    stage.slow_disk = true;
    stage.act(submission(plan(8), 0, 0, None));
    stage.act(submission(plan(8), 0, 0, None));
    assert_eq!(refusals(&stage), 1);
    stage.flush();
    stage.slow_disk = false;
    assert_eq!(stage.farm.jobs(.., |_| true).count(), CONFIG.max_jobs);

    // A cancelled job does not count, and a paused one does.
    stage.act(change(RequestId(1), JobId(1), Change::Cancel));
    stage.act(change(RequestId(1), JobId(2), Change::Pause));
    stage.submit(8, 0);
    stage.act(submission(plan(8), 0, 0, None));
    assert_eq!(refusals(&stage), 2);
}
