//! Workers that find nothing to do: whatever comes to be leasable reaches them.

use farm::{Change, Event, RequestId, WorkerMessage};

use crate::stage::{CONFIG, Stage, asked_again, change, checked_count, plan, range, report};

#[test]
fn a_recount_that_comes_back_reaches_who_was_refused() {
    // Given: w1 has counted the range. w2 has the recount, and w3 has found nothing.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let [two, three] = [stage.join("w2", 4), stage.join("w3", 4)];
    assert_eq!((stage.leases(two).len(), stage.leases(three).len()), (1, 0));

    stage.act(Event::Left { session: two });

    assert_eq!(stage.last_lease(three).range, range(0, 4));
}

#[test]
fn a_disputed_range_that_comes_back_reaches_who_was_refused() {
    // Given: w1 and w2 differ. w3 is asked, and w4 has found nothing.
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

    stage.act(Event::Left { session: three });

    assert_eq!(stage.last_lease(four).range, range(0, 4));
}

#[test]
fn what_waits_in_a_job_that_is_resumed_reaches_who_was_refused() {
    // Given: w1 has counted the range, and w2 came while the job was paused.
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
fn a_range_that_was_kept_too_long_comes_back_to_its_only_worker_in_time() {
    // Given: w2 says for all of the lease's time that it is getting on. Nobody else may count the range.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let two = stage.join("w2", 4);
    let lease = stage.last_lease(two);
    while !stage.revoked(lease.id) {
        let next = stage.farm.next_wakeup().expect("a lease has an end");
        stage.tick(next.0 - 1);
        stage.act(Event::Said { session: two, message: WorkerMessage::Working(lease.id) });
        stage.tick(next.0);
    }
    let held_ms = stage.now;
    assert!(held_ms >= CONFIG.lease_ttl_ms && stage.leases(two).len() == 1);

    // When the farm is woken up as it wants to be, then the range is leased again once it is w2's turn.
    while stage.leases(two).len() == 1 {
        stage.tick(stage.farm.next_wakeup().expect("somebody waits").0);
    }
    assert_eq!((stage.now, stage.last_lease(two).range), (2 * held_ms, range(0, 4)));
}
