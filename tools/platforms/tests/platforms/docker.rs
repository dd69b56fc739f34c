//! What the tests ask of Docker.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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

static BUILT: Once = Once::new();

/// The top of the checkout.
pub(crate) const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The image of the tests, of the checkout as it is now.
pub(crate) const IMAGE: &str = "queens-test";

/// The image's user, by number.
pub(crate) const USER: u32 = 65532;

/// Waits until no other farm runs. The number is that of this farm.
pub(crate) fn machine() -> MutexGuard<'static, u32> {
    // A poisoned lock only says that another test failed.
    let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    *machine += 1;
    // One image for all tests.
    BUILT.call_once(|| drop(run(compose(Path::new("docker-compose.yml"), "build").arg("build"))));
    machine
}

/// The compose tool with a file and the name of a project.
pub(crate) fn compose(file: &Path, project: &str) -> Command {
    let mut command = Command::new(COMPOSE[0]);
    command.args(&COMPOSE[1..]).arg("--file").arg(file).args(["--project-name", project]);
    command.env("QUEENS_IMAGE", IMAGE).env("QUEENS_PROMETHEUS_IMAGE", "queens-test-prometheus");
    // Every processor takes about the same time with it, so that a job can be met in its middle.
    command.env("QUEENS_BACKEND", "portable");
    command.current_dir(TOP);
    command
}

/// Kills the program in a container as if it had crashed: unlike `docker kill`, which tells Docker
/// that the container is meant to be dead. Needs root.
pub(crate) fn crash(container: &str) {
    let processes = docker(&["top", container, "-eo", "pid,args"]);
    let program = processes.lines().map(str::trim).find_map(|line| {
        let (pid, arguments) = line.split_once(' ')?;
        arguments.trim_start().starts_with("queens ").then_some(pid)
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

/// The containers that pass all of these filters of `docker ps`, running or not.
pub(crate) fn containers(filters: &[&str]) -> Vec<String> {
    let mut command = Command::new("docker");
    command.args(["ps", "--all", "--quiet", "--no-trunc"]);
    command.args(filters.iter().flat_map(|filter| ["--filter", filter]));
    run(&mut command).lines().map(str::to_owned).collect()
}

/// Runs `docker`; what it printed, without the end of the last line.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let mut output = run(Command::new("docker").args(arguments));
    output.truncate(output.trim_end().len());
    output
}

/// Runs `docker`; whether it succeeded.
pub(crate) fn docker_succeeds(arguments: &[&str]) -> bool {
    let output = Command::new("docker").args(arguments).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// Polls until `met`, which must not take as long as counting the boards of these tests on a slow
/// and busy machine.
pub(crate) fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !met() {
        assert!(start.elapsed() < Duration::from_secs(600), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Runs a command, which must succeed; what it printed on standard output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}
