//! Tests a task with which one worker after the other crashes.

use serde_json::Value;

use crate::support::Farm;
use crate::support::process::wait_until;

#[test]
fn a_task_that_kills_workers_is_named_and_can_be_resumed() {
    // Given: a job of one task that takes a while.
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    let job = || -> Value {
        let status = farm.client(&["jobs", "1", "--json"]).success();
        serde_json::from_str(&status).expect("it is an object")
    };
    farm.submit(16, 0, 0);

    // When three workers are killed while they count it
    for _ in 0..3 {
        let worker = farm.start_worker();
        wait_until("the worker to have the task", || job()["workers"] == 1);
        worker.kill();
        wait_until("the coordinator to notice", || job()["workers"] == 0);
    }

    // Then the coordinator reports it, and does not lease it again.
    coordinator.wait_for_line("it is not leased any more");
    let _worker = farm.start_worker();
    wait_until("the worker to be there", || job()["able_workers"] == 1);
    let failed = job();
    assert_eq!((&failed["failed"], &failed["workers"]), (&1.into(), &0.into()));
    let status = farm.client(&["jobs", "1"]).success();
    assert!(status.contains("leases no more of 1 task (0)"), "{status}");
    assert!(status.contains("`queens resume 1`"), "{status}");

    // And when a client resumes the job, it is leased again.
    farm.client(&["resume", "1"]).success();
    wait_until("a worker to have the task", || job()["workers"] == 1);
    assert_eq!(job()["failed"], 0);
}
