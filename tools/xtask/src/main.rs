//! The daily commands, on a laptop and in CI: `cargo xtask --help` lists them.
//!
//! Each command prints the commands that it runs, and ends with the exit code of the first one that
//! fails.
#![forbid(unsafe_code)]

mod comments;
mod fuzz;
mod mutants;
mod package;
mod proto;
mod ptx;
mod version;

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

/// The daily commands of the project.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Checks format, generated types, lints and documentation
    Check,
    /// Changes the lines that this branch has changed, one at a time; a test must fail each time.
    /// This needs cargo-mutants
    Mutants {
        /// The branch or commit that this one is compared with, uncommitted changes included
        #[arg(long, default_value = "main")]
        base: String,
        /// Arguments for `cargo mutants`, such as --list
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Gives altered messages and bundles to the code that reads them
    Fuzz {
        /// Which targets [default: all]
        #[arg(value_parser = fuzz::TARGETS)]
        targets: Vec<String>,
        /// Seconds for each target
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// Go on from inputs that reach new code, and keep these in the corpus; this needs
        /// cargo-bolero
        #[arg(long)]
        guided: bool,
    },
    /// Makes the program and its packages: archive, deb and wheel
    Package {
        /// The system to make them for [default: this machine's processor, with GNU's C library]
        #[arg(long, value_enum)]
        target: Option<package::Target>,
    },
    /// Makes the gRPC types of crates/service from the messages in proto
    Proto {
        /// Only check whether they match the messages
        #[arg(long)]
        check: bool,
    },
    /// Compiles the kernels of crates/gpu for NVIDIA's devices, after their text has changed
    Ptx,
    /// Writes the version of the next release into all files that have it
    Version {
        /// The version, as in 0.2.0
        next: String,
    },
    /// Runs the tests of the counting libraries for 64-bit ARM under an emulator, on Debian
    Emulate {
        /// Arguments for `cargo test` [default: all tests of queens-board, queens-count and
        /// queens-farm]
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => ExitCode::from(code),
    }
}

fn run(task: Task) -> Result<(), u8> {
    match task {
        Task::Check => {
            cargo("fmt").args(["--all", "--check"]).run()?;
            comments::check()?;
            proto::run(true)?;
            let lints =
                ["--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"];
            cargo("clippy").args(lints).run()?;
            let documents = ["--workspace", "--no-deps", "--document-private-items"];
            cargo("doc").args(documents).env("RUSTDOCFLAGS", "--deny warnings").run()
        }
        Task::Mutants { base, arguments } => mutants::run(&base, &arguments),
        Task::Fuzz { targets, seconds, guided: false } => fuzz::blind(&targets, seconds),
        Task::Fuzz { targets, seconds, guided: true } => fuzz::guided(&targets, seconds),
        Task::Proto { check } => proto::run(check),
        Task::Package { target } => package::run(target),
        Task::Ptx => ptx::run(),
        Task::Version { next } => version::run(&next),
        Task::Emulate { arguments } => package::emulate(&arguments),
    }
}

/// Prints an error that no command has printed, and returns the exit code.
fn fault(reason: &str) -> u8 {
    eprintln!("cargo xtask: {reason}");
    1
}

/// A command that is printed before it runs.
struct Step(Command);

/// Cargo as a person would call it. The cargo that runs this program sets variables about its
/// package. Libraries whose build reads them (`ring`) would be built again, with everything that
/// needs them, now and when a person calls cargo next.
fn cargo(subcommand: &str) -> Step {
    let mut step = Step::new("cargo").args([subcommand]);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            step.0.env_remove(&name);
        }
    }
    step
}

impl Step {
    fn new(program: impl AsRef<OsStr>) -> Step {
        Step(Command::new(program))
    }

    fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Step {
        self.0.args(arguments);
        self
    }

    fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Step {
        self.0.env(name, value);
        self
    }

    /// Runs the command in this folder.
    fn within(mut self, folder: impl AsRef<Path>) -> Step {
        self.0.current_dir(folder);
        self
    }

    /// Runs the command to its end, and writes its output to a file. The file's folder is created.
    /// The error is the exit code.
    fn run_into(mut self, file: &Path) -> Result<(), u8> {
        let folder = file.parent().unwrap_or(file);
        let file = std::fs::create_dir_all(folder).and_then(|()| std::fs::File::create(file));
        let file = file.map_err(|error| {
            eprintln!("cannot write to {}: {error}", folder.display());
            1
        })?;
        self.0.stdout(file);
        self.run()
    }

    /// Runs the command to its end. The error is the exit code.
    fn run(mut self) -> Result<(), u8> {
        eprintln!("+ {self}");
        let status = self.0.status().map_err(|error| {
            eprintln!("cannot start {:?}: {error}", self.0.get_program());
            1
        })?;
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        if status.success() { Ok(()) } else { Err(code) }
    }
}

/// The command line as a person would type it, without variables that are removed.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.0.get_envs() {
            if let Some(value) = value {
                write!(f, "{}={value:?} ", name.display())?;
            }
        }
        write!(f, "{}", self.0.get_program().display())?;
        self.0.get_args().try_for_each(|word| write!(f, " {}", word.display()))
    }
}
