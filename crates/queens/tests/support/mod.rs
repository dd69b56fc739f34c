//! Real processes of the program, and what they leave behind.

// Every test binary includes all of this and uses its own part.
#![allow(dead_code)]

pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod process;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use ledger::Snapshot;
use process::{Process, queens};
use tempfile::TempDir;

/// A farm of one coordinator, in a directory of its own that vanishes with it.
pub(crate) struct Farm {
    port: u16,
    ledger: PathBuf,
    coordinator_options: Vec<String>,
    worker_options: Vec<String>,
    scratch: Scratch,
}

impl Farm {
    /// Where one will be; nothing runs yet. Options are separated by spaces.
    pub(crate) fn new(coordinator_options: &str, worker_options: &str) -> Farm {
        let words = |options: &str| options.split_whitespace().map(String::from).collect();
        let scratch = Scratch::new();
        Farm {
            port: free_port(),
            ledger: scratch.path("ledger.db"),
            coordinator_options: words(coordinator_options),
            worker_options: words(worker_options),
            scratch,
        }
    }

    pub(crate) fn with_ledger(self, ledger: PathBuf) -> Farm {
        Farm { ledger, ..self }
    }

    /// The coordinator's command: the same port and the same ledger every time.
    pub(crate) fn coordinator(&self) -> Command {
        self.coordinator_at(&self.address())
    }

    pub(crate) fn coordinator_at(&self, address: &str) -> Command {
        let mut command = queens(&["coordinator", "--listen", address]);
        command.arg("--ledger").arg(&self.ledger).args(&self.coordinator_options);
        command
    }

    /// Starts the coordinator and waits until it serves.
    pub(crate) fn start_coordinator(&self) -> Process {
        let mut coordinator = Process::start(&mut self.coordinator(), self.new_log());
        coordinator.wait_for_line("coordinator serves");
        coordinator
    }

    /// Starts a worker of one thread that logs every loan and every acknowledgement.
    pub(crate) fn start_worker(&self) -> Process {
        self.start_worker_with("")
    }

    /// The same, with options of its own, separated by spaces.
    pub(crate) fn start_worker_with(&self, options: &str) -> Process {
        let worker = ["worker", "--threads", "1", "--log-format", "json", "--log", "queens=debug"];
        let mut command = queens(&worker);
        command.args(["--coordinator", &self.url()]).args(&self.worker_options);
        Process::start(command.args(options.split_whitespace()), self.new_log())
    }

    /// Throws the ledger away; nothing may run on it.
    pub(crate) fn remove_ledger(&self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.ledger.display()));
        }
    }

    /// Runs a client command to its end.
    pub(crate) fn client(&self, arguments: &[&str]) -> process::Outcome {
        process::run(queens(arguments).env("QUEENS_COORDINATOR", self.url()))
    }

    /// Submits a job; its number.
    pub(crate) fn submit(&self, n: u32, rows: u32, priority: i32) -> u64 {
        let [n, rows, priority] = [n.to_string(), rows.to_string(), priority.to_string()];
        let submitted = self.client(&["submit", &n, "--rows", &rows, "--priority", &priority]);
        submitted.success().trim().parse().expect("the job's number")
    }

    /// What the ledger holds now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::read(&self.ledger)
    }

    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// A path for what a process prints.
    pub(crate) fn new_log(&self) -> PathBuf {
        self.scratch.new_file("log")
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }
}

/// A directory for one test.
pub(crate) struct Scratch {
    directory: TempDir,
    files: AtomicU32,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Scratch { directory, files: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A path that was not given out before.
    pub(crate) fn new_file(&self, name: &str) -> PathBuf {
        self.path(&format!("{}-{name}", self.files.fetch_add(1, Ordering::Relaxed)))
    }
}

/// A port that nobody listens on. Not one of those that the system gives to outgoing connections:
/// a worker that waits for its coordinator there would sooner or later reach itself.
pub(crate) fn free_port() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports = std::iter::repeat_with(|| rand::random_range(10_000..32_000));
    ports.take(1_000).find(free).expect("one of a thousand ports is free")
}
