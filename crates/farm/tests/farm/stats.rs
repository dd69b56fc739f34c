//! Tests of the farm's statistics.

use farm::{Change, Event, Request, RequestId, Verdict, WorkerMessage};

use crate::disputes::{disputed, reported};
use crate::stage::{Stage, asked, change, noted};

#[test]
fn a_repeated_report_counts_once_in_all_statistics() {
    let mut stage = Stage::new();
    stage.submit(10, 0);
    let one = stage.join("w1", 4);
    let lease = stage.last_lease(one);

    stage.finish(one, &lease, 250);
    stage.finish(one, &lease, 250);

    assert!(!stage.revoked(lease.id), "it is finished");
    let stats = stage.farm.stats();
    assert_eq!((stats.tasks_accepted, stats.busy_us), (lease.range.len(), 250 * lease.range.len()));
    let reported = Verdict::ALL.map(|verdict| stats.reports(verdict));
    assert_eq!(reported, [1, 1, 0, 0, 0, 0, 0], "one was accepted, and one agreed");
}

#[test]
fn a_report_adds_at_most_a_day_of_each_thread() {
    const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;
    let mut stage = Stage::new();
    stage.submit(10, 0);
    let one = stage.join_with("w1", 2);
    let lease = stage.last_lease(one);

    stage.finish(one, &lease, u64::MAX / lease.range.len());

    assert_eq!(stage.farm.stats().busy_us, 2 * DAY_US);
}

#[test]
fn leases_are_counted_when_they_expire() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    stage.join("w1", 4);
    assert_eq!(stage.farm.job(job).map(|view| view.workers), Some(1));

    stage.tick(crate::stage::CONFIG.lease_ttl_ms);

    assert_eq!(stage.farm.stats().leases_expired, 1);
    assert_eq!(stage.farm.job(job).map(|view| view.workers), Some(0));
}

#[test]
fn a_worker_that_stops_cleanly_is_not_lost() {
    let mut stage = Stage::new();
    let (one, two) = (stage.join("w1", 1), stage.join("w2", 1));

    stage.act(Event::Said(one, WorkerMessage::Draining));
    stage.act(Event::Left(one));
    assert_eq!(stage.farm.stats().workers_lost, 0);
    stage.act(Event::Left(two));
    assert_eq!(stage.farm.stats().workers_lost, 1);
}

#[test]
fn only_principals_that_were_proven_wrong_are_counted() {
    let (mut stage, job) = disputed(5);
    let three = stage.join("w3", 0);
    assert_eq!(stage.farm.stats().proven_wrong, 0);

    stage.report(three, reported(job, 4));

    assert_eq!(stage.farm.stats().proven_wrong, 1);
    assert_eq!(stage.farm.stats().reports(Verdict::Disputed), 2);
    let party = stage.farm.distrusted().next().expect("w2 is").clone();
    let (request, reason) = (RequestId(9), "looked into".into());
    stage.act(asked(request, Request::Trust { party, trusted: false, reason }));
    assert_eq!(stage.farm.stats().proven_wrong, 1);
    assert!(stage.sent.contains(&noted(request)));
}

#[test]
fn wanted_threads_follow_tasks_and_later_leases() {
    let mut stage = Stage::new();
    let job = stage.submit(1_000, 0);
    let leasable = |stage: &Stage| stage.farm.leasable_threads();
    assert_eq!(leasable(&stage), 1_000);

    // With a tenth of a second for each task, 100 tasks keep a thread busy for a lease of 10
    // seconds. A worker's first report does not measure a cost.
    let one = stage.join("w1", 10);
    for _ in 0..2 {
        let lease = stage.last_lease(one);
        stage.finish(one, &lease, 100_000);
    }
    let left = 1_000 - stage.farm.stats().tasks_accepted;
    assert_eq!(leasable(&stage), left.div_ceil(100));
    // A worker without a measured speed changes nothing.
    stage.join_with("w2", 64);
    assert_eq!(leasable(&stage), left.div_ceil(100));

    stage.act(change(RequestId(9), job, Change::Pause));
    assert_eq!(leasable(&stage), 0, "nothing of a job that rests is leased");
}
