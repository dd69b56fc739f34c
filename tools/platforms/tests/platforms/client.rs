//! Client commands. They run in the coordinator's container, which is faster than a new container.

use serde_json::Value;

use crate::docker::{docker, wait_for};

/// Submits the total of the n x n board, cut after some rows. Returns the job's number.
pub(crate) fn submit(coordinator: &str, n: u32, rows: u32) -> String {
    let (n, rows) = (n.to_string(), rows.to_string());
    let args = ["submit", &n, "--method", "rows", "--rows", &rows, "--json"];
    run(coordinator, &args)["job"].to_string()
}

/// Waits until some of the job's tasks are counted, and most are not.
pub(crate) fn wait_until_in_the_middle_of(coordinator: &str, job: &str) {
    wait_for("the job to be in the middle", || {
        let job = run(coordinator, &["jobs", job, "--json"]);
        let done = job["tasks_done"].as_u64().expect("a number of tasks");
        let tasks = job["tasks"].as_u64().expect("a number of tasks");
        assert!(done < tasks / 2, "too late for the middle: {job}");
        done > 0
    });
}

/// Waits for the job's end, and returns its total.
pub(crate) fn total(coordinator: &str, job: &str) -> u128 {
    let mut total = None;
    wait_for("the job to be done", || {
        let job = run(coordinator, &["jobs", job, "--json"]);
        if job["state"] == "done" {
            total = job["total"].as_str().and_then(|digits| digits.parse().ok());
        }
        total.is_some()
    });
    total.expect("the wait is over")
}

/// The workers that are connected, as `queens workers --json` lists them.
pub(crate) fn workers(coordinator: &str) -> Vec<Value> {
    let listed = docker(&["exec", coordinator, "queens", "workers", "--json"]);
    listed.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

fn run(coordinator: &str, args: &[&str]) -> Value {
    let answer = docker(&[&["exec", coordinator, "queens"], args].concat());
    serde_json::from_str(&answer).expect("--json prints JSON")
}
