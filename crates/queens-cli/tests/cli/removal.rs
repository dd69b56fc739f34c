//! Tests of jobs that are removed, and of lists of ended jobs.

use serde_json::Value;

use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::process::{queens, run};

/// The numbers and states that `queens jobs` lists.
fn listed(farm: &Farm, options: &[&str]) -> Vec<(u64, String)> {
    let args: Vec<&str> = ["jobs", "--json"].iter().chain(options).copied().collect();
    let lines = farm.client(&args).success();
    let read = |line: &str| {
        let job: Value = serde_json::from_str(line).expect("a line is a job");
        let state = job["state"].as_str().expect("a state").to_owned();
        (job["job"].as_u64().expect("a number"), state)
    };
    lines.lines().map(read).collect()
}

#[test]
fn the_last_ended_jobs_are_listed_even_after_a_restart() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    for _ in 0..12 {
        let job = farm.submit(8, 2, 0).to_string();
        farm.client(&["cancel", &job]).success();
    }
    let numbers = |options: &[&str]| -> Vec<u64> {
        listed(&farm, options).into_iter().map(|(job, _)| job).collect()
    };
    // The list has the running job and the last ten others.
    let some: Vec<u64> = [1].into_iter().chain(4..=13).collect();
    assert_eq!(numbers(&[]), some);
    let table = farm.client(&["jobs"]).success();
    assert!(table.contains("more have ended: `queens jobs --all`"), "{table}");
    coordinator.stop();

    let _coordinator = farm.start_coordinator();
    assert_eq!(numbers(&[]), some);
    assert_eq!(numbers(&["--all"]), (1..=13).collect::<Vec<_>>());
    assert_eq!(numbers(&["-n", "3"]), [1, 11, 12, 13]);
    assert_eq!(numbers(&["-n", "0"]), [1]);
}

#[test]
fn a_removed_job_is_gone_and_its_number_is_not_reused() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    farm.client(&["submit", "8", "--wait"]).success();
    worker.stop();
    let running = farm.submit(12, 2, 0).to_string();

    farm.client(&["jobs", "rm", &running]).refusal(4, &["is running", "cancel it first"]);
    farm.client(&["cancel", &running]).success();
    let said = farm.client(&["jobs", "rm", "1", &running]).success();
    assert!(said.contains(&format!("done, total {}", vectors::total(8))), "{said}");
    assert!(said.contains("job 2 is removed: total N=12"), "{said}");
    farm.client(&["jobs", "rm", "1"]).refusal(4, &["there is no job 1"]);
    farm.client(&["jobs", "1"]).refusal(4, &["there is no job 1"]);
    assert!(coordinator.said().contains("job removed"), "{}", coordinator.said());
    coordinator.stop();

    let _coordinator = farm.start_coordinator();
    assert_eq!(listed(&farm, &["--all"]), []);
    assert_eq!(farm.submit(8, 2, 0), 3);
    let scrub = run(queens(&["scrub"]).arg(farm.ledger())).success();
    assert!(scrub.contains("1 job, 0 accepted ranges"), "{scrub}");
}

#[test]
fn only_the_owner_and_an_admin_remove_a_job() {
    let guarded = Guarded::new();
    let (lab, _) = guarded.create("submitter", "lab");
    let (other, _) = guarded.create("submitter", "other");
    let (viewer, _) = guarded.create("viewer", "lab");
    guarded.client(&lab, &["submit", "8"]).success();
    guarded.client(&lab, &["cancel", "1"]).success();

    guarded.client(&other, &["jobs", "rm", "1"]).refusal(6, &["job 1 is \"lab\"'s"]);
    guarded.client(&viewer, &["jobs", "rm", "1"]).refusal(6, &["needs that of a submitter"]);
    guarded.client(&lab, &["jobs", "rm", "1"]).success();
}
