//! A test of the protocol's text: a worker in Python that was written from it alone, and shares no
//! code with the program.

use std::process::Command;

use crate::support::Farm;
use crate::support::process::{Process, wait_until};

/// ```text
/// python3 -m venv target/stranger && target/stranger/bin/pip install 'grpcio-tools==1.*'
/// STRANGER=$PWD/target/stranger/bin/python cargo test -p queens-cli --test cli stranger -- --ignored
/// ```
#[test]
#[ignore = "needs grpcio-tools for Python: CI installs it"]
fn a_worker_written_from_the_text_of_the_protocol_counts_colours() {
    // Given a farm whose only worker is a stranger's
    let farm = Farm::new("", "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let python = std::env::var_os("STRANGER").unwrap_or("python3".into());
    let worker = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stranger/worker.py");
    let mut command = Command::new(python);
    let stranger = Process::start(command.arg(worker).arg(farm.address()), farm.new_log());

    // Then it counts even and odd boards
    for n in [4, 5, 8, 9] {
        farm.client(&["submit", &n.to_string(), "--method", "colours", "--wait"]).total(n);
    }

    // And a worker of this program finds the same counts of all tasks.
    let worker = farm.start_worker();
    for job in 1..=4 {
        farm.client(&["audit", &job.to_string(), "--all"]).success();
        wait_until("all of it is counted again", || farm.job(job)["audits_wanted"] == 0);
        let job = farm.job(job);
        assert!(job["audits_agreed"].as_u64() > Some(0) && job["disputes"] == 0, "{job}");
    }
    assert!(stranger.said().contains("accepted"), "{}", stranger.said());
    worker.stop();
    stranger.kill();
    coordinator.stop();
}
