//! Tests of commands for several jobs, for ended ones and for the workers of a farm.

use crate::object;
use crate::support::Farm;
use crate::support::process::{queens, run, wait_until};

#[test]
fn several_sizes_are_several_jobs_that_can_be_followed() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();

    assert_eq!(farm.client(&["submit", "6..8"]).success(), "1\n2\n3\n");
    let totals = [6, 7, 8].map(testkit::vectors::total);
    let expected = format!("1 {}\n3 {}\n2 {}\n", totals[0], totals[2], totals[1]);
    assert_eq!(farm.client(&["watch", "1", "3", "2"]).success(), expected);
    let waited = farm.client(&["submit", "9..10", "--wait"]).success();
    assert_eq!(
        waited,
        format!("4 {}\n5 {}\n", testkit::vectors::total(9), testkit::vectors::total(10))
    );
    let answered = farm.client(&["jobs", "1", "2", "--json"]).success();
    let numbers = [r#""job":1,"#, r#""job":2,"#];
    assert!(answered.lines().zip(numbers).all(|(line, it)| line.contains(it)), "{answered}");
    // Each size has its own name, so the same command can be repeated.
    assert_eq!(farm.client(&["submit", "8..9", "--name", "nightly"]).success(), "6\n7\n");
    assert_eq!(farm.client(&["submit", "8..9", "--name", "nightly"]).success(), "6\n7\n");
    assert!(farm.client(&["jobs"]).success().contains("nightly-9"));
}

#[test]
fn a_failure_for_one_job_does_not_stop_the_others() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let jobs = [farm.submit(12, 3, 0), farm.submit(12, 3, 0)];

    let paused = farm.client(&["pause", "77", "1", "2", "99"]);

    assert_eq!(paused.code, Some(4), "{}", paused.stderr);
    assert_eq!(paused.stdout, format!("job {} is paused\njob {} is paused\n", jobs[0], jobs[1]));
    let refused = paused.stderr.split_once('\n').expect("two lines");
    assert!(refused.0.contains("no job 77") && refused.1.contains("no job 99"), "{refused:?}");
    assert_eq!(refused.1.lines().count(), 1, "{refused:?}");
    for wrong in ["a", "1-2", "1.5", ""] {
        farm.client(&["cancel", wrong]).usage("for '<JOB>...'");
    }
}

#[test]
fn jobs_are_listed_in_two_tables_and_old_ones_on_request() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    for _ in 0..12 {
        farm.submit(12, 3, 0);
    }
    let eleven: Vec<String> = (1..=11).map(|job| job.to_string()).collect();
    let cancel = ["cancel"].into_iter().chain(eleven.iter().map(String::as_str));
    farm.client(&cancel.collect::<Vec<_>>()).success();
    let listed = |args: &[&str]| {
        let json = farm.client(&[&["jobs", "--json"], args].concat()).success();
        json.lines().count()
    };

    assert_eq!(listed(&[]), 11, "ten that have ended, and one that has not");
    assert_eq!(listed(&["--all"]), 12);
    assert_eq!(listed(&["--limit", "3"]), 4);
    let table = farm.client(&["jobs"]).success();
    assert!(table.ends_with("more have ended: `queens jobs --all`\n"), "{table}");
    // There are two tables, each with the columns that its jobs need.
    let (going, ended) = table.split_once("\n\n").expect("an empty line is between them");
    assert_eq!((going.lines().count(), going.contains("cancelled")), (2, false), "{table}");
    let columns = |table: &str| {
        let head = table.lines().next().unwrap_or_default();
        [" LEFT", " TOTAL"].map(|name| head.contains(name))
    };
    assert_eq!([going, ended].map(columns), [[true, false], [false, true]], "{table}");
}

#[test]
fn workers_are_listed_by_name_with_what_they_have() {
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    let _workers = ["zoe", "ann"].map(|name| {
        let options = format!("--name {name} --machine of-{name}");
        let worker = farm.start_worker_with(&options);
        coordinator.wait_for_line(&format!("worker=\"{name}\" owner="));
        worker
    });

    let table = farm.client(&["workers"]).success();
    assert!(table.starts_with("WORKER ") && table.contains(" OWNER "), "{table}");
    let names = table.lines().map(|line| line.split(' ').next().unwrap_or_default());
    assert_eq!(names.collect::<Vec<_>>(), ["WORKER", "ann", "zoe"], "{table}");
    let json = farm.client(&["workers", "--json"]).success();
    let first = object(json.lines().next().expect("a line"));
    assert_eq!((&first["threads"], &first["machine"]), (&1.into(), &"of-ann".into()));
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
    assert!(said.contains(&format!("done, total {}", testkit::vectors::total(8))), "{said}");
    assert!(said.contains("job 2 is removed: total N=12"), "{said}");
    farm.client(&["jobs", "rm", "1"]).refusal(4, &["there is no job 1"]);
    farm.client(&["jobs", "1"]).refusal(4, &["there is no job 1"]);
    assert!(coordinator.said().contains("job removed"), "{}", coordinator.said());
    coordinator.stop();

    let _coordinator = farm.start_coordinator();
    assert_eq!(farm.client(&["jobs", "--all", "--json"]).success(), "");
    assert_eq!(farm.submit(8, 2, 0), 3);
    let checked = run(queens(&["backup", "--check"]).arg(farm.ledger())).success();
    assert!(checked.contains("1 job, 0 accepted ranges"), "{checked}");
}

#[test]
fn what_was_cancelled_before_says_so() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    for _ in 0..3 {
        farm.submit(18, 2, 0);
    }
    let cancel = |args: &[&str]| farm.client(&[&["cancel"], args].concat()).success();
    assert_eq!(cancel(&["1"]), "job 1 is cancelled\n");
    assert_eq!(cancel(&["1", "2"]), "job 1 was cancelled before\njob 2 is cancelled\n");
    assert!(cancel(&["2", "--json"]).starts_with('{'));
    farm.client(&["cancel", "9"]).refusal(4, &["9"]);
}

#[test]
fn a_job_that_is_only_audited_shows_its_audit() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit_by(12, &["--rows", "2", "--certified"]);
    let _worker = farm.start_worker();
    wait_until("the first counts", || farm.client(&["jobs"]).success().contains("audit 0/"));
}
