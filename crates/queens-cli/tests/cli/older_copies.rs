//! Tests that a farm whose ledger was lost resumes from an older copy. The log says what is
//! missing, and the total is exact.

use std::fs;

use crate::support::Farm;
use crate::support::ledger::Snapshot;
use crate::support::process::wait_until;

/// A board that takes some seconds to count.
const N: u32 = 16;

#[test]
fn a_farm_resumes_from_an_older_copy_with_a_warning() {
    let farm = Farm::new("", "--report-ms 50");
    let coordinator = farm.start_coordinator();
    let job = farm.submit(N, 5, 0).to_string();
    coordinator.stop();
    let copy = farm.ledger().with_extension("copy");
    fs::copy(farm.ledger(), &copy).expect("it is closed");

    // Two epochs later, a worker counts.
    farm.start_coordinator().stop();
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    let accepted = |snapshot: &Snapshot| snapshot.jobs[&1].accepted().len();
    wait_until("a part of the job to be accepted", || accepted(&farm.snapshot()) > 1_000);
    coordinator.kill();
    assert_eq!(farm.snapshot().running(), 1, "it is in the middle");
    farm.remove_ledger();
    fs::rename(copy, farm.ledger()).expect("it is there");

    let coordinator = farm.start_coordinator();
    assert_eq!(farm.client(&["watch", &job]).success(), format!("{}\n", vectors::total(N)));
    assert!(farm.snapshot().jobs[&1].is_tiled());
    let said = coordinator.said();
    let warning = "an older copy of the ledger is served: the worker holds a lease of its epoch 3";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    worker.stop();
    coordinator.stop();
}
