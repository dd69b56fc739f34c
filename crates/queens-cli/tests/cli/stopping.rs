//! Tests of processes that are asked to stop, and resume afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Scratch;
use crate::support::ledger::Snapshot;
use crate::support::log::{self, Entry};
use crate::support::process::{Process, queens, queens_at_a_terminal, run, wait_until};

/// A board that takes about a second to count.
const LONG: u32 = 15;
/// The number of attempts to stop a process in the middle of its work.
const ATTEMPTS: usize = 10;

#[test]
fn a_stopped_count_resumes() {
    let scratch = Scratch::new();
    stop_a_count(&scratch, "INT", Some(75));
    if cfg!(target_os = "linux") {
        // These signals are the end of a terminal and the warning of a scheduler.
        stop_a_count(&scratch, "HUP", Some(75));
        stop_a_count(&scratch, "USR1", Some(75));
    }
    for (signal, code) in [("TERM", Some(75)), ("KILL", cfg!(windows).then_some(1))] {
        let ledger = stop_a_count(&scratch, signal, code);
        let kept = Snapshot::read(&ledger);

        // When the same command runs again
        let second = run(&mut count(&ledger));

        // Then it prints the total, and repeats no accepted count.
        let log = scratch.new_file("log");
        std::fs::write(&log, &second.stderr).expect("logs can be written");
        second.total(LONG);
        let after = Snapshot::read(&ledger);
        assert!(after.jobs[&1].is_tiled(), "every task is accepted once");
        after.jobs[&1].assert_keeps(&kept.jobs[&1]);
        for line in log::read(&log) {
            let Entry::Lease { range, .. } = line.entry else { continue };
            assert!(!kept.jobs[&1].accepted().intersects(range), "{range} was counted again");
        }
        run(&mut count(&ledger)).total(LONG);
    }
}

/// A board on which every single task takes far longer than a test.
const ENDLESS: [&str; 4] = ["count", "32", "--given", "a1,b4"];
/// The time limit for a process that ends at once, even on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(20);

#[test]
fn a_count_without_a_ledger_ends_at_once() {
    let scratch = Scratch::new();
    let boards: [&[&str]; 3] = [&ENDLESS, &["count", "21"], &["count", "20", "--method", "forced"]];
    for args in boards {
        let mut command = queens_at_a_terminal(args);
        let mut count = Process::start(command.args(["--log", "info"]), scratch.new_file("log"));
        std::thread::sleep(Duration::from_millis(500));
        assert!(count.is_running(), "{args:?}: {}", count.said());
        let asked = Instant::now();
        count.signal("INT");
        assert_eq!(count.wait().code(), Some(130), "{args:?}: {}", count.said());
        assert!(asked.elapsed() < AT_ONCE, "{args:?} took {:?}", asked.elapsed());
        assert!(!count.said().contains("asked to stop"), "it hands nothing back: {}", count.said());
        assert!(count.said().contains("nothing is kept"), "{}", count.said());
    }
}

#[test]
fn a_count_stops_at_its_time_limit_and_resumes() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    let limited = |limit: &str| run(count(&ledger).args(["--time-limit", limit]));
    limited("soon").usage("--time-limit");
    let stopped = limited("150ms");
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(75), ""), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("the time limit is over: stopped"), "{}", stopped.stderr);
    limited("01:00:00").total(LONG);

    let nothing_kept = run(queens(&ENDLESS).args(["--time-limit", "300ms"]));
    nothing_kept.refusal(130, &["the time limit is over", "nothing is kept", "--ledger"]);
    for (args, warning) in [
        ("count 20 --method forced", ""),
        ("count 100 --given a1", "this may never end"),
        ("count 64 --given a1,b5", "this may never end"),
    ] {
        let stopped = run(queens(&[]).args(args.split(' ')).args(["--time-limit", "300ms"]));
        assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(130), ""), "{args}");
        let said = stopped.stderr;
        assert!(!said.contains("interrupted") && said.contains(warning), "{said}");
        assert!(
            said.contains("the time limit is over") && said.contains("nothing is kept"),
            "{said}"
        );
    }
}

/// Stops a count in the middle by a signal, and returns its ledger.
fn stop_a_count(scratch: &Scratch, signal: &str, code: Option<i32>) -> PathBuf {
    let stop = |_| {
        let ledger = scratch.new_file("ledger.db");
        let mut count = Process::start(&mut count(&ledger), scratch.new_file("log"));
        let accepted = || ledger.exists() && accepted_in(&ledger) > 0;
        wait_until("a part of the count to be accepted", accepted);
        count.signal(signal);
        let ended = count.wait();
        (Snapshot::read(&ledger).running() == 1).then_some((ledger, count, ended))
    };
    let stopped = (0..ATTEMPTS).find_map(stop);
    let (ledger, count, ended) = stopped.expect("a count is stopped in its middle");
    assert_eq!(ended.code(), code, "{}", count.said());
    let advice = "the same command goes on from there";
    assert!(code != Some(75) || count.said().contains(advice), "{}", count.said());
    ledger
}

fn count(ledger: &Path) -> Command {
    let n = LONG.to_string();
    let log = ["--log-format", "json", "--log", "queens=debug,service=debug"];
    let mut command = queens_at_a_terminal(&["count", &n, "--rows", "5", "--threads", "1"]);
    command.args(log).arg("--ledger").arg(ledger);
    command
}

/// The number of accepted tasks. It is 0 before the ledger has the job.
fn accepted_in(ledger: &Path) -> u64 {
    let snapshot = Snapshot::try_read(ledger).unwrap_or_default();
    snapshot.jobs.get(&1).map_or(0, |job| job.accepted().len())
}

/// Tests of signals that only Unix has, of messages that only Linux has, and of signals in quick
/// succession.
#[cfg(target_os = "linux")]
mod signals {
    use super::*;
    use crate::support::process::behind;

    #[test]
    fn a_signal_that_the_parent_process_ignores_stays_ignored() {
        let scratch = Scratch::new();
        for name in ["INT", "USR1", "HUP"] {
            let ignoring = format!("trap '' {name}; exec \"$@\"");
            let mut endless = queens(&ENDLESS);
            endless.args(["--log", "service=info"]);
            let mut ignoring = behind(&["sh", "-c", &ignoring, "sh"], &endless);
            let mut count = Process::start(&mut ignoring, scratch.new_file("log"));
            count.wait_for_line("welcomes this worker");
            count.signal(name);
            std::thread::sleep(Duration::from_millis(300));
            assert!(count.is_running(), "{name}: {}", count.said());
            count.signal("TERM");
            assert_eq!(count.wait().code(), Some(130), "{name}: {}", count.said());
        }
    }

    /// The system drops signals that process 1 does not handle.
    #[test]
    fn every_command_ends_as_process_1_of_a_container() {
        let unshare = ["unshare", "--pid", "--fork", "--mount-proc"];
        if run(&mut behind(&unshare, &queens(&["--version"]))).code != Some(0) {
            println!("left out: unshare(1) cannot make a namespace of processes here");
            return;
        }
        let scratch = Scratch::new();
        let commands = [
            "list 16",
            "plan 26 --seconds 60",
            "compare 14",
            "bench --sample-ms 60s",
            "count 24 --method rows",
            "jobs --coordinator http://127.0.0.1:1",
        ];
        let cases = commands.into_iter().flat_map(|command| [(command, "INT"), (command, "TERM")]);
        for (command, signal) in cases {
            let words: Vec<&str> = command.split(' ').collect();
            let alone = behind(&unshare, &queens_at_a_terminal(&words));
            let mut outer = Process::start(&mut { alone }, scratch.new_file("log"));
            let children = format!("/proc/{0}/task/{0}/children", outer.id());
            let mut child = String::new();
            wait_until("process 1 to be this program", || {
                child = std::fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
                let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
                name.is_ok_and(|name| name == "queens\n")
            });
            // It needs a moment until it handles signals.
            std::thread::sleep(Duration::from_millis(300));
            run(Command::new("kill").args([&format!("-{signal}"), &child])).success();
            let code = outer.wait().code();
            let is_handled = command.starts_with("count") || signal == "INT";
            let expected = if is_handled { 130 } else { 143 };
            assert_eq!(code, Some(expected), "{command}, {signal}: {}", outer.said());
        }
    }

    #[test]
    fn a_second_signal_ends_a_count_with_a_ledger_at_once() {
        let scratch = Scratch::new();
        let mut endless = queens_at_a_terminal(&ENDLESS);
        endless.args(["--log", "service=debug", "--ledger"]).arg(scratch.path("ledger.db"));
        let mut count = Process::start(&mut endless, scratch.new_file("log"));
        // Before the lease, the tasks would be returned, and the count would end.
        count.wait_for_line(" lease ");
        std::thread::sleep(Duration::from_millis(500));
        count.signal("INT");
        count.wait_for_line("asked to stop");
        // Batch systems send a second signal together with the first. It counts as one signal.
        count.signal("INT");
        std::thread::sleep(Duration::from_millis(700));
        assert!(count.is_running(), "{}", count.said());

        let asked = Instant::now();
        count.signal("INT");

        assert_eq!(count.wait().code(), Some(75), "{}", count.said());
        assert!(asked.elapsed() < AT_ONCE, "it took {:?}", asked.elapsed());
    }
}
