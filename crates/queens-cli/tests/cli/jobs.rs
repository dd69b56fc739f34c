//! Tests of jobs as clients see them: they are submitted, followed, paused and ended.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use farm::{Change, JobId, JobSpec, LedgerCommand, Origin, Shard};
use ledger::CheckedLedger;
use serde_json::Value;

use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::process::{Process, end_of, queens, run_into, wait_until};

#[test]
fn sizes_that_cannot_all_be_counted_are_not_submitted() {
    let farm = Farm::new("--max-jobs 5", "");
    let _coordinator = farm.start_coordinator();
    let refusals: [(&[&str], &[&str]); 6] = [
        (&["33"], &["33", "at most 32"]),
        (&["5", "--rows", "6"], &["place at most 5"]),
        (&["32", "--rows", "20"], &["place at most 6 rows"]),
        (&["3..9", "--method", "colours"], &["from 4 to 32", "no other size"]),
        (&["9..20", "--rows", "3"], &["limit of jobs that have not ended is 5", "no other size"]),
        (&["30..33", "--rows", "2"], &["size 33", "no other size"]),
    ];
    for (args, reasons) in refusals {
        farm.client(&[&["submit"], args].concat()).refusal(3, reasons);
    }
    assert_eq!(farm.client(&["jobs", "--all", "--json"]).success(), "");

    // A job that existed before under its name stays.
    farm.client(&["submit", "10", "--name", "old-10"]).success();
    farm.client(&["submit", "10..15", "--name", "old"]).refusal(3, &["is 5"]);
    let left = farm.client(&["jobs", "--all", "--json"]).success();
    assert_eq!((left.lines().count(), left.contains("old-10")), (1, true), "{left}");
}

#[test]
fn a_watch_ends_with_its_reader_but_changes_do_not() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let client = |args: &[&str]| {
        let mut command = queens(args);
        command.env("QUEENS_COORDINATOR", farm.url());
        command
    };
    let pipe = || std::io::pipe().expect("pipes can be made");
    let run_unread = |args: &[&str]| {
        let (reader, writer) = pipe();
        drop(reader);
        run_into(&mut client(args), writer).code
    };
    assert_eq!(run_unread(&["submit", "12..15", "--rows", "3"]), Some(0));
    // On Windows, the program notices the end of the reader only at its next write.
    if cfg!(unix) {
        // There is no worker, so there is nothing more to print.
        let (reader, writer) = pipe();
        let mut command = client(&["watch", "1", "--json"]);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).expect("a line");
        assert!(line.starts_with('{'), "{line}");
        let ended = end_of(&command, child);
        assert_eq!(ended.code, Some(141), "{}", ended.stderr);
    }
    assert_eq!(run_unread(&["cancel", "1", "2", "3", "4"]), Some(0));
    assert_eq!(farm.client(&["jobs", "-n", "0", "--json"]).success(), "");
}

#[test]
fn a_small_submission_does_not_wait_for_a_large_one() {
    let guarded = Guarded::new();
    let (lab, _) = guarded.create("submitter", "lab");
    let _worker = guarded.start_worker("admin");
    // Given clients of another owner that submit plans, each of which takes seconds
    let (url, token) = (guarded.farm.url(), guarded.scratch.path(&lab));
    let large = |rows| {
        let args = ["submit", "17", "--rows", rows, "--coordinator", &url];
        let mut command = queens(&args);
        command.arg("--token-file").arg(&token);
        Process::start(&mut command, guarded.farm.new_log())
    };
    let _large = ["15", "16", "17"].map(large);
    std::thread::sleep(Duration::from_millis(500));

    let begun = Instant::now();
    let total = guarded.client("admin", &["submit", "10", "--wait"]).success();

    assert_eq!(total, format!("{}\n", testkit::vectors::total(10)));
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
}

#[test]
fn the_program_reads_all_pages_of_a_list() {
    // Given more jobs than one page has, of those that have ended and of the others
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    coordinator.stop();
    let ledger = CheckedLedger::open(farm.ledger()).expect("it is sound");
    let plan = ledger.jobs()[0].stored.spec.plan;
    let ledger = ledger.begin().expect("it opens");
    let create = |job| {
        let spec = JobSpec { origin: Origin::default(), plan, shard: Shard::ALL, priority: 0 };
        LedgerCommand::CreateJob { job: JobId(job), spec, audit: None }
    };
    let cancel = |job| {
        let change = Change::Cancel;
        LedgerCommand::Change { job: JobId(job), change, by: "me".into() }
    };
    let commands = (2..=600).map(create).chain((301..=600).map(cancel));
    ledger.apply(&commands.collect::<Vec<_>>()).expect("they are written");
    ledger.close().expect("it can be closed");
    let _coordinator = farm.start_coordinator();

    let listed = farm.client(&["jobs", "--json", "--all"]).success();

    let number = |line: &str| {
        let job: Value = serde_json::from_str(line).expect("a line is a job");
        job["job"].as_u64().expect("a number")
    };
    assert_eq!(listed.lines().map(number).collect::<Vec<_>>(), (1..=600).collect::<Vec<_>>());
}

#[test]
fn a_watch_outlives_its_coordinator() {
    let farm = Farm::new("--grace-ms 100", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 4, 0);
    let mut watch = watch(&farm);

    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();

    assert_eq!(watch.wait().code(), Some(0), "{}", watch.said());
    let total = format!("\"total\":\"{}\"", testkit::vectors::total(12));
    assert!(watch.said().contains(&total), "{}", watch.said());
}

/// A client that follows job 1 and has seen it.
fn watch(farm: &Farm) -> Process {
    let args = ["watch", "1", "--json", "--coordinator", &farm.url()];
    let mut watch = Process::start(&mut queens(&args), farm.new_log());
    watch.wait_for_line("\"job\":1");
    watch
}

#[test]
fn a_watch_ends_if_its_number_gets_another_plan() {
    // Given another ledger with a job 1, and a client that follows job 1
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(8, 2, 0);
    coordinator.stop();
    let other = farm.ledger().with_extension("other");
    fs::rename(farm.ledger(), &other).expect("it was closed");
    let coordinator = farm.serve(farm.coordinator().arg("--new"));
    farm.submit(12, 4, 0);
    let mut watch = watch(&farm);

    // When the coordinator comes back with the other ledger
    coordinator.kill();
    farm.remove_ledger();
    fs::rename(&other, farm.ledger()).expect("nobody has it open");
    let _coordinator = farm.start_coordinator();

    // Then the client does not take the new job for its own.
    assert_eq!(watch.wait().code(), Some(4), "{}", watch.said());
    assert!(watch.said().contains("job 1 is now total N=8"), "{}", watch.said());
}

#[test]
fn a_paused_job_rests_until_it_is_resumed() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);
    farm.client(&["pause", "1"]).success();

    // A job of lower priority is counted meanwhile.
    let _worker = farm.start_worker();
    farm.client(&["submit", "9", "--priority", "-1", "--wait"]).success();
    assert!(farm.client(&["jobs", "1"]).success().contains("state     paused"));

    assert_eq!(farm.client(&["resume", "1"]).success(), "job 1 is running\n");
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", testkit::vectors::total(10)));
}

#[test]
fn a_job_that_nobody_counts_waits_and_one_that_is_cancelled_waits_for_nothing() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.client(&["submit", "8", "--certified"]).success();
    let worker = farm.start_worker();
    let shown = || farm.client(&["jobs", "1"]).success();
    wait_until("all is counted once", || shown().contains("done      100.00%"));
    worker.stop();
    wait_until("nobody counts", || shown().contains("state     waits"));
    assert!(farm.client(&["jobs"]).success().contains("  waits  "));
    let job = farm.job(1);
    assert_eq!((&job["state"], &job["workers"]), (&"running".into(), &0.into()));
    assert!(job["waits_for"].is_string(), "programs read what people do: {job}");
    assert!(shown().contains("to be counted again"), "{}", shown());
    farm.client(&["cancel", "1"]).success();
    assert!(!shown().contains("again"), "{}", shown());
}

#[test]
fn a_job_gets_another_priority() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);
    farm.submit(11, 3, 0);
    let both = farm.client(&["priority", "1", "2", "7"]).success();
    assert_eq!(both, "job 1 has priority 7\njob 2 has priority 7\n");
    farm.client(&["priority", "7"]).refusal(2, &["queens priority -h"]);
    farm.client(&["priority", "1", "high"]).refusal(2, &["high"]);

    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let json = farm.client(&["jobs", "2", "--json"]).success();
    assert!(json.contains("\"priority\":7"), "{json}");
    farm.client(&["cancel", "2"]).success();
    assert_eq!(farm.client(&["priority", "1", "-5"]).success(), "job 1 has priority -5\n");
    farm.client(&["priority", "2", "1"]).refusal(4, &["job 2 is cancelled"]);
}

#[test]
fn a_cancelled_job_has_no_total() {
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);

    assert_eq!(farm.client(&["cancel", "1"]).success(), "job 1 is cancelled\n");
    assert_eq!(farm.client(&["cancel", "1"]).success(), "job 1 was cancelled before\n");
    coordinator.wait_for_line("state=cancelled");
    assert!(!coordinator.said().contains("total="), "{}", coordinator.said());

    let status = farm.client(&["jobs", "1"]).success();
    assert!(status.contains("submitted 20") && status.contains("ended     20"), "{status}");
    assert!(!farm.client(&["jobs"]).success().contains("DONE"), "it goes no further");

    farm.client(&["watch", "1"]).refusal(13, &["job 1", "cancelled", "queens submit"]);
    farm.client(&["resume", "1"]).refusal(4, &["job 1", "cancelled", "submit it again"]);
}

#[test]
fn an_unknown_job_is_refused() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();

    for command in ["jobs 7", "watch 7", "cancel 7", "pause 7", "resume 7", "priority 7 1"] {
        let args: Vec<&str> = command.split(' ').collect();
        farm.client(&args).refusal(4, &["no job 7", "queens jobs"]);
    }
    // Nobody counts the first job, which would be followed for ever.
    farm.submit(18, 2, 0);
    farm.client(&["watch", "1", "7"]).refusal(4, &["no job 7", "queens jobs"]);
}
