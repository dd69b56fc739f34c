//! A farm that docker-compose.yml starts, for one test. It is removed with its volumes when the
//! test ends or fails.

use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::MutexGuard;
use std::thread;

use crate::client;
use crate::docker::{compose, containers, inspect, machine, run, wait_for};

pub(crate) struct Farm {
    project: String,
    /// Variables for docker-compose.yml.
    settings: &'static [(&'static str, &'static str)],
    _machine: MutexGuard<'static, u32>,
}

impl Farm {
    /// Starts a coordinator with an empty ledger, and workers.
    pub(crate) fn up(workers: usize) -> Self {
        Farm::up_with(workers, &[])
    }

    /// Starts a farm with these variables set for docker-compose.yml.
    pub(crate) fn up_with(
        workers: usize,
        settings: &'static [(&'static str, &'static str)],
    ) -> Self {
        let machine = machine();
        let project = format!("queens-test-{}-{}", process::id(), *machine);
        let farm = Self { project, settings, _machine: machine };
        farm.compose(&["up", "--detach", "--scale", &format!("worker={workers}")]);
        farm
    }

    /// Runs the compose tool on this farm. Returns its standard output.
    pub(crate) fn compose(&self, arguments: &[&str]) -> String {
        run(&mut self.compose_command(arguments))
    }

    /// Waits until Docker calls the coordinator healthy.
    pub(crate) fn wait_until_healthy(&self) {
        let coordinator = self.coordinator();
        wait_for("the coordinator to be healthy", || {
            inspect(&coordinator, "{{.State.Health.Status}}") == "healthy"
        });
    }

    /// Waits until `workers` workers are connected.
    pub(crate) fn wait_for_workers(&self, workers: usize) {
        let coordinator = self.coordinator();
        wait_for("the workers", || client::workers(&coordinator).len() == workers);
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
        let found = containers(&[&project, filter]);
        assert!(!found.is_empty(), "no containers with {filter}");
        found
    }

    pub(crate) fn compose_command(&self, arguments: &[&str]) -> Command {
        let mut command = compose(Path::new("docker-compose.yml"), &self.project);
        // Any free port is used, because no test here uses the page.
        command.env("QUEENS_PAGE_PORT", "0");
        command.args(arguments).envs(self.settings.iter().copied());
        command
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // A panic here could be a second one.
        if thread::panicking() {
            let _ = self.compose_command(&["logs", "--no-color", "--tail", "50"]).status();
        }
        let down = ["down", "--volumes", "--remove-orphans", "--timeout", "1"];
        let _ = self.compose_command(&down).stderr(Stdio::null()).status();
    }
}
