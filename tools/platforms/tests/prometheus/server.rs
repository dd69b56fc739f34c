//! A Prometheus of its own for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::process::{Process, run, wait_until};
use crate::support::{Port, Scratch};

/// The folder with the files under test.
pub(crate) fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus")
}

/// Debian's Prometheus with the files of deploy/prometheus, in a hurry.
pub(crate) struct Prometheus {
    _process: Process,
    _scratch: Scratch,
    port: Port,
}

impl Prometheus {
    /// Starts one that watches the coordinator at `address` with what is in the folder `monitor`.
    pub(crate) fn watching(address: &str, monitor: &Path) -> Prometheus {
        let (scratch, port) = (Scratch::new(), Port::reserve());
        let read = |name: &str| fs::read_to_string(files().join(name)).expect("it is text");
        let config = read("prometheus.yml")
            .replace("coordinator:7410", address)
            .replace("/run/queens/monitor", monitor.to_str().expect("the path is text"))
            .replace("15s", "500ms");
        fs::write(scratch.path("prometheus.yml"), config).expect("it can be written");
        fs::write(scratch.path("rules.yml"), hurried(&read("rules.yml")))
            .expect("it can be written");
        let mut command = Command::new("prometheus");
        command.arg("--config.file").arg(scratch.path("prometheus.yml"));
        command.arg("--storage.tsdb.path").arg(scratch.path("data"));
        command.arg("--web.listen-address").arg(port.address());
        let mut process = Process::start(&mut command, scratch.path("log"));
        process.wait_for_line("Server is ready to receive web requests");
        Prometheus { _process: process, _scratch: scratch, port }
    }

    /// What it answers to a query that it must understand: a line for each series.
    pub(crate) fn ask(&self, query: &str) -> String {
        promtool(&["query", "instant", &self.port.url(), query])
    }

    /// Waits until a query has an answer.
    pub(crate) fn wait_for(&self, query: &str) {
        wait_until(query, || !self.ask(query).trim().is_empty());
    }

    /// Waits until an alert fires.
    pub(crate) fn wait_for_alert(&self, name: &str) {
        wait_until(name, || self.is_firing(name));
    }

    pub(crate) fn is_firing(&self, name: &str) -> bool {
        self.firing().iter().any(|firing| firing == name)
    }

    /// The names of the alerts that fire now.
    pub(crate) fn firing(&self) -> Vec<String> {
        let reported = self.ask("sum by (alertname) (ALERTS{alertstate=\"firing\"})");
        let names = reported.lines().filter_map(|line| line.split('"').nth(1));
        names.map(String::from).collect()
    }
}

/// Rules in which minutes are seconds, and hours are minutes.
fn hurried(rules: &str) -> String {
    let pieces = rules.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let hurry = |piece: &str| {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = |unit: char| {
            let digits = word.strip_suffix(unit)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
        };
        let new = match (number('m'), number('h')) {
            (Some(minutes), _) if !minutes.is_empty() => format!("{minutes}s"),
            (_, Some(hours)) if !hours.is_empty() => format!("{hours}m"),
            _ => return piece.to_string(),
        };
        format!("{new}{}", &piece[word.len()..])
    };
    pieces.map(hurry).collect::<String>().replace("36 * 3600", "36")
}

/// Runs promtool, which must find no fault. Returns what it prints.
pub(crate) fn promtool(args: &[&str]) -> String {
    run(Command::new("promtool").args(args)).success()
}
