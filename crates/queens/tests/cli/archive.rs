//! Jobs that are put away, and jobs that are removed.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::process::{queens, run};

/// The numbers and states that `queens jobs` lists.
fn listed(farm: &Farm, options: &[&str]) -> Vec<(u64, String, bool)> {
    let words: Vec<&str> = ["jobs", "--json"].iter().chain(options).copied().collect();
    let lines = farm.client(&words).success();
    let read = |line: &str| {
        let job: Value = serde_json::from_str(line).expect("a line is a job");
        let state = job["state"].as_str().expect("a state").to_owned();
        (job["job"].as_u64().expect("a number"), state, job["archived"] == true)
    };
    lines.lines().map(read).collect()
}

#[test]
fn an_archived_job_is_listed_and_exported_and_comes_back() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    let first = farm.client(&["submit", "8", "--name", "eight", "--wait"]).success();
    assert_eq!(first.trim(), vectors::total(8).to_string());
    farm.client(&["submit", "9", "--wait"]).success();

    // When it is archived
    let said = farm.client(&["jobs", "archive", "1"]).success();
    assert!(said.contains("job 1 is archived: total N=8"), "{said}");
    assert_eq!(farm.client(&["jobs", "archive", "1"]).success(), said, "once more does no harm");

    // Then it is listed apart, also by the next coordinator, which does not read it.
    let (one, two) = ((1, "done".to_owned(), true), (2, "done".to_owned(), false));
    assert_eq!(listed(&farm, &[]), std::slice::from_ref(&two));
    coordinator.stop();
    let _coordinator = farm.start_coordinator();
    assert_eq!(listed(&farm, &[]), std::slice::from_ref(&two));
    assert_eq!(listed(&farm, &["--archived"]), std::slice::from_ref(&one));
    assert_eq!(listed(&farm, &["--all"]), [one, two]);
    let status = farm.client(&["status", "1"]).success();
    assert!(status.contains("done, archived"), "{status}");
    assert!(status.contains(&format!("total     {}", vectors::total(8))), "{status}");
    assert!(status.contains("name      eight"), "{status}");
    assert_eq!(farm.client(&["watch", "1"]).success(), first);

    // Its evidence can be exported and verified as before.
    let bundle = farm.new_log();
    let path = bundle.to_str().expect("it is text");
    farm.client(&["export", "1", path]).success();
    run(&mut queens(&["verify", path, "--seed", "1"])).success();

    // Nothing is done with it before it is taken out.
    for words in [vec!["audit", "1"], vec!["cancel", "1"], vec!["priority", "1", "3"]] {
        farm.client(&words).refusal(4, &["job 1 is in the archive", "queens jobs unarchive 1"]);
    }
    farm.client(&["jobs", "unarchive", "1"]).success();
    assert_eq!(listed(&farm, &["--archived"]), []);
    farm.client(&["audit", "1", "--fraction", "0"]).success();
}

#[test]
fn a_removed_job_is_gone_for_good_and_its_number_is_not_given_again() {
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
    farm.client(&["status", "1"]).refusal(4, &["there is no job 1"]);
    assert!(coordinator.said().contains("job removed"), "{}", coordinator.said());
    coordinator.stop();

    let _coordinator = farm.start_coordinator();
    assert_eq!(listed(&farm, &["--all"]), []);
    assert_eq!(farm.submit(8, 2, 0), 3);
    let scrub = run(queens(&["scrub"]).arg(farm.ledger())).success();
    assert!(scrub.contains("1 jobs, 0 accepted ranges"), "{scrub}");
}

#[test]
fn jobs_are_archived_some_time_after_they_ended() {
    let farm = Farm::new("--archive-after 200ms", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    farm.client(&["submit", "8", "--wait"]).success();
    let running = farm.submit(8, 2, 0);
    farm.client(&["pause", &running.to_string()]);

    let begun = Instant::now();
    while listed(&farm, &["--archived"]).iter().all(|(job, ..)| *job != 1) {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not archived");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn only_its_owner_and_an_admin_put_a_job_away_or_remove_it() {
    let guarded = Guarded::new();
    let (lab, _) = guarded.create("submitter", "lab");
    let (other, _) = guarded.create("submitter", "other");
    let (viewer, _) = guarded.create("viewer", "lab");
    guarded.client(&lab, &["submit", "8"]).success();
    guarded.client(&lab, &["cancel", "1"]).success();

    for what in ["archive", "rm"] {
        guarded.client(&other, &["jobs", what, "1"]).refusal(6, &["job 1 is \"lab\"'s"]);
        guarded.client(&viewer, &["jobs", what, "1"]).refusal(6, &["needs that of a submitter"]);
    }
    guarded.client(&lab, &["jobs", "archive", "1"]).success();
    for what in ["unarchive", "rm"] {
        guarded.client(&other, &["jobs", what, "1"]).refusal(6, &["job 1 is \"lab\"'s"]);
    }
    guarded.client(&lab, &["jobs", "rm", "1"]).success();
}
