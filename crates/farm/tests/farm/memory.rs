//! Workers that lack the memory for a job.

use farm::{Event, WorkerMessage};

use crate::stage::{Stage, range};

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
fn nobody_is_able_to_count_a_job_beyond_all_workers_until_one_comes_that_can() {
    let mut stage = Stage::new();
    let job = stage.submit_large(10, 0, 100);
    let able = |stage: &Stage| stage.farm.job(job).expect("it exists").able_workers;
    assert_eq!(able(&stage), 0, "nobody is there at all");

    stage.join_with("w1", 4, 99);
    assert_eq!(able(&stage), 0, "it has too little memory");

    stage.join_with("w2", 1, 100);
    assert_eq!(able(&stage), 1);
}
