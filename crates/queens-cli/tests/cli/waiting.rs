//! Tests of jobs that wait for a worker, and of the messages about them.

use crate::support::Farm;
use crate::support::process::{Process, queens, wait_until};

#[test]
fn a_job_without_workers_names_what_it_waits_for() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let status = |job: u64| farm.client(&["jobs", &job.to_string()]).success();
    let long = farm.submit(18, 5, 1);
    let behind = farm.submit(8, 2, 0);
    for job in [long, behind] {
        assert!(status(job).contains("it waits for a worker: none is connected"));
    }
    let watch = |args: &[&str]| {
        let mut watch = queens(args);
        Process::start(watch.args(["--coordinator", &farm.url()]), farm.new_log())
    };
    let mut watched = watch(&["watch", "1"]);
    let starts_one = format!("none is connected; `queens worker --coordinator {}`", farm.url());
    watched.wait_for_line(&format!("job 1 waits for a worker: {starts_one}"));
    assert!(!watched.said().contains("WARN"), "it is no line of a log: {}", watched.said());
    drop(watched);

    let _worker = farm.start_worker();
    wait_until("the worker to count", || status(long).contains("workers   1"));
    assert!(!status(long).contains("waits"), "{}", status(long));
    let reason = format!("for job {long}, which is served first as its priority is higher");
    assert!(status(behind).contains(&reason), "{}", status(behind));
    let table = farm.client(&["jobs"]).success();
    assert!(table.contains(&format!("job {behind} waits {reason}")), "{table}");

    let reported = format!(r#""waits_for":"{}""#, reason.trim_start_matches("for "));
    for command in [&["jobs", "2", "--json"][..], &["jobs", "--json"]] {
        let json = farm.client(command).success();
        assert!(json.contains(&reported), "{json}");
    }
    let counted = farm.client(&["jobs", "1", "--json"]).success();
    assert!(counted.contains(r#""waits_for":null"#), "{counted}");

    // Who watches it sees that it waits for its turn, and is not warned of it.
    let mut watch = watch(&["watch", "2", "--json"]);
    watch.wait_for_line(&reported);
    farm.client(&["pause", &behind.to_string()]).success();
    watch.wait_for_line("`queens resume 2`: it is paused");
    assert!(!watch.said().contains("job 2 waits for job 1"), "{}", watch.said());
    assert!(status(behind).contains("`queens resume 2`: it is paused"), "{}", status(behind));

    // Who submits another and waits is told why, and what helps.
    let submit = ["submit", "9", "--wait", "--coordinator", &farm.url()];
    let mut submit = Process::start(&mut queens(&submit), farm.new_log());
    let why = format!("job 3 waits {reason}; a higher priority has it counted before");
    // Also if something else of the job changes meanwhile.
    submit.wait_for_line("job 3: total");
    farm.client(&["priority", "3", "-1"]).success();
    submit.wait_for_line(&why);
    farm.client(&["priority", "3", "2"]).success();
    assert_eq!(submit.wait().code(), Some(0));
}

#[test]
fn a_task_that_kills_workers_is_named_and_can_be_resumed() {
    // Given: a job of one task that takes a while.
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    farm.submit(16, 0, 0);

    // When three workers are killed while they count it
    for _ in 0..3 {
        let worker = farm.start_worker();
        wait_until("the worker to have the task", || farm.job(1)["workers"] == 1);
        worker.kill();
        wait_until("the coordinator to notice", || farm.job(1)["workers"] == 0);
    }

    // Then the coordinator reports it, and does not lease it again.
    coordinator.wait_for_line("it is not leased any more");
    let _worker = farm.start_worker();
    wait_until("the worker to be there", || farm.job(1)["able_workers"] == 1);
    let failed = farm.job(1);
    assert_eq!((&failed["failed"], &failed["workers"]), (&1.into(), &0.into()));
    let status = farm.client(&["jobs", "1"]).success();
    assert!(status.contains("leases no more of 1 task (0)"), "{status}");
    assert!(status.contains("`queens resume 1`"), "{status}");

    // And when a client resumes the job, it is leased again.
    farm.client(&["resume", "1"]).success();
    wait_until("a worker to have the task", || farm.job(1)["workers"] == 1);
    assert_eq!(farm.job(1)["failed"], 0);
}
