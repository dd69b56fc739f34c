//! A farm that requires credentials.

use std::path::PathBuf;

use super::process::{Outcome, Process};
use super::{Farm, Scratch, write_private};

/// A farm that requires credentials, and its own token.
pub(crate) struct Guarded {
    pub(crate) farm: Farm,
    pub(crate) scratch: Scratch,
    pub(crate) coordinator: Process,
}

impl Guarded {
    pub(crate) fn new() -> Guarded {
        Guarded::with("")
    }

    /// Starts it with further options for the coordinator.
    pub(crate) fn with(options: &str) -> Guarded {
        let scratch = Scratch::new();
        let option = format!("--token-file {} {options}", scratch.path("admin").display());
        let farm = Farm::new(&option, "--report-ms 0");
        let coordinator = farm.start_coordinator();
        Guarded { farm, scratch, coordinator }
    }

    /// Runs a client command with the token in a file.
    pub(crate) fn client(&self, token: &str, args: &[&str]) -> Outcome {
        let file = self.scratch.path(token).display().to_string();
        self.farm.client(&[args, &["--token-file", &file]].concat())
    }

    /// Makes a credential. Returns the name of its file, and its secret.
    pub(crate) fn create(&self, role: &str, owner: &str) -> (String, String) {
        let args = ["token", "create", "--role", role, "--owner", owner];
        let secret = self.client("admin", &args).success();
        let name = format!("{role}-{owner}");
        self.write(&name, &secret);
        (name, secret.trim().into())
    }

    pub(crate) fn write(&self, name: &str, secret: &str) -> PathBuf {
        let path = self.scratch.path(name);
        write_private(&path, secret);
        path
    }

    pub(crate) fn start_worker(&self, token: &str) -> Process {
        self.farm.start_worker_with(&format!("--token-file {}", self.scratch.path(token).display()))
    }

    /// Job 1, as `queens jobs --json` prints it.
    pub(crate) fn job(&self) -> serde_json::Value {
        let text = self.client("admin", &["jobs", "1", "--json"]).success();
        serde_json::from_str(&text).expect("it is JSON")
    }
}
