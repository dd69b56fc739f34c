//! Tests Debian's Prometheus with the files of deploy/prometheus against farms of real processes:
//! the metrics that it reads, and each alert. A minute of the rules takes a second here.
//!
//! Needs Debian's packages prometheus and strace, and root for a small disk, so a plain `cargo
//! test` leaves these tests out:
//!
//! ```text
//! cargo build
//! cargo test -p platforms --test prometheus -- --ignored
//! ```

mod server;
#[path = "../../../../crates/queens-cli/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use service::Endpoint;

use server::{Prometheus, promtool};
use support::liar::Liar;
use support::process::{Outcome, Process, behind, queens, run, wait_until};
use support::small_disk::SmallDisk;
use support::{Farm, Scratch};

/// A farm that serves TLS, and the files that its coordinator writes for Prometheus.
struct Watched {
    farm: Farm,
    monitor: PathBuf,
    _scratch: Scratch,
}

impl Watched {
    fn new(options: &str) -> Watched {
        let scratch = Scratch::new();
        let monitor = scratch.path("monitor");
        let farm = Farm::new(
            &format!("--monitor-folder {} {options}", monitor.display()),
            "--report-ms 0",
        );
        Watched { farm, monitor, _scratch: scratch }
    }

    /// Starts the coordinator, and a Prometheus that has read its metrics.
    fn start(&self) -> (Process, Prometheus) {
        self.start_by(&mut self.farm.coordinator())
    }

    /// Starts the coordinator by another command.
    fn start_by(&self, coordinator: &mut Command) -> (Process, Prometheus) {
        let mut coordinator = Process::start(coordinator, self.farm.new_log());
        coordinator.wait_for_line("coordinator serves");
        let prometheus = Prometheus::watching(&self.farm.address(), &self.monitor);
        prometheus.wait_for("up == 1");
        (coordinator, prometheus)
    }

    fn client(&self, args: &[&str]) -> Outcome {
        run(queens(args).arg("--join-file").arg(self.farm.key("join")))
    }

    fn worker(&self) -> Process {
        let join = self.farm.key("join");
        self.farm.start_worker_by(&["--join-file", join.to_str().expect("it is text")])
    }

    fn liar(&self, count: fn(u64) -> u64) -> Liar {
        let endpoint = Endpoint::join_file(self.farm.key("join"));
        Liar::start(endpoint, "liar", move |_, ordinal| count(ordinal))
    }

    fn job(&self) -> Value {
        let status = self.client(&["jobs", "1", "--json"]).success();
        serde_json::from_str(&status).expect("it is JSON")
    }
}

/// A board that takes hours.
const ENDLESS: [&str; 4] = ["submit", "24", "--method", "rows"];

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn prometheus_reads_a_farm_and_answers_the_dashboard() {
    let watched = Watched::new("--tls");
    let (coordinator, prometheus) = watched.start();
    watched.client(&ENDLESS).success();
    let worker = watched.worker();
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
fn an_alert_fires_if_no_copies_are_made() {
    let watched = Watched::new("--tls");
    let (_coordinator, prometheus) = watched.start();
    let copy = watched.monitor.with_file_name("copy.db");
    watched.client(&["backup", copy.to_str().expect("it is text")]).success();
    prometheus.wait_for("queens_ledger_copied_time_seconds > 0");
    assert!(!prometheus.is_firing("QueensCopiesOld"));

    prometheus.wait_for_alert("QueensCopiesOld");
}

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn an_alert_fires_for_a_job_without_workers() {
    let watched = Watched::new("--tls");
    let (_coordinator, prometheus) = watched.start();
    watched.client(&ENDLESS).success();

    prometheus.wait_for_alert("QueensNoProgress");

    let _worker = watched.worker();
    wait_until("the alert to end", || !prometheus.is_firing("QueensNoProgress"));
}

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn a_dispute_waits_for_a_third_count_that_proves_one_wrong() {
    let watched = Watched::new("--tls");
    let (_coordinator, prometheus) = watched.start();
    let _honest = watched.worker();
    watched.client(&["submit", "11", "--certified"]).success();
    wait_until("all of it to be counted once", || watched.job()["percent"] == 100.0);

    // Given two workers that contradict each other
    let liar = watched.liar(|_| 0);
    prometheus.wait_for_alert("QueensDisputeOpen");
    assert!(!prometheus.is_firing("QueensWorkerProvenWrong"));

    // When a third worker counts
    let _third = watched.worker();
    prometheus.wait_for_alert("QueensWorkerProvenWrong");
    drop(liar.end());
    assert_eq!(watched.client(&["watch", "1"]).success(), format!("{}\n", vectors::total(11)));
}

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn an_alert_fires_for_an_impossible_total() {
    let watched = Watched::new("--tls");
    let (_coordinator, prometheus) = watched.start();
    watched.client(&["submit", "16"]).success();
    assert!(!prometheus.is_firing("QueensJobSuspended"));

    let _liar = watched.liar(|ordinal| if ordinal == 0 { 42 } else { 0 });

    prometheus.wait_for_alert("QueensJobSuspended");
}

#[test]
#[ignore = "needs Debian's prometheus: .ci/nightly watching"]
fn a_task_that_kills_its_workers_is_reported() {
    let watched = Watched::new("--tls");
    let (_coordinator, prometheus) = watched.start();
    watched.client(&["submit", "16", "--method", "rows", "--rows", "0"]).success();
    for _ in 0..3 {
        let worker = watched.worker();
        wait_until("the worker to have the task", || watched.job()["workers"] == 1);
        worker.kill();
        wait_until("the coordinator to notice", || watched.job()["workers"] == 0);
        // The crashes of an owner count one at a time.
        std::thread::sleep(Duration::from_millis(1_100));
    }

    prometheus.wait_for_alert("QueensTaskFailed");
}

#[test]
#[ignore = "needs Debian's prometheus and strace: .ci/nightly watching"]
fn an_alert_fires_for_a_slow_disk() {
    // The disk takes a second and a half for each write. strace is a grandchild, so the process
    // that is killed is the coordinator.
    let slow = ["strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null"];
    let delay = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:delay_exit=1500000"];
    let watched = Watched::new("--tls");
    let mut coordinator = behind(&[&slow[..], &delay].concat(), &watched.farm.coordinator());
    let (_coordinator, prometheus) = watched.start_by(&mut coordinator);
    watched.client(&ENDLESS).success();
    let _worker = watched.worker();

    prometheus.wait_for_alert("QueensLedgerSlow");
}

#[test]
#[ignore = "needs Debian's prometheus, and root to mount a disk: .ci/nightly watching"]
fn a_small_disk_fills() {
    let disk = SmallDisk::mount();
    let watched = Watched::new("--tls");
    let Watched { farm, monitor, _scratch } = watched;
    let farm = farm.with_ledger(disk.path("ledger.db"));
    let watched = Watched { farm, monitor, _scratch };
    let (coordinator, prometheus) = watched.start();

    prometheus.wait_for_alert("QueensLedgerDiskFills");
    coordinator.stop();
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
