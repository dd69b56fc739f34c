//! The farm as a stack of a Docker swarm, by the commands of deploy/swarm/README.md, on a swarm of one node.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;
use std::{fs, thread};

use tempfile::TempDir;

use crate::client::{self, submit, total, wait_until_in_the_middle_of};
use crate::docker::{IMAGE, TOP, containers, docker, machine, run, wait_for};

#[test]
#[ignore = "needs Docker, root and the base image: deploy/README.md"]
fn a_stack_is_scaled_and_killed_in_mid_run_and_its_total_is_exact() {
    let swarm = Swarm::begin();
    swarm.deploy(&["coordinator.yml"]);
    let coordinator = swarm.healthy_coordinator();
    swarm.make_secret(&coordinator);
    swarm.deploy(&["coordinator.yml", "workers.yml"]);
    let wait_for_workers = |number: usize| {
        wait_for("the workers", || client::workers(&coordinator).len() == number);
    };
    wait_for_workers(1);
    let job = submit(&coordinator, LONG, 4);

    // Up, a death, and down.
    wait_until_in_the_middle_of(&coordinator, &job);
    swarm.scale(3);
    wait_for_workers(3);
    docker(&["kill", &swarm.running("worker")[0]]);
    wait_for("the swarm to start another worker", || swarm.running("worker").len() == 3);
    swarm.scale(2);
    wait_for_workers(2);
    wait_until_in_the_middle_of(&coordinator, &job);

    // The swarm makes a new container for a coordinator that died, with the same ledger.
    docker(&["kill", &coordinator]);
    wait_for("the old coordinator to be gone", || {
        !swarm.running("coordinator").contains(&coordinator)
    });
    let coordinator = swarm.healthy_coordinator();
    assert_eq!(total(&coordinator, &job), vectors::total(LONG));
}

/// A board that takes some minutes of one processor by `rows`, so that it has a middle.
const LONG: u32 = 19;

const STACK: &str = "queens-test";
const SECRET: &str = "queens_worker_join";

/// A swarm of this engine alone. The engine leaves it, and forgets the stack, when this value is dropped.
struct Swarm {
    _machine: MutexGuard<'static, u32>,
}

impl Swarm {
    fn begin() -> Swarm {
        let machine = machine();
        let state = docker(&["info", "--format", "{{.Swarm.LocalNodeState}}"]);
        assert_eq!(
            state, "inactive",
            "this engine belongs to a swarm already, which a test must not touch"
        );
        docker(&["swarm", "init", "--advertise-addr", "127.0.0.1"]);
        Swarm { _machine: machine }
    }

    fn deploy(&self, files: &[&str]) {
        let mut command = Command::new("docker");
        command.current_dir(Path::new(TOP).join("deploy/swarm")).args(["stack", "deploy"]);
        // The image is in no registry.
        command.args(["--resolve-image", "never"]);
        command.args(files.iter().flat_map(|file| ["--compose-file", file]));
        let settings =
            [("QUEENS_IMAGE", IMAGE), ("QUEENS_WORKERS", "1"), ("QUEENS_BACKEND", "portable")];
        run(command.arg(STACK).envs(settings));
    }

    fn make_secret(&self, coordinator: &str) {
        let words = ["token", "create", "--role", "worker", "--owner", "swarm"];
        let join = docker(&[&["exec", coordinator, "queens"][..], &words].concat());
        let folder = TempDir::new().expect("a folder can be made");
        let file = folder.path().join("join");
        fs::write(&file, join).expect("it can be written");
        docker(&["secret", "create", SECRET, file.to_str().expect("the path is text")]);
    }

    fn scale(&self, workers: usize) {
        docker(&["service", "scale", "--detach", &format!("{STACK}_worker={workers}")]);
    }

    /// Waits until the swarm sees a coordinator that serves.
    fn healthy_coordinator(&self) -> String {
        let mut healthy = None;
        wait_for("the coordinator to be healthy", || {
            healthy = self.containers("coordinator", "health=healthy").pop();
            healthy.is_some()
        });
        healthy.expect("the wait is over")
    }

    /// The containers of a service that run.
    fn running(&self, service: &str) -> Vec<String> {
        self.containers(service, "status=running")
    }

    fn containers(&self, service: &str, filter: &str) -> Vec<String> {
        let service = format!("label=com.docker.swarm.service.name={STACK}_{service}");
        containers(&[&service, filter])
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        // No panic here: it could be the second one.
        let try_docker = |words: &[&str]| {
            let _ = Command::new("docker").args(words).stdout(Stdio::null()).status();
        };
        if thread::panicking() {
            for service in ["coordinator", "worker"] {
                try_docker(&["service", "ps", "--no-trunc", &format!("{STACK}_{service}")]);
                let _ = Command::new("docker")
                    .args(["service", "logs", "--tail", "50", &format!("{STACK}_{service}")])
                    .status();
            }
        }
        try_docker(&["stack", "rm", STACK]);
        try_docker(&["swarm", "leave", "--force"]);
        // What a swarm leaves behind.
        try_docker(&["network", "rm", "docker_gwbridge"]);
        // The engine removes the last containers by and by, and the volume is in use until then.
        let volume = format!("{STACK}_ledger");
        for _ in 0..60 {
            let removed = Command::new("docker").args(["volume", "rm", &volume]).output();
            if removed.is_ok_and(|output| output.status.success()) {
                return;
            }
            thread::sleep(Duration::from_secs(1));
        }
    }
}
