//! Workers that lack the memory for a job.

use farm::{Change, Event, RequestId, WorkerMessage};

use crate::stage::{Stage, change, range};

#[test]
fn a_worker_without_the_memory_is_never_leased_the_job() {
    let mut stage = Stage::new();
    let job = stage.submit_large(10, 0, 100);
    let (small, large) = (stage.join_with("w1", 1, 99), stage.join_with("w2", 1, 100));

    while stage.farm.job(job).expect("it exists").tasks_done < 10 {
        let lease = stage.last_lease(large);
        stage.finish(large, &lease, 1_000);
    }

    assert!(stage.leases(small).is_empty());
}

#[test]
fn it_counts_another_job_of_lower_priority_meanwhile() {
    let mut stage = Stage::new();
    stage.submit_large(10, 5, 100);
    let light = stage.submit(10, 0);

    let small = stage.join_with("w1", 1, 99);

    assert_eq!(stage.last_lease(small).job, light);
}

#[test]
fn threads_without_memory_are_not_reckoned_with() {
    let mut stage = Stage::new();
    let heavy = stage.submit_large(100_000_000, 5, 100);
    let worker = stage.join_with("w1", 8, 250);

    // Two of the eight can count it: 4 tasks each are its probe, and 64 s of both in the end, but a 1,024th of the plan at most.
    let probe = stage.last_lease(worker);
    assert_eq!((probe.job, probe.range), (heavy, range(0, 8)));
    stage.join_with("w2", 1, 100);
    let credit = 1 << 40;
    stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(credit) });
    for _ in 0..16 {
        let lease = stage.last_lease(worker);
        stage.finish(worker, &lease, 500);
    }
    assert_eq!(stage.last_lease(worker).range.len(), 97_656);
}

/// What is left is leased whole to a worker that nobody can help, and in halves beside another.
#[test]
fn company_is_who_can_count_the_job() {
    for (memory_of_other, expected) in [(99, 8), (100, 2)] {
        let mut stage = Stage::new();
        stage.submit_large(12, 0, 100);
        let worker = stage.join_with("w1", 1, 100);
        stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(1 << 40) });
        let probe = stage.last_lease(worker);
        stage.join_with("w2", 1, memory_of_other);

        stage.finish(worker, &probe, 1_000);

        let leased = stage.last_lease(worker).range.len();
        assert_eq!(leased, expected, "beside {memory_of_other} bytes");
    }
}

#[test]
fn a_job_beyond_all_workers_is_named_until_one_comes_that_can() {
    let mut stage = Stage::new();
    let job = stage.submit_large(10, 0, 100);
    let able = |stage: &Stage| stage.farm.job(job).expect("it exists").able_workers;
    assert_eq!((stage.farm.stranded().count(), able(&stage)), (0, 0), "nobody is there at all");

    stage.join_with("w1", 4, 99);
    assert!(stage.farm.stranded().eq([job]));
    assert_eq!(able(&stage), 0);

    stage.join_with("w2", 1, 100);
    assert_eq!((stage.farm.stranded().count(), able(&stage)), (0, 1));
}

#[test]
fn who_can_count_what_changes_with_workers_and_jobs_and_not_with_results() {
    let mut stage = Stage::new();
    let job = stage.submit_large(1_000, 0, 100);
    assert!(stage.farm.take_staffing_change(), "a job");
    let worker = stage.join_with("w1", 1, 100);
    assert!(stage.farm.take_staffing_change(), "a worker");
    assert!(!stage.farm.take_staffing_change(), "said once");

    let lease = stage.last_lease(worker);
    stage.finish(worker, &lease, 1_000);
    assert!(!stage.farm.take_staffing_change(), "a result");

    let (request, lease) = (RequestId(1), stage.last_lease(worker).id);
    let changes = [
        change(request, job, Change::Pause),
        change(request, job, Change::Resume),
        Event::Left { session: worker },
    ];
    stage.act(Event::Said { session: worker, message: WorkerMessage::Decline(lease) });
    assert!(stage.farm.take_staffing_change(), "a declined lease");
    for change in changes {
        let said = format!("{change:?}");
        stage.act(change);
        assert!(stage.farm.take_staffing_change(), "{said}");
    }
}

#[test]
fn what_a_worker_gives_back_goes_to_others_and_never_to_it_again() {
    // Given a worker that said to have more memory than it has
    let mut stage = Stage::new();
    let heavy = stage.submit_large(4, 5, 100);
    let light = stage.submit(4, 0);
    let boaster = stage.join_with("w1", 1, 100);
    let lease = stage.last_lease(boaster);
    assert_eq!(lease.job, heavy);

    stage.act(Event::Said { session: boaster, message: WorkerMessage::Decline(lease.id) });

    assert!(stage.revoked(lease.id), "what is on its way of it is stopped");
    assert_eq!(stage.last_lease(boaster).job, light);
    let honest = stage.join_with("w2", 1, 100);
    assert_eq!(stage.last_lease(honest).range, lease.range);
    stage.act(Event::Left { session: honest });
    assert_eq!(stage.leases(boaster).len(), 2);
}

#[test]
fn nobody_gives_back_what_another_holds() {
    let mut stage = Stage::new();
    stage.submit_large(4, 0, 100);
    let (holder, other) = (stage.join_with("w1", 1, 100), stage.join_with("w2", 1, 100));
    let lease = stage.last_lease(holder);

    stage.act(Event::Said { session: other, message: WorkerMessage::Decline(lease.id) });

    assert!(!stage.revoked(lease.id));
}
