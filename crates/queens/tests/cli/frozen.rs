//! Processes that stand still for a while, as on a laptop that sleeps or a machine that swaps.

use std::thread::sleep;
use std::time::Duration;

use crate::support::Farm;
use crate::support::log::{self, Entry};
use crate::support::process::{Process, wait_until};

/// A board that takes seconds.
const N: u32 = 16;
/// Leases that expire after less than half a second.
const SHORT_LEASES: &str = "--lease-ms 100 --lease-ttl-ms 400";
/// Longer than these.
const NAP: Duration = Duration::from_secs(2);
/// Longer than a silent peer is borne with: a ping after 10 s, and 10 s for its answer.
const SLEEP: Duration = Duration::from_secs(25);

#[test]
fn a_worker_that_was_frozen_for_longer_than_its_lease_costs_nothing_but_its_time() {
    freeze_a_worker(NAP);
}

#[test]
fn a_coordinator_that_was_frozen_for_longer_than_all_leases_goes_on() {
    freeze_the_coordinator(NAP);
}

#[test]
#[ignore = "sleeps for half a minute: CI runs it"]
fn a_worker_that_was_frozen_until_its_connection_was_given_up_comes_back() {
    let said = freeze_a_worker(SLEEP);
    let joined = said.matches("worker joined").count();
    assert_eq!(joined, 3, "two workers, and one of them twice:\n{said}");
}

#[test]
#[ignore = "sleeps for half a minute: CI runs it"]
fn a_coordinator_that_was_frozen_until_its_workers_gave_it_up_goes_on() {
    for said in freeze_the_coordinator(SLEEP) {
        assert!(said.contains("no coordinator"), "{said}");
    }
}

/// One of two workers stands still in the middle of a job. The other one ends the job; then it goes,
/// and the first one does the next job alone. Returns what the coordinator said.
fn freeze_a_worker(time: Duration) -> String {
    let farm = Farm::new(SHORT_LEASES, "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let (frozen, other) = (farm.start_worker(), farm.start_worker());
    let job = farm.submit(N, 5, 0);
    wait_until("the worker to be lent something", || is_lent(&frozen));

    frozen.signal("STOP");
    assert_total(&farm, job);
    sleep(time);
    other.stop();
    frozen.signal("CONT");

    assert_total(&farm, farm.submit(N, 5, 0));
    frozen.stop();
    let said = coordinator.said();
    coordinator.stop();
    said
}

/// The coordinator stands still in the middle of a job. Returns what its workers said.
fn freeze_the_coordinator(time: Duration) -> [String; 2] {
    let farm = Farm::new(SHORT_LEASES, "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let workers = [farm.start_worker(), farm.start_worker()];
    let job = farm.submit(N, 5, 0);
    wait_until("both workers to be lent something", || workers.iter().all(is_lent));

    coordinator.signal("STOP");
    sleep(time);
    assert_eq!(farm.snapshot().running(), 1, "it was in the middle of it");
    coordinator.signal("CONT");

    assert_total(&farm, job);
    let said = workers.each_ref().map(Process::said);
    workers.into_iter().for_each(Process::stop);
    coordinator.stop();
    said
}

fn is_lent(worker: &Process) -> bool {
    log::read(worker.log()).iter().any(|line| matches!(line.entry, Entry::Loan { .. }))
}

fn assert_total(farm: &Farm, job: u64) {
    let total = farm.client(&["watch", &job.to_string()]).success();
    assert_eq!(total, format!("{}\n", vectors::total(N)));
    let snapshot = farm.snapshot();
    assert!(snapshot.jobs[&job].is_tiled(), "every task is accepted once");
    assert_eq!(snapshot.disputes, 0, "nobody counts wrongly");
}
