//! The example in deploy/hyperqueue, on a HyperQueue server and worker of this machine.
//!
//! Needs Python with `venv` and its package index, so a plain `cargo test` leaves it out:
//!
//! ```text
//! cargo test -p queens --test hyperqueue -- --ignored
//! ```

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::Scratch;
use support::ledger::Snapshot;
use support::process::{Process, run, wait_until};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/hyperqueue");

#[test]
#[ignore = "needs Python and its package index: deploy/hyperqueue/README.md"]
fn parts_go_on_after_a_kill_and_add_up() {
    // Given a count in its middle
    let python = python_with_hyperqueue();
    let scratch = Scratch::new();
    let ledger = scratch.path("part-1.db");
    let job = || Snapshot::try_read(&ledger).ok().and_then(|mut it| it.jobs.remove(&1));
    let killed = Process::start(&mut count(&python, &scratch), scratch.path("first.log"));
    wait_until("counts", || job().is_some_and(|job| job.accepted().len() > 1));

    // When it is killed, and the same command is run again
    killed.kill();
    let before = job().expect("a ledger");
    let said = run(&mut count(&python, &scratch)).success();

    // Then it prints the total, and what was counted before is still there.
    let total = format!("{}\n", vectors::total(17));
    assert!(said.ends_with(&total), "{said}");
    assert_eq!(fs::read_to_string(scratch.path("total.txt")).expect("a total"), total);
    job().expect("a ledger").assert_keeps(&before);
}

fn count(python: &Path, scratch: &Scratch) -> Command {
    let queens = Path::new(env!("CARGO_BIN_EXE_queens")).parent().expect("it is in a folder");
    let path = std::env::var("PATH").expect("there is a path");
    let mut command = Command::new(python);
    command.arg(format!("{EXAMPLE}/count.py")).args(["17", "--parts", "4", "--cores", "2"]);
    command.current_dir(scratch.path("")).env("PATH", format!("{}:{path}", queens.display()));
    // Slow enough to be met in the middle.
    command.env("QUEENS_BACKEND", "portable").env("QUEENS_METHOD", "rows");
    command
}

/// A Python that has the packages of the example.
fn python_with_hyperqueue() -> PathBuf {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hyperqueue");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv)).success();
    let python = venv.join("bin/python");
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&python).args(install).arg(format!("{EXAMPLE}/requirements.txt"))).success();
    python
}
