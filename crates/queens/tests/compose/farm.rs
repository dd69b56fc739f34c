//! A farm of containers for one test, gone with its volumes when the test ends, however it ends.

use std::process::{self, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The farms share the machine: one at a time, or each would wait for the others' counting.
/// Counts them too, for their names.
static MACHINE: Mutex<u32> = Mutex::new(0);

/// `docker compose`, or the older `docker-compose` where only that is installed.
static COMPOSE: LazyLock<&[&str]> = LazyLock::new(|| {
    let plugin = Command::new("docker").args(["compose", "version"]).output();
    if plugin.is_ok_and(|output| output.status.success()) {
        &["docker", "compose"]
    } else {
        &["docker-compose"]
    }
});

static IMAGE: Once = Once::new();

const PROGRAM: &str = "/usr/local/bin/queens";

pub(crate) struct Farm {
    project: String,
    _machine: MutexGuard<'static, u32>,
}

impl Farm {
    /// Starts a coordinator with an empty ledger, and workers.
    pub(crate) fn up(workers: usize) -> Self {
        // A poisoned lock only says that another test failed.
        let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        *machine += 1;
        let project = format!("queens-test-{}-{}", process::id(), *machine);
        let farm = Self { project, _machine: machine };
        let scale = format!("worker={workers}");
        // One image for all tests, of the checkout as it is now.
        IMAGE.call_once(|| drop(farm.compose(&["build"])));
        farm.compose(&["up", "--detach", "--scale", &scale]);
        farm
    }

    /// Runs the compose tool on this farm; what it printed on standard output.
    pub(crate) fn compose(&self, arguments: &[&str]) -> String {
        run(&mut self.compose_command(arguments))
    }

    /// Submits the total of the n x n board, cut after some rows; the job's number.
    pub(crate) fn submit(&self, n: u32, rows: u32) -> String {
        let (n, rows) = (n.to_string(), rows.to_string());
        let job = self.client(&["submit", &n, "--method", "rows", "--rows", &rows, "--json"]);
        job["job"].to_string()
    }

    /// Waits until some of the job's tasks are counted, and most are not.
    pub(crate) fn wait_until_in_the_middle_of(&self, job: &str) {
        wait_for("the job to be in the middle", || {
            let job = self.client(&["status", job, "--json"]);
            let done = job["tasks_done"].as_u64().expect("a number of tasks");
            let tasks = job["tasks"].as_u64().expect("a number of tasks");
            assert!(done < tasks / 2, "too late for the middle: {job}");
            done > 0
        });
    }

    /// Waits for the job's end; its total.
    pub(crate) fn total(&self, job: &str) -> u128 {
        let mut total = None;
        wait_for("the job to be done", || {
            let job = self.client(&["status", job, "--json"]);
            if job["state"] == "done" {
                total = job["total"].as_str().and_then(|digits| digits.parse().ok());
            }
            total.is_some()
        });
        total.expect("the wait is over")
    }

    /// Runs a client command beside the coordinator, which is quicker than a container of its own.
    fn client(&self, arguments: &[&str]) -> Value {
        let coordinator = self.coordinator();
        let answer = docker(&[&["exec", &coordinator, PROGRAM], arguments].concat());
        serde_json::from_str(&answer).expect("--json prints JSON")
    }

    /// Waits until the coordinator serves, as Docker sees it.
    pub(crate) fn wait_until_healthy(&self) {
        let coordinator = self.coordinator();
        wait_for("the coordinator to be healthy", || {
            inspect(&coordinator, "{{.State.Health.Status}}") == "healthy"
        });
    }

    pub(crate) fn coordinator(&self) -> String {
        self.containers("coordinator").remove(0)
    }

    /// The containers of a service, running or not.
    pub(crate) fn containers(&self, service: &str) -> Vec<String> {
        self.containers_with(&format!("label=com.docker.compose.service={service}"))
    }

    /// The containers of all services, running or not.
    pub(crate) fn all_containers(&self) -> Vec<String> {
        self.containers_with("label=com.docker.compose.oneoff=False")
    }

    fn containers_with(&self, filter: &str) -> Vec<String> {
        let project = format!("label=com.docker.compose.project={}", self.project);
        let ids = docker(&["ps", "--all", "--quiet", "--filter", &project, "--filter", filter]);
        assert!(!ids.is_empty(), "no containers with {filter}");
        ids.lines().map(str::to_owned).collect()
    }

    fn compose_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(COMPOSE[0]);
        command.args(&COMPOSE[1..]);
        command.args(["--file", "docker-compose.yml", "--project-name", &self.project]);
        command.args(arguments);
        // Every processor takes about the same time with it, so that a job can be met in its middle.
        command.env("QUEENS_BACKEND", "portable");
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        command
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // No panic here: it could be the second one.
        if thread::panicking() {
            let _ = self.compose_command(&["logs", "--no-color", "--tail", "50"]).status();
        }
        let down = ["down", "--volumes", "--remove-orphans", "--timeout", "1"];
        let _ = self.compose_command(&down).stderr(Stdio::null()).status();
    }
}

/// Kills the program in a container as if it had crashed: unlike `docker kill`, which tells Docker
/// that the container is meant to be dead. Needs root.
pub(crate) fn crash(container: &str) {
    let processes = docker(&["top", container, "-eo", "pid,args"]);
    let program = processes.lines().map(str::trim).find_map(|line| {
        let (pid, arguments) = line.split_once(' ')?;
        arguments.trim_start().starts_with(PROGRAM).then_some(pid)
    });
    run(Command::new("kill").args(["-KILL", program.expect("the program runs")]));
}

/// Owner and permissions of a file in a container, which has no `stat` of its own.
pub(crate) fn owner_and_mode(container: &str, path: &str) -> (u32, u32) {
    // A tar archive: octal numbers of seven digits, the mode at byte 100, the owner at 108.
    let archive = docker(&["cp", &format!("{container}:{path}"), "-"]);
    let octal = |at: usize| u32::from_str_radix(&archive[at..at + 7], 8).expect("octal digits");
    // Docker leaves the file type among the mode bits.
    (octal(108), octal(100) & 0o7777)
}

/// Returns what `docker inspect` prints for a container with this template.
pub(crate) fn inspect(container: &str, template: &str) -> String {
    docker(&["inspect", "--format", template, container])
}

/// Runs `docker`; what it printed, without the end of the last line.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let mut output = run(Command::new("docker").args(arguments));
    output.truncate(output.trim_end().len());
    output
}

/// Polls until `met`, which must not take as long as counting the boards of these tests on a slow
/// and busy machine.
pub(crate) fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !met() {
        assert!(start.elapsed() < Duration::from_secs(300), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}
