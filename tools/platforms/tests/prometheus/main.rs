//! Tests Debian's Prometheus with the files of deploy/prometheus: that it reads the metrics of a
//! farm of real processes, and when each alert fires. A minute of the rules takes a second at the
//! farm.
//!
//! Needs Debian's package prometheus, so a plain `cargo test` leaves these tests out:
//!
//! ```text
//! cargo build
//! cargo test -p platforms --test prometheus -- --ignored
//! ```

mod server;
#[path = "../../../../crates/queens-cli/tests/support/mod.rs"]
mod support;

use std::fs;

use serde_json::Value;

use server::{Prometheus, promtool};
use support::process::{queens, run};
use support::{Farm, Scratch};

/// A board that takes hours.
const ENDLESS: [&str; 4] = ["submit", "24", "--method", "rows"];

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn prometheus_reads_a_farm_and_answers_the_dashboard() {
    let scratch = Scratch::new();
    let monitor = scratch.path("monitor");
    let farm = Farm::new(&format!("--tls --monitor-folder {}", monitor.display()), "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let prometheus = Prometheus::watching(&farm.address(), &monitor);
    prometheus.wait_for("up == 1");
    let join = farm.key("join");
    run(queens(&ENDLESS).arg("--join-file").arg(&join)).success();
    let worker = farm.start_worker_by(&["--join-file", join.to_str().expect("it is text")]);
    prometheus.wait_for("queens_job_tasks_accepted > 0");
    prometheus.wait_for("rate(queens_busy_seconds_total[5s]) > 0");

    // Prometheus understands every query of the dashboard.
    let dashboard = fs::read_to_string(server::files().join("dashboard.json")).expect("it is text");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("a list").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("a list"));
    let queries = targets.map(|target| target["expr"].as_str().expect("a query"));
    let queries: Vec<String> = queries.map(|query| query.replace("$instance", ".*")).collect();
    assert!(queries.len() > 20, "{queries:?}");
    queries.iter().for_each(|query| drop(prometheus.ask(query)));

    // A worker is killed, and later the coordinator stops. First the workers are missed, then the
    // coordinator.
    assert!(!prometheus.is_firing("QueensWorkersLost"));
    worker.kill();
    prometheus.wait_for_alert("QueensWorkersLost");
    coordinator.stop();
    prometheus.wait_for_alert("QueensCoordinatorDown");
}

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn promtool_accepts_the_files() {
    let files = server::files();
    promtool(&["check", "rules", text(&files.join("rules.yml"))]);
    promtool(&["test", "rules", text(&files.join("tests.yml"))]);
    promtool(&["check", "config", "--syntax-only", text(&files.join("prometheus.yml"))]);
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("the path is text")
}
