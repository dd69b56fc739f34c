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

/// Waits for longer than the leases last, or until the peers have closed the connection. They send
/// a ping after 10 s, and wait 10 s for the answer.
fn wait(until_closed: bool, is_closed: impl Fn() -> bool) {
    if until_closed {
        wait_until("the connection to be given up", is_closed);
    } else {
        sleep(Duration::from_secs(1));
    }
}

#[test]
fn processes_frozen_beyond_all_leases_cost_only_time() {
    freeze_a_worker(false);
    freeze_the_coordinator(false);
}

#[test]
#[ignore = "sleeps for a minute: CI runs it"]
fn processes_frozen_beyond_their_connections_come_back() {
    let said = freeze_a_worker(true);
    let joined = said.matches("worker joined").count();
    assert_eq!(joined, 3, "two workers, and one of them twice:\n{said}");
    freeze_the_coordinator(true);
}

/// Freezes one of two workers in the middle of a job. The other worker ends the job and is stopped,
/// and the first one counts the next job alone. Returns the coordinator's log.
fn freeze_a_worker(until_closed: bool) -> String {
    let farm = Farm::new(SHORT_LEASES, "--report-ms 20");
    let coordinator = farm.start_coordinator();
    let (frozen, other) = (farm.start_worker(), farm.start_worker());
    let job = farm.submit(N, 5, 0);
    wait_until("the worker to be leased something", || is_leased(&frozen));

    frozen.signal("STOP");
    assert_total(&farm, job, N);
    wait(until_closed, || coordinator.said().contains("worker left"));
    other.stop();
    frozen.signal("CONT");

    assert_total(&farm, farm.submit(12, 5, 0), 12);
    frozen.stop();
    let said = coordinator.said();
    coordinator.stop();
    said
}

/// Freezes the coordinator in the middle of a job.
fn freeze_the_coordinator(until_closed: bool) {
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
    wait(until_closed, || workers.iter().all(|worker| worker.said().contains("no coordinator")));
    coordinator.signal("CONT");

    assert_total(&farm, job, N);
    workers.into_iter().for_each(Process::stop);
    coordinator.stop();
}

fn is_leased(worker: &Process) -> bool {
    log::read(worker.log()).iter().any(|line| matches!(line.entry, Entry::Lease { .. }))
}

fn assert_total(farm: &Farm, job: u64, n: u32) {
    farm.client(&["watch", &job.to_string()]).total(n);
    let snapshot = farm.snapshot();
    assert!(snapshot.jobs[&job].is_tiled(), "every task is accepted once");
    assert_eq!(snapshot.disputes, 0, "nobody counts wrongly");
}
