//! Being asked to stop, and going on afterwards.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::ledger::Snapshot;
use crate::support::log::{self, Entry};
use crate::support::process::{Process, queens, run, wait_until};
use crate::support::{Farm, Scratch};

/// A board that takes seconds.
const LONG: u32 = 16;

#[test]
fn a_worker_that_is_asked_to_stop_hands_its_range_to_the_others_at_once() {
    // Given a worker in the middle of a range, which is lent for far longer than a test may take.
    let farm = Farm::new("--lease-ms 600000 --lease-ttl-ms 3600000", "--report-ms 50");
    let _coordinator = farm.start_coordinator();
    let mut leaver = farm.start_worker();
    farm.submit(LONG, 5, 0);
    wait_until("a part of the job to be accepted", || accepted(&farm) > 0);

    let begun = Instant::now();
    leaver.signal("TERM");
    let status = leaver.wait();

    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    let left = farm.snapshot();
    assert_eq!(left.running(), 1, "it was in the middle of it");

    let heir = farm.start_worker();
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(LONG)));

    // And what the first one had counted was not counted again.
    for line in log::read(heir.log()) {
        let Entry::Loan { range, .. } = line.entry else { continue };
        assert!(!left.jobs[&1].accepted().intersects(range), "{range}");
    }
}

#[test]
fn a_worker_waits_for_its_coordinator_and_can_be_stopped_meanwhile() {
    let farm = Farm::new("", "");
    let mut worker = farm.start_worker();
    worker.wait_for_line("no coordinator");
    worker.stop();
}

#[test]
fn a_coordinator_that_is_asked_to_stop_loses_nothing() {
    let farm = Farm::new("--grace-ms 100", "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    farm.submit(LONG, 5, 0);
    wait_until("a part of the job to be accepted", || accepted(&farm) > 0);

    coordinator.stop();
    let kept = accepted(&farm);
    let _coordinator = farm.start_coordinator();

    assert!(kept > 0);
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(LONG)));
}

#[test]
fn an_interrupted_count_goes_on_where_it_was() {
    stopped_count_goes_on("INT", Some(130));
}

#[test]
fn a_terminated_count_goes_on_where_it_was() {
    stopped_count_goes_on("TERM", Some(130));
}

#[test]
fn a_killed_count_goes_on_where_it_was() {
    stopped_count_goes_on("KILL", None);
}

fn stopped_count_goes_on(signal: &str, code: Option<i32>) {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    let mut first = Process::start(&mut count(&ledger), scratch.path("first.log"));
    let accepted = || ledger.exists() && accepted_in(&ledger) > 0;
    wait_until("a part of the count to be accepted", accepted);

    first.signal(signal);
    assert_eq!(first.wait().code(), code, "{}", first.said());
    if code.is_some() {
        assert!(first.said().contains("the same command goes on from there"), "{}", first.said());
    }
    let kept = Snapshot::read(&ledger);
    assert_eq!(kept.running(), 1, "it was in the middle of it");

    let log = scratch.path("second.log");
    let mut second = count(&ledger);
    second.stderr(std::fs::File::create(&log).expect("logs can be written"));
    let output = second.output().expect("it runs");

    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", vectors::total(LONG)));
    let last = Snapshot::read(&ledger);
    assert!(last.jobs[&1].is_tiled());
    for (first, row) in &kept.jobs[&1].rows {
        assert_eq!(last.jobs[&1].rows.get(first), Some(row), "accepted ranges stay");
    }
    for line in log::read(&log) {
        let Entry::Loan { range, .. } = line.entry else { continue };
        assert!(!kept.jobs[&1].accepted().intersects(range), "{range} was counted again");
    }
    assert_eq!(run(&mut count(&ledger)).success(), format!("{}\n", vectors::total(LONG)));
}

fn count(ledger: &Path) -> Command {
    let n = LONG.to_string();
    let log = ["--log-format", "json", "--log", "queens=debug"];
    let mut command = queens(&["count", &n, "--rows", "5", "--threads", "1"]);
    command.args(log).arg("--ledger").arg(ledger);
    command
}

fn accepted(farm: &Farm) -> u64 {
    accepted_in(farm.ledger())
}

/// Accepted tasks of the first job; 0 before there is one.
fn accepted_in(ledger: &Path) -> u64 {
    let snapshot = Snapshot::try_read(ledger).unwrap_or_default();
    snapshot.jobs.get(&1).map_or(0, |job| job.accepted().len())
}
