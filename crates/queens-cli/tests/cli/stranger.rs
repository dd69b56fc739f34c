//! Tests of the protocol's text: a worker and a coordinator in Python that were written from it
//! alone, and share no code with the program.

use std::path::PathBuf;
use std::process::Command;

use crate::support::Farm;
use crate::support::process::{Process, wait_until};

/// Starts a program of the folder `stranger`.
fn start(program: &str, argument: &str, log: PathBuf) -> Process {
    let python = std::env::var_os("STRANGER").unwrap_or("python3".into());
    let program = format!("{}/tests/stranger/{program}.py", env!("CARGO_MANIFEST_DIR"));
    Process::start(Command::new(python).args([program.as_str(), argument]), log)
}

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
    let stranger = start("worker", &farm.address(), farm.new_log());

    // Then it counts even and odd boards
    for n in [4, 5, 8, 9] {
        farm.client(&["submit", &n.to_string(), "--method", "colours", "--wait"]).total(n);
    }

    // And a job by another method waits for another worker.
    farm.client(&["submit", "8", "--method", "rows"]).success();
    let waits_for = farm.job(5)["waits_for"].to_string();
    assert!(waits_for.contains("a worker that counts by rows"), "{waits_for}");

    // And a worker of this program finds the same counts of all tasks.
    let worker = farm.start_worker();
    for job in 1..=4 {
        farm.client(&["audit", &job.to_string(), "--all"]).success();
        wait_until("all of it is counted again", || farm.job(job)["audits_wanted"] == 0);
        let job = farm.job(job);
        assert!(job["audits_agreed"].as_u64() > Some(0) && job["disputes"] == 0, "{job}");
    }
    assert!(stranger.said().contains("accepted"), "{}", stranger.said());
    wait_until("the job by rows to be counted", || farm.job(5)["state"] == "done");
    worker.stop();
    stranger.kill();
    coordinator.stop();
}

#[test]
#[ignore = "needs grpcio-tools for Python: CI installs it"]
fn a_coordinator_written_from_the_text_of_the_protocol_is_served() {
    let farm = Farm::new("", "");
    for n in [8, 9] {
        // Given a stranger's coordinator, and a worker of this program
        let mut stranger = start("coordinator", &n.to_string(), farm.new_log());
        stranger.wait_for_line("port ");
        let said = stranger.said();
        let port = said.lines().find_map(|line| line.strip_prefix("port ")).expect("it is there");
        let url = format!("http://127.0.0.1:{port}");
        let worker = farm.start_worker_by(&["--coordinator", &url]);

        // Then the coordinator has the right total, and so have its recounts.
        let total = testkit::vectors::total(n);
        stranger.wait_for_line(&format!("total {total} again {total}\n"));
        worker.stop();
        stranger.kill();
    }
}
