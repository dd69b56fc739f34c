//! Tests of processes that are frozen for a while, as on a sleeping laptop or a machine that swaps.

use std::thread::sleep;
use std::time::Duration;

use crate::support::Farm;
use crate::support::log::{self, Entry};
use crate::support::process::{Process, wait_until};

/// A board that takes about a second to count.
const N: u32 = 15;
/// Leases that expire after less than half a second.
const SHORT_LEASES: &str = "--lease-ms 100 --lease-ttl-ms 400";
/// The number of attempts to freeze the coordinator in the middle of a job.
const ATTEMPTS: usize = 10;

/// The time for which a process is frozen.
#[derive(Clone, Copy)]
enum Frost {
    /// It is longer than the leases last.
    Nap,
    /// It lasts until the peers close the connection. They send a ping after 10 s, and wait 10 s
    /// for the answer.
    Sleep,
}

impl Frost {
    /// Waits for this time. `is_given_up` returns whether the peers have closed the connection.
    fn wait(self, is_given_up: impl Fn() -> bool) {
        match self {
            Frost::Nap => sleep(Duration::from_secs(2)),
            Frost::Sleep => wait_until("the connection to be given up", is_given_up),
        }
    }
}

#[test]
fn a_worker_frozen_beyond_its_lease_costs_only_time() {
    freeze_a_worker(Frost::Nap);
}

#[test]
fn a_coordinator_frozen_beyond_all_leases_resumes() {
    freeze_the_coordinator(Frost::Nap);
}

#[test]
#[ignore = "sleeps for half a minute: CI runs it"]
fn a_worker_frozen_beyond_its_connection_comes_back() {
    let said = freeze_a_worker(Frost::Sleep);
    let joined = said.matches("worker joined").count();
    assert_eq!(joined, 3, "two workers, and one of them twice:\n{said}");
}

#[test]
#[ignore = "sleeps for half a minute: CI runs it"]
fn a_coordinator_frozen_beyond_its_connections_resumes() {
    freeze_the_coordinator(Frost::Sleep);
}

/// Freezes one of two workers in the middle of a job. The other worker ends the job and is stopped,
/// and the first one counts the next job alone. Returns the coordinator's log.
fn freeze_a_worker(frost: Frost) -> String {
    let farm = Farm::new(SHORT_LEASES, "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let (frozen, other) = (farm.start_worker(), farm.start_worker());
    let job = farm.submit(N, 5, 0);
    wait_until("the worker to be leased something", || is_leased(&frozen));

    frozen.signal("STOP");
    assert_total(&farm, job);
    frost.wait(|| coordinator.said().contains("worker left"));
    other.stop();
    frozen.signal("CONT");

    assert_total(&farm, farm.submit(N, 5, 0));
    frozen.stop();
    let said = coordinator.said();
    coordinator.stop();
    said
}

/// Freezes the coordinator in the middle of a job.
fn freeze_the_coordinator(frost: Frost) {
    let farm = Farm::new(SHORT_LEASES, "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let workers = [farm.start_worker(), farm.start_worker()];
    let freeze = |_| {
        let job = farm.submit(N, 5, 0);
        wait_until("both workers to be leased something", || workers.iter().all(is_leased));
        coordinator.signal("STOP");
        let is_midway = farm.snapshot().running() == 1;
        if !is_midway {
            coordinator.signal("CONT");
        }
        is_midway.then_some(job)
    };
    let job = (0..ATTEMPTS).find_map(freeze).expect("it is frozen in the middle of a job");
    frost.wait(|| workers.iter().all(|worker| worker.said().contains("no coordinator")));
    coordinator.signal("CONT");

    assert_total(&farm, job);
    workers.into_iter().for_each(Process::stop);
    coordinator.stop();
}

fn is_leased(worker: &Process) -> bool {
    log::read(worker.log()).iter().any(|line| matches!(line.entry, Entry::Lease { .. }))
}

fn assert_total(farm: &Farm, job: u64) {
    let total = farm.client(&["watch", &job.to_string()]).success();
    assert_eq!(total, format!("{}\n", vectors::total(N)));
    let snapshot = farm.snapshot();
    assert!(snapshot.jobs[&job].is_tiled(), "every task is accepted once");
    assert_eq!(snapshot.disputes, 0, "nobody counts wrongly");
}
