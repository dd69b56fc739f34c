//! Tests that idle workers get every range that becomes leasable.

use farm::{Change, Event, RequestId, WorkerMessage};

use crate::stage::{CONFIG, Stage, asked_again, change, checked_count, plan, range, report};

#[test]
fn a_returned_recount_reaches_an_idle_worker() {
    // Given: w1 has counted the range. w2 has the recount, and w3 is idle.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let [two, three] = [stage.join("w2", 4), stage.join("w3", 4)];
    assert_eq!((stage.leases(two).len(), stage.leases(three).len()), (1, 0));

    stage.act(Event::Left(two));

    assert_eq!(stage.last_lease(three).range, range(0, 4));
}

#[test]
fn a_returned_disputed_range_reaches_an_idle_worker() {
    // Given: w1 and w2 disagree. w3 is asked, and w4 is idle.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let [one, two] = [stage.join("w1", 0), stage.join("w2", 0)];
    stage.report(one, report(job, plan(4), range(0, 4)));
    let other = checked_count(plan(4), range(0, 4), 1);
    let lie =
        asked_again(farm::Report { checked_count: other, ..report(job, plan(4), range(0, 4)) });
    stage.report(two, lie);
    let [three, four] = [stage.join("w3", 4), stage.join("w4", 4)];
    assert_eq!((stage.leases(three).len(), stage.leases(four).len()), (1, 0));

    stage.act(Event::Left(three));

    assert_eq!(stage.last_lease(four).range, range(0, 4));
}

#[test]
fn ranges_of_a_resumed_job_reach_an_idle_worker() {
    // Given: w1 has counted the range, and w2 joined while the job was paused.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let request = RequestId(9);
    stage.act(change(request, job, Change::Pause));
    let two = stage.join("w2", 4);
    stage.tick(1);
    assert_eq!(stage.leases(two), []);

    stage.act(change(request, job, Change::Resume));

    assert_eq!(stage.last_lease(two).range, range(0, 4));
}

#[test]
fn a_range_kept_too_long_returns_to_its_only_possible_worker() {
    // Given: w2 sends signs of life for the whole time of the lease. No other worker may count the
    // range.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let two = stage.join("w2", 4);
    let lease = stage.last_lease(two);
    while !stage.revoked(lease.id) {
        let next = stage.farm.next_wakeup().expect("a lease has an end");
        stage.tick(next.0 - 1);
        stage.act(Event::Said(two, WorkerMessage::Working(lease.id)));
        stage.tick(next.0);
    }
    let held_ms = stage.now;
    assert!(held_ms >= CONFIG.lease_ttl_ms && stage.leases(two).len() == 1);

    // When the farm is woken up at the times that it asks for, then the range is leased again to w2
    // in its turn.
    while stage.leases(two).len() == 1 {
        stage.tick(stage.farm.next_wakeup().expect("somebody waits").0);
    }
    assert_eq!((stage.now, stage.last_lease(two).range), (2 * held_ms, range(0, 4)));
}
