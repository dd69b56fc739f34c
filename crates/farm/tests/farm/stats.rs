//! Tests of the farm's statistics.

use farm::{Change, Event, Report, Request, RequestId, Verdict, WorkerMessage};

use crate::disputes::{disputed, reported};
use crate::scene::{Scene, asked, at_work, change, noted, range, report_of};

#[test]
fn a_repeated_report_counts_once_in_all_statistics() {
    let (mut scene, _, one) = at_work(10, 4);
    let lease = scene.last_lease(one);

    scene.finish(one, &lease, 250);
    scene.finish(one, &lease, 250);

    assert!(!scene.revoked(lease.id), "it is finished");
    let stats = scene.farm.stats();
    assert_eq!((stats.tasks_accepted, stats.busy_us), (lease.range.len(), 250 * lease.range.len()));
    let reported = Verdict::ALL.map(|verdict| stats.reports(verdict));
    assert_eq!(reported, [1, 1, 0, 0, 0, 0, 0], "one was accepted, and one agreed");
}

#[test]
fn a_report_adds_at_most_the_time_since_its_lease_on_each_thread() {
    let mut scene = Scene::new();
    scene.submit(10, 0);
    let one = scene.join_with("w1", 2);
    let lease = scene.last_lease(one);
    scene.now = 5_000;

    scene.report_as_is(one, Report { busy_us: u64::MAX, ..report_of(&lease, lease.range) });

    // The clock may have shown almost a millisecond less.
    assert_eq!(scene.farm.stats().busy_us, 2 * 5_001_000);
}

#[test]
fn time_that_was_never_reported_is_not_believed_of_later_leases() {
    let mut scene = Scene::new();
    let job = scene.submit(1_000, 0);
    let one = scene.join_with("w1", 1);
    scene.now = 50_000;
    scene.act(change(RequestId(1), job, Change::Pause));
    scene.act(change(RequestId(2), job, Change::Resume));
    let lease = scene.last_lease(one);
    scene.now += 1_000;

    for task in lease.range.start()..lease.range.end() {
        let part = range(task, task + 1);
        scene.report_as_is(one, Report { busy_us: u64::MAX, ..report_of(&lease, part) });
    }

    let most = (scene.now - 50_000 + 1) * 1_000;
    assert!(scene.farm.stats().busy_us <= most, "{}", scene.farm.stats().busy_us);
}

#[test]
fn leases_are_counted_when_they_expire() {
    let mut scene = Scene::new();
    let job = scene.submit(4, 0);
    scene.join("w1", 4);
    assert_eq!(scene.farm.job(job).map(|view| view.workers), Some(1));

    scene.tick(crate::scene::CONFIG.lease_ttl_ms);

    assert_eq!(scene.farm.stats().leases_expired, 1);
    assert_eq!(scene.farm.job(job).map(|view| view.workers), Some(0));
}

#[test]
fn a_worker_that_stops_cleanly_is_not_lost() {
    let mut scene = Scene::new();
    let (one, two) = (scene.join("w1", 1), scene.join("w2", 1));

    scene.act(Event::Said(one, WorkerMessage::Draining));
    scene.act(Event::Left(one));
    assert_eq!(scene.farm.stats().workers_lost, 0);
    scene.act(Event::Left(two));
    assert_eq!(scene.farm.stats().workers_lost, 1);
}

#[test]
fn only_principals_that_were_proven_wrong_are_counted() {
    let (mut scene, job) = disputed(5);
    let three = scene.join("w3", 0);
    assert_eq!(scene.farm.stats().proven_wrong, 0);

    scene.report(three, reported(job, 4));

    assert_eq!(scene.farm.stats().proven_wrong, 1);
    assert_eq!(scene.farm.stats().reports(Verdict::Disputed), 2);
    let party = scene.farm.distrusted().next().expect("w2 is").clone();
    let (request, reason) = (RequestId(9), "looked into".into());
    scene.act(asked(request, Request::Trust { party, trusted: false, reason }));
    assert_eq!(scene.farm.stats().proven_wrong, 1);
    assert!(scene.sent.contains(&noted(request)));
}

#[test]
fn wanted_threads_follow_tasks_and_later_leases() {
    let mut scene = Scene::new();
    let job = scene.submit(1_000, 0);
    let leasable = |scene: &Scene| scene.farm.leasable_threads();
    assert_eq!(leasable(&scene), 1_000);

    // With a tenth of a second for each task, 100 tasks keep a thread busy for a lease of 10
    // seconds. A worker's first report does not measure a cost.
    let one = scene.join("w1", 10);
    for _ in 0..2 {
        let lease = scene.last_lease(one);
        scene.finish(one, &lease, 100_000);
    }
    let left = 1_000 - scene.farm.stats().tasks_accepted;
    assert_eq!(leasable(&scene), left.div_ceil(100));
    // A worker without a measured speed changes nothing.
    scene.join_with("w2", 64);
    assert_eq!(leasable(&scene), left.div_ceil(100));

    scene.act(change(RequestId(9), job, Change::Pause));
    assert_eq!(leasable(&scene), 0, "nothing of a job that rests is leased");
}
