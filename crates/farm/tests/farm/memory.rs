//! Tests of workers that lack the memory for a job.

use farm::{Event, WorkerMessage};

use crate::stage::{Stage, range};

#[test]
fn threads_without_memory_do_not_count_for_lease_sizes() {
    let mut stage = Stage::new();
    let heavy = stage.submit_large(100_000_000, 5, 100);
    let worker = stage.join_with("w1", 8, 250);

    // Two of the eight threads can count the job. So the probe has 4 tasks for each of the two.
    // Later leases have 64 s of work for both, but at most a 1,024th of the plan.
    let probe = stage.last_lease(worker);
    assert_eq!((probe.job, probe.range), (heavy, range(0, 8)));
    stage.join_with("w2", 1, 100);
    let credit = 1 << 40;
    stage.act(Event::Said(worker, WorkerMessage::Credit(credit)));
    for _ in 0..16 {
        let lease = stage.last_lease(worker);
        stage.finish(worker, &lease, 500);
    }
    assert_eq!(stage.last_lease(worker).range.len(), 97_656);
}

/// The rest of a job is leased as a whole to a worker if no other can help it, and otherwise in
/// halves.
#[test]
fn a_worker_is_alone_if_no_other_can_count_the_job() {
    for (memory_of_other, expected) in [(99, 8), (100, 2)] {
        let mut stage = Stage::new();
        stage.submit_large(12, 0, 100);
        let worker = stage.join_with("w1", 1, 100);
        stage.act(Event::Said(worker, WorkerMessage::Credit(1 << 40)));
        let probe = stage.last_lease(worker);
        stage.join_with("w2", 1, memory_of_other);

        stage.finish(worker, &probe, 1_000);

        let leased = stage.last_lease(worker).range.len();
        assert_eq!(leased, expected, "beside {memory_of_other} bytes");
    }
}

#[test]
fn a_job_too_large_for_all_workers_waits_for_a_larger_one() {
    let mut stage = Stage::new();
    let job = stage.submit_large(10, 0, 100);
    let able = |stage: &Stage| stage.farm.job(job).expect("it exists").able_workers;
    assert_eq!(able(&stage), 0, "nobody is there at all");

    stage.join_with("w1", 4, 99);
    assert_eq!(able(&stage), 0, "it has too little memory");

    stage.join_with("w2", 1, 100);
    assert_eq!(able(&stage), 1);
}
