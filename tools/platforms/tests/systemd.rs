//! Tests the units in deploy/systemd as far as that is possible on a machine without systemd, and
//! the copies of a ledger.
//!
//! Needs the program systemd-analyze, so a plain `cargo test` leaves these tests out:
//!
//! ```text
//! cargo build && cargo test -p platforms --test systemd -- --ignored
//! ```

#[path = "../../../crates/queens-cli/tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use support::process::{Outcome, program, queens, run, wait_until};
use support::{Farm, Scratch};

const UNITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/systemd");

#[test]
#[ignore = "needs systemd-analyze: .ci/nightly systemd"]
fn systemd_understands_the_units() {
    // Given a machine on which everything is installed
    let machine = Scratch::new();
    for folder in ["usr/local/bin", "usr/lib/systemd", "etc/systemd/system"] {
        fs::create_dir_all(machine.path(folder)).expect("a new folder");
    }
    symlink("usr/lib", machine.path("lib")).expect("a new link");
    let standard = machine.path("usr/lib/systemd");
    run(Command::new("cp").args(["-r", "/usr/lib/systemd/system"]).arg(standard)).success();
    for (from, to) in [(&*program(), "queens"), (&unit("queens-backup"), "queens-backup")] {
        fs::copy(from, machine.path("usr/local/bin").join(to)).expect("the program is installed");
    }
    for file in units() {
        fs::copy(unit(&file), machine.path("etc/systemd/system").join(file))
            .expect("a unit is installed");
    }

    let mut verify = Command::new("systemd-analyze");
    verify.arg(format!("--root={}", machine.path("").display()));
    verify.args(["verify", "--man=no", "queens-coordinator.service", "queens-worker@lab.service"]);
    let Outcome { code, stderr, .. } =
        run(verify.args(["queens-backup.service", "queens-backup.timer"]));

    // systemd-analyze only warns of lines that it does not know.
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
#[ignore = "needs systemd-analyze: .ci/nightly systemd"]
fn the_services_have_little_power() {
    let services: Vec<String> =
        units().into_iter().filter(|file| file.ends_with(".service")).collect();
    assert_eq!(services.len(), 3, "{services:?}");
    for file in services {
        let mut security = Command::new("systemd-analyze");
        // The threshold is in tenths: it fails from 3.0 on.
        security
            .args(["security", "--no-pager", "--offline=yes", "--threshold=29"])
            .arg(unit(&file));
        run(&mut security).success();
    }
}

#[test]
#[ignore = "needs the built program: .ci/nightly systemd"]
fn a_copy_of_a_ledger_that_is_being_written_can_be_served() {
    // Given a farm that writes
    let farm = Farm::new("--tls", "--report-ms 10");
    let coordinator = farm.start_coordinator();
    let join = farm.key("join");
    let join = join.to_str().expect("text");
    let job =
        run(&mut queens(&["submit", "17", "--method", "rows", "--join-file", join])).success();
    assert_eq!(job, "1\n");
    let worker = farm.start_worker_by(&["--join-file", join]);
    let accepted = || farm.snapshot().jobs[&1].accepted().len();
    wait_until("counts", || accepted() > 3);

    // When it is copied three times, and two copies are kept
    let copies = Scratch::new();
    for _ in 0..3 {
        copy(farm.ledger(), &copies.path("")).success();
        // The names of the copies are seconds.
        thread::sleep(Duration::from_millis(1_100));
    }
    let at_the_copy = accepted();
    drop((worker, coordinator));
    let mut kept: Vec<PathBuf> = fs::read_dir(copies.path(""))
        .expect("a folder")
        .map(|copy| copy.expect("a copy").path())
        .collect();
    kept.sort();
    assert_eq!(kept.len(), 2, "{kept:?}");

    // Then the last copy is a ledger that only its owner may read, and from which a farm resumes.
    let ledger = kept[1].join("ledger.db");
    assert_eq!(ledger.metadata().expect("a ledger").mode() & 0o077, 0);
    // Its worker uses the fastest backend, so that a busy machine finishes in time.
    let fastest = format!("--backend {}", count::Backend::detect());
    let restored = Farm::new("--tls", &fastest).with_ledger(ledger);
    let copied = restored.snapshot().jobs[&1].accepted().len();
    assert!(3 < copied && copied <= at_the_copy, "{copied} of {at_the_copy}");
    let _coordinator = restored.start_coordinator();
    let join = restored.key("join");
    let join = join.to_str().expect("text");
    let _worker = restored.start_worker_by(&["--join-file", join]);
    let total = run(&mut queens(&["watch", "1", "--join-file", join])).success();
    assert_eq!(total, format!("{}\n", testkit::vectors::total(17)));
}

#[test]
#[ignore = "needs the built program: .ci/nightly systemd"]
fn a_file_that_is_no_ledger_is_not_copied() {
    let scratch = Scratch::new();
    let outcome = copy(&scratch.path("missing.db"), &scratch.path("copies"));

    assert_ne!(outcome.code, Some(0));
    assert!(!scratch.path("missing.db").exists());
    let left = fs::read_dir(scratch.path("copies"))
        .expect("a folder")
        .map(|file| file.expect("a file").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["draft"]);
}

fn copy(ledger: &Path, folder: &Path) -> Outcome {
    let (program, path) = (program(), std::env::var("PATH").expect("there is a path"));
    let path = format!("{}:{path}", program.parent().expect("it is in a folder").display());
    run(Command::new(unit("queens-backup")).arg(ledger).arg(folder).arg("2").env("PATH", path))
}

fn unit(file: &str) -> PathBuf {
    Path::new(UNITS).join(file)
}

/// The names of the services and timers.
fn units() -> Vec<String> {
    let files = fs::read_dir(UNITS).expect("the folder of the units");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    names.filter(|name| name.ends_with(".service") || name.ends_with(".timer")).collect()
}
