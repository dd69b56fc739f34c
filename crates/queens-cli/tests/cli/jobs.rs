//! Tests of jobs as clients see them: they are submitted, followed, paused and ended.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use farm::{JobId, JobSpec, LedgerCommand, Origin, Slice};
use ledger::CheckedLedger;
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;

use crate::access::connect;
use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::process::{Process, end_of, queens};

#[test]
fn submit_and_wait_prints_the_total() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];

    let total = farm.client(&["submit", "13", "--wait"]).success();

    assert_eq!(total, format!("{}\n", vectors::total(13)));
}

#[test]
fn all_of_several_sizes_are_submitted_or_none() {
    let farm = Farm::new("--max-jobs 5", "");
    let _coordinator = farm.start_coordinator();
    let is_empty = || farm.client(&["jobs", "--all", "--json"]).success().is_empty();
    farm.client(&["submit", "3..9", "--method", "halves"]).refusal(3, &["no other size"]);
    farm.client(&["submit", "9..20", "--rows", "3"]).refusal(3, &["5 jobs", "no other size"]);
    farm.client(&["submit", "30..33", "--rows", "2"]).refusal(3, &["size 33", "no other size"]);
    assert!(is_empty());

    // A job that existed before under its name stays.
    farm.client(&["submit", "10", "--name", "old-10"]).success();
    farm.client(&["submit", "10..15", "--name", "old"]).refusal(3, &["5 jobs"]);
    let left = farm.client(&["jobs", "--all", "--json"]).success();
    assert_eq!((left.lines().count(), left.contains("old-10")), (1, true), "{left}");
}

#[test]
fn a_watch_ends_with_its_reader_but_changes_do_not() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let unread = |args: &[&str]| {
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        let mut command = queens(args);
        command.env("QUEENS_COORDINATOR", farm.url()).stdout(writer).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        (command, child, reader)
    };
    let (command, child, reader) = unread(&["submit", "12..15", "--rows", "3"]);
    drop(reader);
    assert_eq!(end_of(&command, child).code, Some(0));
    // On Windows, the program notices the end of the reader only at its next write.
    if cfg!(unix) {
        // There is no worker, so there is nothing more to print.
        let (command, child, reader) = unread(&["watch", "1", "--json"]);
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).expect("a line");
        assert!(line.starts_with('{'), "{line}");
        let ended = end_of(&command, child);
        assert_eq!(ended.code, Some(141), "{}", ended.stderr);
    }

    let (command, child, reader) = unread(&["cancel", "1", "2", "3", "4"]);
    drop(reader);
    assert_eq!(end_of(&command, child).code, Some(0));
    let live = farm.client(&["jobs", "-n", "0", "--json"]).success();
    assert_eq!(live, "");
}

#[test]
fn a_small_submission_does_not_wait_for_a_large_one() {
    let guarded = Guarded::new();
    let (lab, _) = guarded.create("submitter", "lab");
    let _worker = guarded.start_worker("admin");
    // Given clients of another owner that submit plans, each of which takes seconds
    let (url, token) = (guarded.farm.url(), guarded.scratch.path(&lab));
    let large = |n| {
        let args = ["submit", n, "--method", "ring", "--width", "2", "--coordinator", &url];
        let mut command = queens(&args);
        command.arg("--token-file").arg(&token);
        Process::start(&mut command, guarded.farm.new_log())
    };
    let _large = ["30", "31", "32"].map(large);
    std::thread::sleep(Duration::from_millis(500));

    let begun = Instant::now();
    let total = guarded.client("admin", &["submit", "10", "--wait"]).success();

    assert_eq!(total, format!("{}\n", vectors::total(10)));
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
}

#[test]
fn jobs_beyond_the_bound_are_refused_until_one_ends() {
    let farm = Farm::new("--max-jobs 2", "");
    let _coordinator = farm.start_coordinator();
    let first = farm.submit(12, 3, 0).to_string();
    farm.submit(12, 3, 0);

    farm.client(&["submit", "12"]).refusal(3, &["2 jobs that have not ended", "cancel some"]);

    farm.client(&["cancel", &first]).success();
    farm.submit(12, 3, 0);
}

#[tokio::test]
async fn the_program_reads_all_pages_of_a_list() {
    // Given more jobs than one page has
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    coordinator.stop();
    let ledger = CheckedLedger::open(farm.ledger()).expect("it is sound");
    let plan = ledger.jobs()[0].spec.plan;
    let ledger = ledger.begin().expect("it opens");
    let create = |job| {
        let (job, origin, slice) = (JobId(job), Origin::default(), Slice::ALL);
        LedgerCommand::CreateJob {
            job,
            spec: JobSpec { origin, plan, slice, priority: 0 },
            audit: None,
        }
    };
    ledger.apply(&(2..=300).map(create).collect::<Vec<_>>()).expect("they are written");
    ledger.close().expect("it can be closed");
    let _coordinator = farm.start_coordinator();
    let mut jobs = ClientServiceClient::new(connect(&farm).await);

    let mut page = async |page_size, after, ended| {
        let page = jobs.list(v1::ListRequest { page_size, after, ended }).await;
        let v1::ListResponse { jobs, more } = page.expect("it is told").into_inner();
        (jobs.iter().map(|job| job.id).collect::<Vec<_>>(), more)
    };
    assert_eq!(page(0, 0, false).await, ((1..=256).collect(), true));
    assert_eq!(page(u32::MAX, 256, false).await, ((257..=300).collect(), false));
    assert_eq!(page(2, 298, false).await, (vec![299, 300], false));
    assert_eq!(page(2, 300, false).await, (vec![], false));

    farm.client(&["cancel", "2", "3", "4", "5", "6", "7", "8", "9", "299"]).success();
    assert_eq!(page(2, 0, false).await, (vec![1, 10], true), "those that have not ended");
    assert_eq!(page(0, 298, false).await, (vec![300], false));
    assert_eq!(page(2, 0, true).await, (vec![299, 9], true), "those that have, the newest first");
    assert_eq!(page(2, 4, true).await, (vec![3, 2], false));

    let listed = farm.client(&["jobs", "--json", "--all"]).success();
    assert_eq!(listed.lines().count(), 300);
    assert!(listed.lines().last().is_some_and(|line| line.contains("\"job\":300")), "{listed}");
}

#[test]
fn the_smallest_boards_are_jobs_too() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();

    for n in 0..=3 {
        let total = farm.client(&["submit", &n.to_string(), "--wait"]).success();
        assert_eq!(total, format!("{}\n", vectors::total(n)), "N = {n}");
    }
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
    let total = format!("\"total\":\"{}\"", vectors::total(12));
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
    // Given a client that follows job 1
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 4, 0);
    let mut watch = watch(&farm);

    // When the coordinator comes back with an empty ledger, and job 1 has another plan. The client
    // does not run before job 1 exists again.
    if cfg!(unix) {
        watch.signal("STOP");
    }
    coordinator.kill();
    farm.remove_ledger();
    let _coordinator = farm.start_coordinator();
    farm.submit(8, 2, 0);
    if cfg!(unix) {
        watch.signal("CONT");
    }

    // Then the client does not take the new job for its own.
    assert_eq!(watch.wait().code(), Some(4), "{}", watch.said());
    assert!(watch.said().contains("job 1 is now total N=8"), "{}", watch.said());
}

#[test]
fn a_paused_job_rests_until_it_is_resumed() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);
    assert_eq!(farm.client(&["pause", "1"]).success(), "job 1 is paused\n");

    // A job of lower priority is counted meanwhile.
    let _worker = farm.start_worker();
    farm.client(&["submit", "9", "--priority", "-1", "--wait"]).success();
    assert!(farm.client(&["jobs", "1"]).success().contains("state     paused"));

    assert_eq!(farm.client(&["resume", "1"]).success(), "job 1 is running\n");
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
}

#[test]
fn a_job_gets_another_priority() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);
    farm.submit(11, 3, 0);
    assert_eq!(farm.client(&["priority", "2", "-5"]).success(), "job 2 has priority -5\n");
    let both = farm.client(&["priority", "1", "2", "7"]).success();
    assert_eq!(both, "job 1 has priority 7\njob 2 has priority 7\n");
    farm.client(&["priority", "3", "7"]).refusal(4, &["no job 3"]);
    farm.client(&["priority", "7"]).refusal(2, &["queens priority -h"]);
    farm.client(&["priority", "1", "high"]).refusal(2, &["high"]);

    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let json = farm.client(&["jobs", "2", "--json"]).success();
    assert!(json.contains("\"priority\":7"), "{json}");
    farm.client(&["cancel", "2"]).success();
    farm.client(&["priority", "2", "1"]).refusal(4, &["job 2 is cancelled"]);
}

#[test]
fn a_cancelled_job_has_no_total() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);

    assert_eq!(farm.client(&["cancel", "1"]).success(), "job 1 is cancelled\n");
    assert_eq!(farm.client(&["cancel", "1"]).success(), "job 1 is cancelled\n");

    let status = farm.client(&["jobs", "1"]).success();
    assert!(status.contains("submitted 20") && status.contains("ended     20"), "{status}");

    farm.client(&["watch", "1"]).refusal(13, &["job 1", "cancelled", "queens submit"]);
    farm.client(&["resume", "1"]).refusal(4, &["job 1", "cancelled", "submit it again"]);
}

#[test]
fn an_unknown_job_is_refused() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();

    for command in ["jobs", "watch", "cancel", "pause", "resume"] {
        farm.client(&[command, "7"]).refusal(4, &["no job 7", "queens jobs"]);
    }
}

#[test]
fn the_coordinator_refuses_an_impossible_plan() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();

    farm.client(&["submit", "33"]).refusal(3, &["33", "at most 32"]);
    farm.client(&["submit", "5", "--rows", "6"]).refusal(3, &["place at most 5"]);
    farm.client(&["submit", "32", "--rows", "20"]).refusal(3, &["place 6 rows"]);
    assert_eq!(farm.client(&["jobs", "--json"]).success(), "");
}
