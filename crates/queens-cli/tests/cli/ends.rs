//! Tests of what `submit` waits for before it submits, and does when a job has ended.

use crate::support::Farm;
use crate::support::process::{Process, queens};

#[test]
fn a_submission_waits_for_as_many_workers_as_it_asks_for() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _first = farm.start_worker();
    let submit = ["submit", "8", "--wait", "--wait-for-workers", "2", "--coordinator", &farm.url()];
    let mut submit = Process::start(&mut queens(&submit), farm.new_log());
    submit.wait_for_line("waiting for workers: 1 of 2 connected; `queens worker --coordinator");
    assert_eq!(farm.client(&["jobs", "--json"]).success(), "", "nothing is submitted yet");

    let _second = farm.start_worker();

    assert_eq!(submit.wait().code(), Some(0), "{}", submit.said());
    let total = testkit::vectors::total(8).to_string();
    assert!(submit.said().lines().any(|line| line == total), "{}", submit.said());
    farm.client(&["submit", "8", "--wait-for-workers", "0"]).usage("--wait-for-workers");
}

#[cfg(unix)]
#[test]
fn a_command_is_run_at_the_end_of_each_job_and_decides_nothing() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    let totals = [6, 7].map(testkit::vectors::total);
    let submit = |n: &str, command: &[&str]| {
        farm.client(&[&["submit", n, "--wait", "--quiet", "--on-end"], command].concat())
    };

    // It has the job in variables and its own arguments, no shell reads them, and what it prints is
    // not taken for the total.
    let says = r#"echo "$0 $1 $QUEENS_JOB_ID $QUEENS_JOB_STATE $QUEENS_JOB_TOTAL""#;
    let ended = submit("6..7", &["sh", "-c", says, "--given", "*"]);
    assert_eq!(ended.stdout, format!("1 {}\n2 {}\n", totals[0], totals[1]));
    for (job, total) in [1, 2].into_iter().zip(totals) {
        let line = format!("--given * {job} done {total}");
        assert!(ended.stderr.lines().any(|it| it == line), "{}", ended.stderr);
    }

    // If it fails or is missing, a line says so, and the job has its total all the same.
    for (command, fault) in [
        (&["false"][..], "false, the command at the end of job 3, failed: exit status: 1"),
        (&["/there/is/none"], "/there/is/none, the command at the end of job 4, cannot be run: "),
    ] {
        let ended = submit("8", command);
        let lines = ended.stderr.lines().filter(|line| line.starts_with(fault)).count();
        assert_eq!(lines, 1, "{}", ended.stderr);
        ended.total(8);
    }

    // A job without a total has its own exit code.
    let args = ["submit", "18", "--wait", "--quiet", "--on-end", "sh", "-c", says];
    let mut submit = queens(&args);
    let log = farm.new_log();
    let mut submit = Process::start(submit.env("QUEENS_COORDINATOR", farm.url()), log);
    submit.wait_for_line("job 5: ");
    farm.client(&["cancel", "5"]).success();
    assert_eq!(submit.wait().code(), Some(13), "{}", submit.said());
    assert!(submit.said().contains(" 5 cancelled \n"), "{}", submit.said());

    farm.client(&["submit", "8", "--on-end", "true"]).usage("--wait");
}
