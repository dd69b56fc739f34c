//! Helpers that call Docker.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The number of farms so far, which names them. One farm runs at a time, because each would wait
/// for the counting of the others.
static MACHINE: Mutex<u32> = Mutex::new(0);

/// `docker compose`, or the older `docker-compose` if only that is installed.
static COMPOSE: LazyLock<&[&str]> = LazyLock::new(|| {
    let plugin = Command::new("docker").args(["compose", "version"]).output();
    if plugin.is_ok_and(|output| output.status.success()) {
        &["docker", "compose"]
    } else {
        &["docker-compose"]
    }
});

static BUILT: Once = Once::new();

/// The top of the checkout.
pub(crate) const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The image of the tests, built from the checkout.
pub(crate) const IMAGE: &str = "queens-test";

/// The commit that the image is told it is made of.
pub(crate) const COMMIT: &str = "0123456789ab";

/// The image's user, by number.
pub(crate) const USER: u32 = 65532;

/// Waits until no other farm runs. Returns the number of this farm.
pub(crate) fn machine() -> MutexGuard<'static, u32> {
    // A poisoned lock only means that another test failed.
    let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    *machine += 1;
    // All tests use one image.
    BUILT.call_once(|| drop(run(compose(Path::new("docker-compose.yml"), "build").arg("build"))));
    machine
}

/// The compose tool with a file and a project's name.
pub(crate) fn compose(file: &Path, project: &str) -> Command {
    let mut command = Command::new(COMPOSE[0]);
    command.args(&COMPOSE[1..]).arg("--file").arg(file).args(["--project-name", project]);
    command.env("QUEENS_IMAGE", IMAGE).env("QUEENS_PROMETHEUS_IMAGE", "queens-test-prometheus");
    command.env("QUEENS_COMMIT", COMMIT);
    // All processors take about the same time with this backend, so a test can observe the middle
    // of a job.
    command.env("QUEENS_BACKEND", "portable");
    command.current_dir(TOP);
    command
}

/// Kills the program in a container like a crash. After `docker kill`, Docker would not restart the
/// container. Needs root.
pub(crate) fn crash(container: &str) {
    let processes = docker(&["top", container, "-eo", "pid,args"]);
    let program = processes.lines().map(str::trim).find_map(|line| {
        let (pid, arguments) = line.split_once(' ')?;
        arguments.trim_start().starts_with("queens ").then_some(pid)
    });
    run(Command::new("kill").args(["-KILL", program.expect("the program runs")]));
}

/// The owner and the permissions of a file in a container, which has no `stat`.
pub(crate) fn owner_and_mode(container: &str, path: &str) -> (u32, u32) {
    // The output is a tar archive. It has octal numbers of seven digits, the mode at byte 100 and
    // the owner at byte 108.
    let archive = docker(&["cp", &format!("{container}:{path}"), "-"]);
    let octal = |at: usize| u32::from_str_radix(&archive[at..at + 7], 8).expect("octal digits");
    // Docker includes the file type in the mode.
    (octal(108), octal(100) & 0o7777)
}

/// The output of `docker inspect` for a container with this template.
pub(crate) fn inspect(container: &str, template: &str) -> String {
    docker(&["inspect", "--format", template, container])
}

/// The containers that pass all of these filters of `docker ps`, running or not.
pub(crate) fn containers(filters: &[&str]) -> Vec<String> {
    let mut command = Command::new("docker");
    command.args(["ps", "--all", "--quiet", "--no-trunc"]);
    command.args(filters.iter().flat_map(|filter| ["--filter", filter]));
    run(&mut command).lines().map(str::to_owned).collect()
}

/// Runs `docker`. Returns its output without the last line feed.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let mut output = run(Command::new("docker").args(arguments));
    output.truncate(output.trim_end().len());
    output
}

/// Runs `docker`. Returns whether it succeeded.
pub(crate) fn docker_succeeds(arguments: &[&str]) -> bool {
    let output = Command::new("docker").args(arguments).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// Polls until `met`, for longer than a slow and busy machine takes to count the boards of these
/// tests.
pub(crate) fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !met() {
        assert!(start.elapsed() < Duration::from_secs(600), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Runs a command, which must succeed. Returns its standard output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}
