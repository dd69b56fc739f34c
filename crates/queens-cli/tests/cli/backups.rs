//! Tests of copies of a ledger, made from its file and from a running farm, and of damaged ledgers.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::process::{Process, queens, run};
use crate::support::{Farm, Scratch};

/// A running farm with one job that is done and one that waits.
fn busy_farm() -> (Farm, Process) {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let job = farm.submit(8, 2, 0).to_string();
    let worker = farm.start_worker();
    assert_eq!(farm.client(&["watch", &job]).success(), format!("{}\n", vectors::total(8)));
    worker.stop();
    farm.submit(9, 2, 0);
    (farm, coordinator)
}

/// Serves a copy as the ledger of a new farm, and requires the totals of its jobs.
fn goes_on_from(copy: &Path) {
    let restored = Farm::new("", "").with_ledger(copy.to_path_buf());
    let _coordinator = restored.start_coordinator();
    let _worker = restored.start_worker();
    let totals = [8, 9].map(|n| vectors::total(n).to_string());
    for (job, total) in ["1", "2"].iter().zip(totals) {
        assert_eq!(restored.client(&["watch", job]).success(), format!("{total}\n"));
    }
}

#[test]
fn a_farm_resumes_from_copies_made_while_it_served() {
    let (farm, coordinator) = busy_farm();
    let scratch = Scratch::new();
    let [by_port, by_file] = ["port.db", "file.db"].map(|name| scratch.path(name));
    let port = by_port.to_str().expect("text");

    let said = farm.client(&["backup", port, "--json"]).success();
    let mut command = queens(&["backup", "--from"]);
    run(command.arg(farm.ledger()).arg(&by_file)).success();
    coordinator.stop();

    let said: Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((&said["file"], &said["jobs"]), (&port.into(), &2.into()));
    for copy in [&by_port, &by_file] {
        run(queens(&["scrub"]).arg(copy)).success();
        goes_on_from(copy);
    }
    assert!(fs::read_dir(farm.ledger().parent().expect("a folder")).expect("it is there").all(
        |file| { !file.expect("it is there").file_name().to_string_lossy().contains("send") }
    ));
}

#[test]
fn only_an_admin_copies_a_ledger() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let join = farm.key("join");
    let join = join.to_str().expect("text");
    let scratch = Scratch::new();
    let to = scratch.path("copy.db");
    for role in ["worker", "viewer", "submitter"] {
        let create = ["token", "create", "--role", role, "--owner", "lab", "--join-file", join];
        let string = run(&mut queens(&create)).success();
        let mut command = queens(&["backup"]);
        run(command.arg(&to).env("QUEENS_JOIN", string.trim())).refusal(6, &["admin"]);
        assert!(!to.exists());
    }
    run(queens(&["backup", "--join-file", join]).arg(&to)).success();
    let copy = fs::read(&to).expect("it is there");
    for secret in ["leases", "token"] {
        let secret = fs::read(farm.key(secret)).expect("it is there");
        assert!(!copy.windows(secret.len()).any(|bytes| bytes == secret));
    }
}

#[test]
fn a_copy_that_cannot_be_made_says_why_and_leaves_nothing() {
    let scratch = Scratch::new();
    let [ledger, copy] = ["ledger.db", "copy.db"].map(|name| scratch.path(name));
    let backup = || run(queens(&["backup", "--from"]).arg(&ledger).arg(&copy));
    backup().refusal(10, &["ledger.db", "cannot open"]);
    run(queens(&["count", "8", "--rows", "2", "--ledger"]).arg(&ledger)).success();
    backup().success();
    backup().refusal(10, &["copy.db", "is there already", "replaces no file"]);
    let nowhere = scratch.path("missing/copy.db");
    run(queens(&["backup", "--from"]).arg(&ledger).arg(nowhere)).refusal(10, &["missing"]);

    let other = scratch.path("other.db");
    damage(&ledger);
    run(queens(&["backup", "--from"]).arg(&ledger).arg(&other)).refusal(9, &["altered"]);
    assert!(!other.exists() && !scratch.path("other.db.draft").exists());
}

#[test]
fn a_scrub_names_the_first_damage() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    run(queens(&["count", "8", "--rows", "2", "--ledger"]).arg(&ledger)).success();
    let scrub = || run(queens(&["scrub", "--json"]).arg(&ledger));
    let sound: Value = serde_json::from_str(&scrub().success()).expect("it is JSON");
    assert_eq!((&sound["jobs"], &sound["damage"]), (&1.into(), &Value::Null));
    assert!(sound["ranges"].as_u64().expect("a number") > 0);

    damage(&ledger);
    let outcome = scrub();
    assert_eq!(outcome.code, Some(9), "{outcome:?}");
    assert!(outcome.stderr.contains("is damaged") && outcome.stderr.lines().count() == 1);
    let damaged: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    assert!(damaged["damage"].as_str().expect("text").contains("was altered"), "{damaged}");
    run(queens(&["scrub"]).arg(scratch.path("missing.db"))).refusal(10, &["missing.db"]);
}

/// Changes a digit of a count, as a broken disk might.
fn damage(ledger: &Path) {
    let db = Connection::open(ledger).expect("it is there");
    db.busy_timeout(Duration::from_secs(10)).expect("it is SQL");
    let changed = db.execute("UPDATE ranges SET count = count + 1 WHERE first = 0", []);
    assert_eq!(changed.expect("it is SQL"), 1);
}
