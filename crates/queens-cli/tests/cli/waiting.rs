//! Tests of jobs without workers, and of the messages about them.

use crate::support::Farm;
use crate::support::process::{Process, queens, wait_until};

#[test]
fn a_job_without_workers_names_what_it_waits_for() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let status = |job: u64| farm.client(&["jobs", &job.to_string()]).success();
    let long = farm.submit(18, 5, 0);
    let behind = farm.submit(8, 2, 0);
    for job in [long, behind] {
        assert!(status(job).contains("it waits for a worker: none is connected"));
    }
    let watch = |args: &[&str]| {
        let mut watch = queens(args);
        Process::start(watch.args(["--coordinator", &farm.url()]), farm.new_log())
    };
    watch(&["watch", "1"]).wait_for_line("job 1 waits for a worker: none is connected");

    let _worker = farm.start_worker();
    wait_until("the worker to count", || status(long).contains("workers   1"));
    assert!(!status(long).contains("waits"), "{}", status(long));
    let reason = format!("for job {long}, which is served first");
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
    watch.wait_for_line("job 2 waits for `queens resume 2`");
    assert!(!watch.said().contains("job 2 waits for job 1"), "{}", watch.said());
    assert!(status(behind).contains("`queens resume 2`: it is paused"), "{}", status(behind));
}
