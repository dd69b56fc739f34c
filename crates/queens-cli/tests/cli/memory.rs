//! Tests of workers that have too little memory for a job.

use crate::support::Farm;

#[test]
fn a_job_waits_for_a_worker_that_has_the_memory() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let mut small = farm.start_worker_with("--memory 1MiB");
    farm.client(&["submit", "14", "--method", "halves", "--priority", "1"]).success();

    // The worker counts another job meanwhile, also when the coordinator was restarted.
    let count_another_job = || {
        let total = farm.client(&["submit", "10", "--method", "rows", "--wait"]).success();
        assert_eq!(total, format!("{}\n", vectors::total(10)));
        let status = farm.client(&["jobs", "1"]).success();
        assert!(status.contains("it waits for a worker with"), "{status}");
    };
    count_another_job();
    let jobs = farm.client(&["jobs"]).success();
    assert!(jobs.contains("\njob 1 waits for a worker with"), "{jobs}");
    assert!(!jobs.contains("job 2 waits"), "{jobs}");
    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    count_another_job();
    assert!(small.is_running(), "{}", small.said());

    let _large = farm.start_worker_with("--memory 100MiB");
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(14)));
}
