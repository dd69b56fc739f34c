//! Tests of copies of a ledger, made from its file and from a running farm, and of damaged ledgers.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::guarded::Guarded;
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

#[test]
fn a_farm_resumes_from_copies_made_while_it_served() {
    // Given a running farm with one job that is done and one that waits
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    farm.client(&["submit", "8", "--wait"]).success();
    worker.stop();
    farm.submit(9, 2, 0);
    let scratch = Scratch::new();
    let [by_port, by_file] = ["port.db", "file.db"].map(|name| scratch.path(name));
    let port = by_port.to_str().expect("text");

    // When it is copied by its coordinator and by its file
    let said = farm.client(&["backup", port, "--json"]).success();
    let from_file = || run(queens(&["backup", "--from"]).arg(farm.ledger()).arg(&by_file));
    from_file().success();
    from_file().refusal(10, &["file.db", "is there already", "replaces no file"]);
    #[cfg(unix)]
    {
        let link = scratch.path("link.db");
        std::os::unix::fs::symlink("nowhere.db", &link).expect("a new link");
        let to_link = run(queens(&["backup", "--from"]).arg(farm.ledger()).arg(&link));
        to_link.refusal(10, &["link.db", "is there already"]);
    }
    coordinator.stop();

    // Then new farms have the totals of its jobs.
    let said: Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((&said["file"], &said["jobs"]), (&port.into(), &2.into()));
    for copy in [by_port, by_file] {
        run(queens(&["scrub"]).arg(&copy)).success();
        let restored = Farm::new("", "").with_ledger(copy);
        let _coordinator = restored.start_coordinator();
        let _worker = restored.start_worker();
        for (job, n) in [("1", 8), ("2", 9)] {
            let total = restored.client(&["watch", job]).success();
            assert_eq!(total, format!("{}\n", vectors::total(n)));
        }
    }
    assert!(fs::read_dir(farm.ledger().parent().expect("a folder")).expect("it is there").all(
        |file| { !file.expect("it is there").file_name().to_string_lossy().contains("send") }
    ));
}

#[test]
fn only_an_admin_copies_a_ledger() {
    let guarded = Guarded::new();
    let scratch = Scratch::new();
    let to = scratch.path("copy.db");
    let backup = ["backup", to.to_str().expect("text")];
    for role in ["worker", "viewer", "submitter"] {
        let (token, _) = guarded.create(role, "lab");
        guarded.client(&token, &backup).refusal(6, &["admin"]);
        assert!(!to.exists());
    }
    guarded.client("admin", &backup).success();
    let copy = fs::read(&to).expect("it is there");
    for secret in [guarded.farm.key("leases"), guarded.scratch.path("admin")] {
        let secret = fs::read(secret).expect("it is there");
        assert!(!copy.windows(secret.len()).any(|bytes| bytes == secret));
    }
}

#[test]
fn a_scrub_names_the_first_damage_and_a_damaged_ledger_makes_no_copy() {
    let scratch = Scratch::new();
    let [ledger, copy] = ["ledger.db", "copy.db"].map(|name| scratch.path(name));
    run(queens(&["count", "8", "--rows", "2", "--ledger"]).arg(&ledger)).success();
    let scrub = || run(queens(&["scrub", "--json"]).arg(&ledger));
    let sound: Value = serde_json::from_str(&scrub().success()).expect("it is JSON");
    assert_eq!((&sound["jobs"], &sound["damage"]), (&1.into(), &Value::Null));
    assert!(sound["ranges"].as_u64().expect("a number") > 0);

    // When a digit of a count changes, as on a broken disk
    let db = Connection::open(&ledger).expect("it is there");
    db.busy_timeout(Duration::from_secs(10)).expect("it is SQL");
    let changed = db.execute("UPDATE ranges SET count = count + 1 WHERE first = 0", []);
    assert_eq!(changed.expect("it is SQL"), 1);
    drop(db);

    let outcome = scrub();
    assert_eq!(outcome.code, Some(9), "{outcome:?}");
    assert!(outcome.stderr.contains("is damaged") && outcome.stderr.lines().count() == 1);
    let damaged: Value = serde_json::from_str(&outcome.stdout).expect("it is JSON");
    assert!(damaged["damage"].as_str().expect("text").contains("was altered"), "{damaged}");
    run(queens(&["backup", "--from"]).arg(&ledger).arg(&copy)).refusal(9, &["altered"]);
    assert!(!copy.exists() && !scratch.path("copy.db.draft").exists());
    run(queens(&["scrub"]).arg(scratch.path("missing.db"))).refusal(10, &["missing.db"]);
}
