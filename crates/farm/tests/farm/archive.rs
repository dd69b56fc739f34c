//! Jobs that are over and leave the farm, and come back.

use farm::{
    Effect, Event, JobId, JobState, LeaseId, LedgerCommand, Party, Refusal, Report, RequestId,
    Verdict,
};

use crate::stage::{OWNER, Stage, plan, range, report, submission_by, work};

const REQUEST: RequestId = RequestId(9);

fn archive(job: JobId) -> Event {
    Event::ArchiveAsked { request: REQUEST, job }
}

fn unarchive(job: JobId) -> Event {
    Event::UnarchiveAsked { request: REQUEST, job }
}

fn remove(job: JobId) -> Event {
    Event::RemovalAsked { request: REQUEST, job }
}

/// What the request of an event is answered.
fn answer(stage: &mut Stage, event: Event) -> Option<Result<JobId, Refusal>> {
    let before = stage.sent.len();
    stage.act(event);
    stage.sent[before..].iter().find_map(|effect| match effect {
        Effect::Reply { request: REQUEST, answer } => Some(*answer),
        _ => None,
    })
}

/// A farm with a job of 12 tasks that one worker has counted.
fn counted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit(12, 0);
    let worker = stage.join("w1", 100);
    work(&mut stage, worker);
    assert_eq!(stage.state(job), (JobState::Done, 12));
    (stage, job)
}

/// A farm with a job of so many tasks that one worker has counted, with a row for each.
fn counted_in_rows(tasks: u64) -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit(tasks, 0);
    stage.join("w1", 1_000);
    for task in 0..tasks {
        let lease = LeaseId(1_000 + task);
        let report = Report { lease, ..report(job, plan(tasks), range(task, task + 1)) };
        stage.report(farm::SessionId(1), report);
    }
    assert_eq!(stage.state(job).0, JobState::Done);
    (stage, job)
}

#[test]
fn an_archived_job_is_no_longer_the_farms_and_comes_back_as_it_was() {
    let (mut stage, job) = counted();
    let before = stage.farm.job(job);
    let late = report(job, plan(12), range(0, 12));

    assert_eq!(answer(&mut stage, archive(job)), Some(Ok(job)));
    assert_eq!(stage.farm.job(job), None);
    assert_eq!(stage.report(farm::SessionId(1), late), Some(Verdict::Obsolete));
    stage.restart();
    assert_eq!(stage.farm.job(job), None);

    assert_eq!(answer(&mut stage, unarchive(job)), Some(Ok(job)));
    assert_eq!(stage.farm.job(job), before);
    assert_eq!(answer(&mut stage, unarchive(job)), Some(Ok(job)), "it is there already");
    let other = JobId(7);
    assert_eq!(answer(&mut stage, unarchive(other)), Some(Err(Refusal::NoSuchJob(other))));
}

#[test]
fn only_a_job_that_is_over_and_settled_leaves() {
    let mut stage = Stage::new();
    let job = stage.submit(12, 0);
    for event in [archive(job), remove(job)] {
        let refusal = Refusal::NotOver(job, JobState::Running);
        assert_eq!(answer(&mut stage, event), Some(Err(refusal)));
    }
    // Nor while its end is on the way into the ledger, or a decision that may take its counts back.
    stage.slow_disk = true;
    stage.act(Event::Cancelled { request: RequestId(1), by: "lab".into(), job });
    for event in [archive(job), remove(job)] {
        let refusal = Refusal::NotOver(job, JobState::Running);
        assert_eq!(answer(&mut stage, event), Some(Err(refusal)));
    }
    stage.flush();
    let party = Party { owner: "somebody".into(), machine: None };
    let (request, reason) = (RequestId(2), String::new());
    stage.act(Event::TrustChanged { request, party, trusted: false, reason });
    for event in [archive(job), remove(job)] {
        assert_eq!(answer(&mut stage, event), Some(Err(Refusal::Unsettled(job))));
    }
    stage.flush();
    stage.slow_disk = false;
    assert_eq!(answer(&mut stage, remove(job)), Some(Ok(job)));
    assert_eq!(answer(&mut stage, remove(job)), Some(Err(Refusal::NoSuchJob(job))));
}

#[test]
fn the_name_of_a_job_that_left_is_free_and_its_number_is_not() {
    for leave in [archive, remove] {
        let mut stage = Stage::new();
        stage.act(submission_by("lab", Some("nightly"), plan(12), None));
        let job = JobId(1);
        stage.act(Event::Cancelled { request: RequestId(1), by: "lab".into(), job });
        assert_eq!(answer(&mut stage, leave(job)), Some(Ok(job)));
        stage.restart();

        stage.act(submission_by("lab", Some("nightly"), plan(12), None));

        let next = stage.farm.job(JobId(2)).expect("it is another job");
        assert_eq!(next.origin.key.as_deref(), Some("nightly"));
    }
}

#[test]
fn a_job_on_its_way_out_of_the_archive_is_not_removed_nor_one_that_is_removed_let_out() {
    for (first, second) in
        [(unarchive as fn(JobId) -> Event, remove as fn(JobId) -> Event), (remove, unarchive)]
    {
        let (mut stage, job) = counted_in_rows(5_000);
        assert_eq!(answer(&mut stage, archive(job)), Some(Ok(job)));
        stage.slow_disk = true;
        assert_eq!(answer(&mut stage, first(job)), None);
        assert_eq!(answer(&mut stage, second(job)), Some(Err(Refusal::Unsettled(job))));
        stage.slow_disk = false;
        stage.flush();

        // Farm and ledger have the same jobs: whatever is said of it next is answered.
        let kept = stage.farm.job(job);
        stage.restart();
        assert_eq!(stage.farm.job(job), kept);
        let is_there = kept.is_some();
        assert_eq!(answer(&mut stage, archive(job)).map(|answer| answer.is_ok()), Some(is_there));
    }
}

#[test]
fn a_large_job_is_removed_some_rows_at_a_time() {
    let (mut stage, job) = counted_in_rows(5_000);
    stage.commands.clear();

    assert_eq!(answer(&mut stage, remove(job)), Some(Ok(job)));

    let removals = stage.commands.iter();
    let most = removals.map(|command| match command {
        LedgerCommand::Remove { most, .. } => *most,
        other => panic!("{other:?}"),
    });
    let most: Vec<usize> = most.collect();
    assert!(most.len() > 1 && most.iter().sum::<usize>() > 5_000, "{most:?}");
    stage.restart();
    assert_eq!(stage.farm.job(job), None);
}

#[test]
fn an_archived_job_runs_again_when_its_worker_is_believed_no_more() {
    let (mut stage, job) = counted();
    assert_eq!(answer(&mut stage, archive(job)), Some(Ok(job)));

    let party = Party { owner: OWNER.into(), machine: Some("w1".into()) };
    let (request, reason) = (RequestId(2), "it lies".into());
    stage.act(Event::TrustChanged { request, party, trusted: false, reason });

    assert_eq!(stage.state(job), (JobState::Running, 0));
    let other = stage.join("w2", 100);
    work(&mut stage, other);
    assert_eq!(stage.state(job), (JobState::Done, 12));
}
