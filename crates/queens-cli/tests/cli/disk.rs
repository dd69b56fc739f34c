//! Tests of full and failing disks: no accepted count is lost, and the same command resumes
//! afterwards.

use std::path::Path;
use std::process::Command;

use crate::support::process::{Process, behind, queens, run};
use crate::support::small_disk::SmallDisk;
use crate::support::{Farm, Scratch, at_once};

/// A board that takes seconds.
const N: u32 = 15;

#[test]
fn a_count_resumes_after_its_ledger_could_not_grow() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    for kib in [4, 16, 40] {
        let stopped = run(&mut in_files_of(kib, &count(&ledger)));
        stopped.refusal(10, &["cannot write the ledger", "safe", "make room", "same command"]);
    }
    run(&mut count(&ledger)).total(N);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_not_an_end_without_a_word() {
    let scratch = Scratch::new();
    let log = scratch.new_file("log");
    let script = format!("ulimit -f 1; exec \"$0\" \"$@\" >{}", log.display());
    run(&mut behind(&["bash", "-c", &script], &queens(&["list", "9"])))
        .refusal(10, &["cannot write to standard output", "File too large"]);
}

#[test]
fn a_full_disk_is_blamed_on_the_file_that_is_written() {
    let scratch = Scratch::new();
    let [part, into] = ["part.db", "into.db"].map(|name| scratch.path(name).display().to_string());
    let count = ["count", "11", "--method", "colours", "--ledger", &part];
    run(&mut queens(&count)).total(11);
    for args in [&["merge", &part, "--into", &into][..], &["backup", "--from", &part, &into]] {
        let mut is_done = false;
        for kib in (4..=1024).step_by(4) {
            let outcome = run(&mut in_files_of(kib, &queens(args)));
            is_done = outcome.code == Some(0);
            if is_done {
                break;
            }
            assert!(!outcome.stderr.contains("part.db"), "{kib}: {}", outcome.stderr);
            outcome.refusal(10, &["into.db"]);
        }
        assert!(is_done, "{args:?}");
        std::fs::remove_file(&into).expect("it was made");
    }
}

#[test]
fn a_coordinator_resumes_after_its_ledger_could_not_grow() {
    let farm = Farm::new("--grace-ms 50", "--report-ms 0");
    let coordinator = Process::start(&mut in_files_of(160, &busy(&farm)), farm.new_log());
    stopped_coordinator_goes_on(&farm, coordinator, || {});
}

/// A real file system is full here.
#[test]
#[ignore = "mounts a small file system, which needs root: CI runs it"]
fn a_full_file_system_stops_the_farm_and_loses_nothing() {
    let disk = SmallDisk::mount();
    let farm = Farm::new("--grace-ms 50", "--report-ms 0").with_ledger(disk.path("ledger.db"));
    disk.leave(200);
    let coordinator = Process::start(&mut busy(&farm), farm.new_log());
    stopped_coordinator_goes_on(&farm, coordinator, || disk.empty());
}

#[test]
fn a_coordinator_resumes_after_its_disk_failed() {
    if !can_inject() {
        println!("left out: strace(1) cannot make system calls fail here");
        return;
    }
    // A new ledger needs 15 and 45 of these calls before it is served, and some more for a job.
    at_once([("fdatasync,fsync", 18), ("pwrite64", 70)], |(calls, first)| {
        let farm = Farm::new("--grace-ms 50", "--report-ms 0");
        let mut failing = with_io_errors(calls, first, &busy(&farm));
        let coordinator = Process::start(&mut failing, farm.new_log());
        let said = stopped_coordinator_goes_on(&farm, coordinator, || {});
        assert!(said.contains("disk I/O error"), "{calls}: {said}");
    });
}

/// Each call fails as on a network file system without that. The message names the system's own
/// error, and neither another process nor damage.
#[test]
fn a_file_system_without_locks_or_shared_memory_is_named_as_that() {
    if !can_inject() {
        println!("left out: strace(1) cannot make system calls fail here");
        return;
    }
    let scratch = Scratch::new();
    let sound = scratch.path("sound.db");
    run(queens(&["count", "8", "--ledger"]).arg(&sound)).total(8);
    let unlocked = ["it has no locks", "No locks available"];
    let memory = ["it does not map memory that processes share", "disk I/O error"];
    for (number, (suffix, call, error, said)) in [
        ("-lock", "flock", "EOPNOTSUPP", ["it has no locks", "Operation not supported"]),
        ("-lock", "flock", "ENOLCK", unlocked),
        ("-lock", "fcntl", "ENOLCK", unlocked),
        ("-shm", "mmap", "ENODEV", memory),
        ("", "fcntl", "ENOLCK", unlocked),
        ("", "fcntl", "EPERM", ["it has no locks", "Operation not permitted"]),
    ]
    .into_iter()
    .enumerate()
    {
        let ledger = scratch.path(&format!("{number}.db"));
        std::fs::copy(&sound, &ledger).expect("it is there");
        let name = ledger.to_str().expect("it is text");
        let copy = scratch.path("copy.db").display().to_string();
        let writers = [
            &["count", "8", "--ledger", name][..],
            &["coordinator", "--listen", "127.0.0.1:0", "--ledger", name],
        ];
        let readers = [
            &["backup", "--check", name][..],
            &["backup", &copy, "--from", name],
            &["merge", name, "--into", &copy],
        ];
        let file = format!("{name}{suffix}");
        for args in if suffix.is_empty() { &readers[..] } else { &writers[..] } {
            let (trace, fail) = (format!("trace={call}"), format!("inject={call}:error={error}"));
            let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", &file];
            let strace = [&strace[..], &["-e", &trace, "-e", &fail]].concat();
            let refused = run(&mut behind(&strace, &queens(args)));
            refused.refusal(10, &[&["cannot be on this file system"][..], &said].concat());
        }
        run(&mut queens(&["backup", "--check", name])).success();
    }
}

/// A coordinator that writes often, because its leases are short.
fn busy(farm: &Farm) -> Command {
    let mut coordinator = farm.coordinator();
    coordinator.env("QUEENS_LEASE_MS", "1");
    coordinator
}

/// Submits a job, waits until the coordinator stops, and restarts it after `mend`. Returns the log
/// of the coordinator.
fn stopped_coordinator_goes_on(farm: &Farm, mut coordinator: Process, mend: impl Fn()) -> String {
    coordinator.wait_for_line("coordinator serves");
    let _workers = [farm.start_worker(), farm.start_worker()];
    let job = farm.submit(N, 5, 0);

    let status = coordinator.wait();

    let said = coordinator.said();
    assert_eq!(status.code(), Some(10), "{said}");
    for word in ["cannot write the ledger", "safe", "make room", "same command"] {
        assert!(said.contains(word), "{said}");
    }
    mend();
    let kept = farm.snapshot();
    assert_eq!(kept.running(), 1, "it stopped in the middle");

    let _coordinator = farm.start_coordinator();

    farm.client(&["watch", &job.to_string()]).total(N);
    let last = farm.snapshot();
    assert!(last.jobs[&job].is_tiled());
    last.jobs[&job].assert_keeps(&kept.jobs[&job]);
    said
}

fn count(ledger: &Path) -> Command {
    let mut command = queens(&["count", &N.to_string(), "--rows", "5", "--threads", "1"]);
    command.arg("--ledger").arg(ledger);
    command
}

/// Runs a command that may not let a file grow beyond `kib` KiB, so that a write fails as on a full
/// disk.
fn in_files_of(kib: u32, command: &Command) -> Command {
    let script = format!("ulimit -f {kib}; exec \"$0\" \"$@\"");
    behind(&["bash", "-c", &script], command)
}

/// Runs a command whose system calls `calls` fail from the `first` one on, as on a broken disk.
fn with_io_errors(calls: &str, first: u32, command: &Command) -> Command {
    let (trace, fail) =
        (format!("trace={calls}"), format!("inject={calls}:error=EIO:when={first}+"));
    let strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null"];
    behind(&[&strace[..], &["-e", &trace, "-e", &fail]].concat(), command)
}

/// Whether strace(1) exists and may do this.
fn can_inject() -> bool {
    let tried = with_io_errors("fsync", 1, &Command::new("true")).output();
    tried.is_ok_and(|output| output.status.success())
}
