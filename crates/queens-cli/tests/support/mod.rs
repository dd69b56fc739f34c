//! Runs real processes of the program and reads their files.

// Each test binary includes this whole module and uses a part of it.
#![allow(dead_code)]

pub(crate) mod fake_farm;
pub(crate) mod guarded;
pub(crate) mod ledger;
pub(crate) mod liar;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod recorder;
pub(crate) mod small_disk;

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use ledger::Snapshot;
use process::{Process, queens};
use serde_json::Value;
use tempfile::TempDir;

/// A farm with one coordinator, in a directory of its own that is removed with this value.
pub(crate) struct Farm {
    port: Port,
    ledger: PathBuf,
    coordinator_options: Vec<String>,
    worker_options: Vec<String>,
    scratch: Scratch,
}

impl Farm {
    /// Reserves a port and a directory, and starts nothing. Options are separated by spaces.
    pub(crate) fn new(coordinator_options: &str, worker_options: &str) -> Farm {
        let args = |options: &str| options.split_whitespace().map(String::from).collect();
        let scratch = Scratch::new();
        Farm {
            port: Port::reserve(),
            ledger: scratch.path("ledger.db"),
            coordinator_options: args(coordinator_options),
            worker_options: args(worker_options),
            scratch,
        }
    }

    pub(crate) fn with_ledger(self, ledger: PathBuf) -> Farm {
        Farm { ledger, ..self }
    }

    /// The command that starts the coordinator, with the same port and ledger every time.
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
        self.serve(&mut self.coordinator())
    }

    /// Starts a coordinator by this command, and waits until it serves.
    pub(crate) fn serve(&self, coordinator: &mut Command) -> Process {
        let mut coordinator = Process::start(coordinator, self.new_log());
        coordinator.wait_for_line("coordinator serves");
        coordinator
    }

    /// Starts a worker of one thread that logs every lease and every acknowledgement.
    pub(crate) fn start_worker(&self) -> Process {
        self.start_worker_with("")
    }

    /// Starts a worker with further options, separated by spaces.
    pub(crate) fn start_worker_with(&self, options: &str) -> Process {
        let options = format!("--coordinator {} {options}", self.url());
        self.start_worker_by(&options.split_whitespace().collect::<Vec<_>>())
    }

    /// Starts a worker that finds the coordinator by `options`.
    pub(crate) fn start_worker_by(&self, options: &[&str]) -> Process {
        let (mut worker, log) = self.worker(options);
        Process::start(&mut worker, log)
    }

    /// The command that starts such a worker, and the file for its log.
    pub(crate) fn worker(&self, options: &[&str]) -> (Command, PathBuf) {
        let (mut command, log) = (queens(&["worker", "--threads", "1"]), self.new_log());
        command.args(["--log-format", "json", "--log", "queens=debug,service=debug"]);
        // Each worker seems to be on its own machine.
        let machine = log.file_stem().expect("a log has a name").to_string_lossy().into_owned();
        command.env("QUEENS_MACHINE", machine).args(&self.worker_options).args(options);
        (command, log)
    }

    /// Removes the ledger. No process may have it open.
    pub(crate) fn remove_ledger(&self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.ledger.display()));
        }
    }

    /// Runs a client command to its end.
    pub(crate) fn client(&self, arguments: &[&str]) -> process::Outcome {
        process::run(queens(arguments).env("QUEENS_COORDINATOR", self.url()))
    }

    /// Submits a job and returns its number.
    pub(crate) fn submit(&self, n: u32, rows: u32, priority: i32) -> u64 {
        self.submit_by(n, &["--rows", &rows.to_string(), "--priority", &priority.to_string()])
    }

    /// The same with these options.
    pub(crate) fn submit_by(&self, n: u32, options: &[&str]) -> u64 {
        let n = n.to_string();
        let submitted = self.client(&[&["submit", &n], options].concat());
        submitted.success().trim().parse().expect("the job's number")
    }

    /// A job as `queens jobs --json` prints it.
    pub(crate) fn job(&self, job: u64) -> Value {
        let text = self.client(&["jobs", &job.to_string(), "--json"]).success();
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// Reads the ledger as it is now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::read(&self.ledger)
    }

    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// The path of the secret `name` in the folder of keys.
    pub(crate) fn key(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}-keys", self.ledger.display())).join(name)
    }

    /// A path for the output of a process.
    pub(crate) fn new_log(&self) -> PathBuf {
        self.scratch.new_file("log")
    }

    pub(crate) fn address(&self) -> String {
        self.port.address()
    }

    pub(crate) fn url(&self) -> String {
        self.port.url()
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

    /// A path that was not returned before.
    pub(crate) fn new_file(&self, name: &str) -> PathBuf {
        self.path(&format!("{}-{name}", self.files.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Runs `check` with each item in a thread of its own, so that checks which mostly wait take the
/// time of the longest. Returns the results in order.
#[track_caller]
pub(crate) fn at_once<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let started = items.into_iter().map(|item| scope.spawn(|| check(item)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|one| one.join().expect("the check holds")).collect()
    })
}

/// Writes a file that only its owner may read, as files with secrets must be.
pub(crate) fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).expect("it can be written");
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("it is ours");
}

/// Asserts that a file or a folder exists, and that only its owner may use it where files have
/// modes.
#[track_caller]
pub(crate) fn assert_private(path: &Path) {
    let _found = std::fs::metadata(path).expect("it is there");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&_found) & 0o077, 0);
}

/// A TCP port of this machine on which nobody listens, reserved among all running tests.
///
/// The reservation is the UDP port of the same number, which the program does not use. It also
/// holds between processes, and ends with its owner. The number is not one that the system gives to
/// outgoing connections. Otherwise, a worker that waits for its coordinator there could connect to
/// itself.
pub(crate) struct Port {
    number: u16,
    _reserved: UdpSocket,
}

impl Port {
    pub(crate) fn reserve() -> Port {
        let is_free = |number: u16| TcpListener::bind(("0.0.0.0", number)).is_ok();
        let numbers = std::iter::repeat_with(|| rand::random_range(10_000..32_000));
        let mut reserved = numbers.take(1_000).filter_map(|number| {
            let _reserved = UdpSocket::bind(("127.0.0.1", number)).ok()?;
            is_free(number).then_some(Port { number, _reserved })
        });
        reserved.next().expect("one of a thousand ports is free")
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }
}
