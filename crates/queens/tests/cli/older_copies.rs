//! A coordinator that is started with an older copy of its ledger learns so from its workers and clients.

use std::fs;

use crate::support::Farm;
use crate::support::process::{Process, queens, wait_until};

const GIVEN: &str = "gave a mark of its ledger";

/// A farm whose ledger was copied, and then made a decision, of which a worker knows that still runs.
fn with_an_older_copy() -> (Farm, Process) {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let job = farm.submit(8, 2, 0).to_string();
    let first = farm.start_worker();
    assert_eq!(farm.client(&["watch", &job]).success(), format!("{}\n", vectors::total(8)));
    first.stop();
    coordinator.stop();
    fs::copy(farm.ledger(), farm.ledger().with_extension("copy")).expect("it is closed");

    let coordinator = farm.start_coordinator();
    let mut worker = farm.start_worker();
    worker.wait_for_line(GIVEN);
    farm.client(&["distrust", "somebody", "--reason", "it lies"]).success();
    // It is told a few seconds after the decision.
    wait_until("the second mark", || worker.said().matches(GIVEN).count() == 2);
    coordinator.kill();
    farm.remove_ledger();
    fs::rename(farm.ledger().with_extension("copy"), farm.ledger()).expect("it is there");
    (farm, worker)
}

#[test]
fn a_coordinator_stops_when_a_worker_knows_a_later_state_of_its_ledger() {
    let (farm, worker) = with_an_older_copy();

    for _ in 0..2 {
        let mut older = farm.start_coordinator();
        assert_eq!(older.wait().code(), Some(18), "{}", older.said());
        let said = older.said();
        for words in ["is an older copy", "the worker ", "2 decisions", "--accept-older-copy"] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    assert!(worker.said().matches(GIVEN).count() == 2, "it was lent nothing");

    // What was decided there can be given up, once and for all.
    let mut command = farm.coordinator();
    let mut accepting = Process::start(command.arg("--accept-older-copy"), farm.new_log());
    accepting.wait_for_line("worker joined");
    accepting.stop();
    let coordinator = farm.start_coordinator();
    let job = farm.submit(9, 2, 0).to_string();
    assert_eq!(farm.client(&["watch", &job]).success(), format!("{}\n", vectors::total(9)));
    coordinator.stop();
    worker.stop();
}

#[test]
fn a_coordinator_stops_when_a_client_knows_a_later_state_of_its_ledger() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    coordinator.stop();
    fs::copy(farm.ledger(), farm.ledger().with_extension("copy")).expect("it is closed");
    let coordinator = farm.start_coordinator();
    let job = farm.submit(8, 2, 0).to_string();
    let mut watch = queens(&["watch", &job, "--coordinator", &farm.url(), "--json"]);
    let mut client = Process::start(&mut watch, farm.new_log());
    client.wait_for_line("running");
    coordinator.kill();
    farm.remove_ledger();
    fs::rename(farm.ledger().with_extension("copy"), farm.ledger()).expect("it is there");

    let mut older = farm.start_coordinator();

    assert_eq!(older.wait().code(), Some(18), "{}", older.said());
    assert!(older.said().contains("a client of "), "{}", older.said());
    drop(client);
}
