//! Runs a check against a tree and reports the result.

use std::fmt;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::tree::Tree;

/// A test binary that may find bugs.
///
/// If it runs seeds, it fails with the words `seed N failed, see above`, N being the first of `0..` that does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// Arguments with which cargo builds it, such as `["--package", "farm", "--lib"]`.
    build: Vec<String>,
    /// Arguments of the test binary.
    #[serde(default)]
    run: Vec<String>,
    /// The environment variable that sets the number of seeds, and how many there are.
    seeds: Option<Seeds>,
    /// The longest that a test binary may run, in seconds.
    timeout_s: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seeds {
    variable: String,
    number: u64,
    /// Fewer do not find what the check is for.
    #[serde(default)]
    least: u64,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It failed, within so many seeds if it has any.
    Found { seeds: Option<u64> },
    /// It passed.
    Missed,
    /// It did not end in time.
    Hung,
    /// The tree does not compile.
    DoesNotCompile,
}

impl Outcome {
    pub(crate) fn is_found(self) -> bool {
        matches!(self, Outcome::Found { .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Found { seeds: Some(1) } => f.write_str("1 seed"),
            Outcome::Found { seeds: Some(seeds) } => write!(f, "{seeds} seeds"),
            Outcome::Found { seeds: None } => f.write_str("its tests"),
            Outcome::Missed => f.write_str("**missed**"),
            Outcome::Hung => f.write_str("**hung**"),
            Outcome::DoesNotCompile => f.write_str("**does not compile**"),
        }
    }
}

impl Check {
    /// Builds the check in `tree` and runs it, with `seeds` seeds if that is given and is enough for it.
    pub(crate) fn run(&self, tree: &Tree, seeds: Option<u64>) -> Result<Outcome> {
        let Some(binaries) = self.build(tree)? else { return Ok(Outcome::DoesNotCompile) };
        if binaries.is_empty() {
            bail!("{:?} builds no test", self.build);
        }
        for binary in binaries {
            let mut command = Command::new(binary);
            command.args(&self.run).current_dir(tree.root()).env("RUST_BACKTRACE", "0");
            if let Some(Seeds { variable, number, least }) = &self.seeds {
                command.env(variable, seeds.unwrap_or(*number).max(*least).to_string());
            }
            let (status, output) = self.watch(command, tree)?;
            match status {
                None => return Ok(Outcome::Hung),
                Some(status) if status.success() => {}
                Some(_) => {
                    let seed = first_failing_seed(&output);
                    if self.seeds.is_some() && seed.is_none() {
                        bail!("it failed, and named no seed:\n{output}");
                    }
                    return Ok(Outcome::Found { seeds: seed.map(|seed| seed + 1) });
                }
            }
        }
        Ok(Outcome::Missed)
    }

    /// The test binaries, or `None` if they do not compile.
    fn build(&self, tree: &Tree) -> Result<Option<Vec<PathBuf>>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["test", "--no-run", "--quiet", "--message-format=json"])
            .args(&self.build)
            .current_dir(tree.root())
            .env("CARGO_TARGET_DIR", tree.build_folder())
            .stderr(Stdio::inherit())
            .output()
            .context("starting cargo")?;
        if !built.status.success() {
            return Ok(None);
        }
        let lines = String::from_utf8_lossy(&built.stdout);
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        // Tests of a program come with the program itself.
        let is_test = |message: &serde_json::Value| message["profile"]["test"] == true;
        let binary = |message: serde_json::Value| Some(message["executable"].as_str()?.into());
        Ok(Some(messages.filter(is_test).filter_map(binary).collect()))
    }

    /// Runs a command until it ends or its time is over. Returns its status, if it ended, and its output.
    fn watch(&self, mut command: Command, tree: &Tree) -> Result<(Option<ExitStatus>, String)> {
        let said = tree.build_folder().join("output.txt");
        let file = File::create(&said)?;
        let mut child = command.stdout(file.try_clone()?).stderr(file).spawn()?;
        let end = Instant::now() + Duration::from_secs(self.timeout_s);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > end {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(Duration::from_millis(20));
        };
        Ok((status, String::from_utf8_lossy(&fs::read(said)?).into_owned()))
    }
}

fn first_failing_seed(output: &str) -> Option<u64> {
    let (before, _) = output.split_once(" failed, see above")?;
    before.rsplit_once("seed ")?.1.parse().ok()
}
