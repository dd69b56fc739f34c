//! Tests of restarts of the coordinator and of workers that reconnect.

use farm::{
    Change, Event, Hello, Holding, JobId, JobState, LeaseId, LedgerCommand, Party, Report, Request,
    RequestId, SessionId, WorkerMessage,
};
use ledger::Ledger;

use crate::scene::{
    OWNER, Scene, asked, at_work, change, empty_ledger, hello, kernel, plan, proven, provenance,
    range, report, report_of, spec, work,
};

const JOB: JobId = JobId(1);

/// A ledger with a job of 10 tasks. w1 has counted the first `accepted` ones, each as 1.
fn half_done(accepted: u64) -> Ledger {
    let ledger = empty_ledger();
    let plan = plan(10);
    let job = LedgerCommand::CreateJob { job: JOB, spec: spec(plan), audit: None };
    let report = report(JOB, plan, range(0, accepted));
    let report = Report { kernel: kernel("avx2"), ..report };
    let accept = LedgerCommand::Accept { report, provenance: provenance("w1"), audit: false };
    ledger.apply(&[job, accept]).expect("it fits");
    ledger
}

fn restored(ledger: Ledger) -> Scene {
    Scene::over(ledger, 2)
}

fn holding(lease: u64, start: u64, end: u64) -> Holding {
    let leased = Report { lease: LeaseId(lease), ..report(JOB, plan(10), range(start, end)) };
    Holding::of_report(&proven(leased, OWNER))
}

#[test]
fn nothing_is_leased_during_the_grace_period() {
    let mut scene = restored(half_done(5));

    let worker = scene.join("w1", 100);
    assert!(scene.leases(worker).is_empty());
    assert_eq!(scene.farm.next_wakeup(), Some(farm::Millis(3_000)));
    scene.tick(1_000);
    assert!(scene.leases(worker).is_empty());

    scene.tick(3_000);
    assert_eq!(scene.last_lease(worker).range, range(5, 9));
}

#[test]
fn a_reconnected_worker_keeps_what_it_holds() {
    // Given: w1 still counts [7, 10), and its finished range [3, 5) has been accepted. Its lease is
    // from an earlier epoch of the ledger. It can also be from a later epoch, if the ledger was
    // restored from a copy.
    for epoch in [1, 5] {
        let mut scene = restored(half_done(5));
        let old = epoch << 40 | 17;
        let holding = vec![holding(old, 3, 5), holding(old, 7, 10)];

        let hello = Hello { holding, ..hello("w1", 100) };
        scene.join_as(SessionId(1), OWNER, hello);
        scene.tick(3_000);

        assert!(!scene.revoked(LeaseId(old)), "it would drop what it was left");
        let leased: Vec<_> = scene.leases(SessionId(1)).iter().map(|lease| lease.range).collect();
        assert!(leased.iter().all(|range| range.end() <= 7), "{leased:?}");
    }
}

#[test]
fn a_reconnected_worker_loses_ranges_that_others_have() {
    let mut scene = restored(half_done(5));
    scene.join("w2", 100);
    scene.tick(3_000);

    let old = LeaseId(1 << 40 | 17);
    let holding = vec![holding(old.0, 5, 9)];
    let hello = Hello { holding, ..hello("w1", 0) };
    scene.join_as(SessionId(1), OWNER, hello);

    assert!(scene.revoked(old));
}

#[test]
fn a_lease_that_this_ledger_never_leased_is_not_adopted() {
    // Given: a worker of a coordinator with another ledger. The number of its lease will be used by
    // this ledger, too.
    let mut scene = restored(half_done(5));
    let strange = LeaseId(2 << 40 | 1);
    let holding = vec![holding(strange.0, 5, 6)];
    let hello = Hello { holding, ..hello("w1", 0) };
    scene.join_as(SessionId(1), OWNER, hello);
    assert!(scene.revoked(strange));

    // When that number is leased to another worker, and the lease is finished
    let other = scene.join("w2", 4);
    scene.tick(3_000);
    let lease = scene.last_lease(other);
    assert_eq!(lease.id, strange);
    scene.finish(other, &lease, 1_000);

    // Then the accounts are consistent.
    scene.act(Event::Left(SessionId(1)));
    assert_eq!(scene.state(JOB).1, 9);
}

#[test]
fn an_equal_lease_number_of_two_jobs_belongs_to_one_of_them() {
    // Given: a ledger that was restored from a copy, and a worker that holds ranges of two jobs
    // under one number.
    let ledger = half_done(5);
    let plan = plan(10);
    let other = LedgerCommand::CreateJob { job: JobId(2), spec: spec(plan), audit: None };
    ledger.apply(&[other]).expect("it fits");
    let mut scene = restored(ledger);
    let old = 1 << 40 | 17;
    let leased = Report { lease: LeaseId(old), ..report(JobId(2), plan, range(0, 10)) };
    let twin = Holding::of_report(&proven(leased, OWNER));
    let hello = Hello { holding: vec![holding(old, 5, 10), twin], ..hello("w1", 100) };
    scene.join_as(SessionId(1), OWNER, hello);

    // When the worker leaves
    scene.act(Event::Left(SessionId(1)));
    scene.tick(3_000);

    // Then another worker counts all of both jobs.
    let two = scene.join("w2", 100);
    work(&mut scene, two);
    assert_eq!([JOB, JobId(2)].map(|job| scene.state(job).0), [JobState::Done; 2]);
}

#[test]
fn what_a_worker_brings_along_shows_no_speed() {
    // Given a worker that comes back after ten seconds, in which it has counted
    let (mut scene, _, worker) = at_work(1_000, 100);
    let lease = scene.last_lease(worker);
    scene.act(Event::Left(worker));
    scene.tick(scene.now + 10_000);
    let hello = Hello { holding: vec![Holding::of_lease(&lease)], ..hello("w1", 100) };
    let back = SessionId(99);
    scene.join_as(back, OWNER, hello);

    // When it reports that at once, and something new later
    let rate = |scene: &Scene| scene.farm.job(lease.job).expect("it exists").rate.tasks_per_second;
    let report = |ordinal| {
        let range = range(ordinal, ordinal + 1);
        Report { lease: lease.id, ..report(lease.job, lease.plan, range) }
    };
    scene.report(back, report(0));
    scene.report(back, report(1));
    assert_eq!(rate(&scene), 0.0);
    scene.tick(scene.now + 2_000);
    scene.report(back, report(2));

    // Then its speed is that of the new.
    assert!((0.4..=0.5).contains(&rate(&scene)), "{}", rate(&scene));
}

#[test]
fn a_paused_job_that_loses_its_counts_again_runs_before_and_after_a_restart() {
    // Given: a paused job of which the last count arrives, so that the ledger ends it.
    let (mut scene, job, worker) = at_work(4, 4);
    let lease = scene.last_lease(worker);
    scene.act(change(RequestId(1), job, Change::Pause));
    scene.slow_disk = true;
    scene.act(Event::Said(worker, WorkerMessage::Report(report_of(&lease, lease.range))));
    scene.flush();
    // When: its end and the decision that takes the count back are on their way together.
    let party = Party { owner: OWNER.into(), machine: None };
    let (request, reason) = (RequestId(2), String::new());
    scene.act(asked(request, Request::Trust { party, trusted: false, reason }));
    assert_eq!(scene.state(job), (JobState::Paused, 4));
    scene.flush();
    // Then: it is as the ledger has it.
    assert_eq!(scene.state(job), (JobState::Running, 0));
    assert_eq!(scene.farm.job(job).and_then(|view| view.times.paused_at_ms), None);
    scene.restart();
    assert_eq!(scene.state(job), (JobState::Running, 0));
}
