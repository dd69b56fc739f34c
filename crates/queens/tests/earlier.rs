//! Farms in which an earlier version of the program works with this one, as it is while a farm is brought up to date.
//!
//! ```text
//! cargo xtask earlier            # builds the version of tests/earlier/COMMIT, and runs these tests
//! ```
//!
//! `cli/earlier_versions.rs` has what earlier versions said; here they answer.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use support::Farm;
use support::ledger::Snapshot;
use support::log::{self, Entry};
use support::process::{Process, by, queens, run, wait_until};

/// A board that both workers count for some seconds.
const N: u32 = 17;
const BOARD: [&str; 3] = ["17", "--rows", "4"];

/// A command of the earlier version of the program.
fn earlier(command: &Command) -> Command {
    let program = std::env::var_os("EARLIER").expect("EARLIER is the program's path");
    by(&PathBuf::from(program), command)
}

fn farm() -> Farm {
    let coordinator = "--log-format json --lease-ms 100 --lease-ttl-ms 5000 --grace-ms 200";
    Farm::new(coordinator, "--report-ms 20")
}

fn start_earlier_coordinator(farm: &Farm, options: &[&str]) -> Process {
    let mut command = earlier(&farm.coordinator());
    let mut coordinator = Process::start(command.args(options), farm.new_log());
    coordinator.wait_for_line("coordinator serves");
    coordinator
}

fn start_earlier_worker(farm: &Farm) -> Process {
    let (worker, log) = farm.worker(&["--coordinator", &farm.url()]);
    Process::start(&mut earlier(&worker), log)
}

fn ask(farm: &Farm, mut client: Command) -> String {
    run(client.env("QUEENS_COORDINATOR", farm.url())).success().trim().to_owned()
}

/// How many counts of loans of this life of the coordinator were acknowledged to the worker.
fn accepted_in(worker: &Process, epoch: u64) -> usize {
    let lines = log::read(worker.log());
    let lent = lines.iter().filter_map(|line| match line.entry {
        Entry::Loan { range, epoch: of, .. } if of == epoch => Some(range),
        _ => None,
    });
    let lent: farm::IntervalSet = lent.collect();
    let is_of_it = |entry: &Entry| match entry {
        Entry::Acknowledged { range, verdict, .. } => {
            verdict == "Accepted" && lent.within(*range).next() == Some(*range)
        }
        Entry::Loan { .. } => false,
    };
    lines.iter().filter(|line| is_of_it(&line.entry)).count()
}

/// Waits until each of them has counted for this life of the coordinator.
fn wait_for_counts(workers: &[&Process], epoch: u64) {
    for worker in workers {
        wait_until("a count to be accepted", || accepted_in(worker, epoch) > 0);
    }
}

/// Everything that was durable before must still be there.
fn assert_kept(before: &Snapshot, after: &Snapshot) {
    assert!(!before.jobs[&1].rows.is_empty());
    after.jobs[&1].assert_keeps(&before.jobs[&1]);
}

#[test]
#[ignore = "needs an earlier version of the program: cargo xtask earlier"]
fn a_farm_is_brought_up_to_date_while_it_counts_and_back_again() {
    let farm = farm();

    // A coordinator of the earlier version takes a job from a client and counts from a worker of this one.
    let coordinator = start_earlier_coordinator(&farm, &[]);
    let workers = [start_earlier_worker(&farm), farm.start_worker()];
    let submit = [&["submit"][..], &BOARD].concat();
    let job = ask(&farm, queens(&submit));
    wait_for_counts(&workers.each_ref(), 1);
    coordinator.stop();
    let before = farm.snapshot();
    assert_eq!(before.jobs[&1].state, "running", "the board is too small for this test");

    // A coordinator of this version goes on with the ledger and the workers, and serves a client of the earlier one.
    let coordinator = farm.start_coordinator();
    let submitted = ask(&farm, earlier(&queens(&["submit", "10", "--wait"])));
    assert_eq!(ask(&farm, earlier(&queens(&["watch", &job]))), vectors::total(N).to_string());
    assert_eq!(submitted, vectors::total(10).to_string());
    wait_for_counts(&workers.each_ref(), 2);
    coordinator.stop();
    let after = farm.snapshot();
    assert_eq!(after.jobs[&1].total, Some(vectors::total(N).to_string()));
    assert!(after.jobs[&1].is_tiled());
    assert_kept(&before, &after);

    // The earlier version does not touch what it cannot read, and goes on with the copy that was made before.
    let bytes = fs::read(farm.ledger()).expect("it is a file");
    run(&mut earlier(&farm.coordinator())).refusal(12, &["a newer version of this program"]);
    assert_eq!(fs::read(farm.ledger()).expect("it is a file"), bytes);

    let copy = PathBuf::from(format!("{}.format-12", farm.ledger().display()));
    farm.remove_ledger();
    fs::rename(copy, farm.ledger()).expect("it was copied before it was brought up to date");
    let _coordinator = start_earlier_coordinator(&farm, &["--accept-older-copy"]);
    assert_kept(&before, &farm.snapshot());
    assert_eq!(ask(&farm, earlier(&queens(&["watch", &job]))), vectors::total(N).to_string());
}
