//! Tests of workers that leave by themselves or at a signal.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::object;
use crate::support::Farm;
use crate::support::process::{Process, behind, queens, queens_at_a_terminal, run, wait_until};

/// A board that takes much longer to count than any worker here runs.
const ENDLESS: u32 = 18;

#[test]
fn a_worker_without_work_leaves_after_a_while() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    // The job exists before the worker starts, because a slow machine takes longer to submit it
    // than the worker waits.
    let job = farm.client(&["submit", "10"]).success();
    let mut worker = farm.start_worker_with("--exit-when-idle 500ms");
    farm.client(&["watch", job.trim()]).total(10);

    assert_eq!(worker.wait().code(), Some(0), "{}", worker.said());
    assert!(worker.said().contains("nothing to do"), "{}", worker.said());
}

#[test]
fn a_worker_without_a_coordinator_gives_up() {
    let farm = Farm::new("", "");
    for other in [["--exit-when-idle", "1ms"], ["--time-limit", "100000000years"]] {
        let args = [&["worker", "--give-up-after", "300ms", "--log", "error"], &other[..]].concat();
        farm.client(&args).refusal(5, &["--give-up-after", &farm.address(), "counted again"]);
    }
    for option in ["--exit-when-idle", "--time-limit", "--give-up-after"] {
        run(&mut queens(&["worker", option, "soon"])).usage(option);
    }
}

#[test]
fn a_worker_returns_its_tasks_before_its_time_limit_or_the_end_of_its_slurm_job() {
    // Given leases as long as the job, and two workers with eight seconds each
    let farm = Farm::new("--lease-ms 600000 --lease-ttl-ms 3600000", "--report-ms 50");
    let _coordinator = farm.start_coordinator();
    let job = farm.submit(ENDLESS, 5, 0);
    let begun = Instant::now();
    let by_option = farm.start_worker_with("--time-limit 8s");
    let (mut of_slurm, log) = farm.worker(&["--coordinator", &farm.url()]);
    of_slurm.env("SLURM_JOB_END_TIME", (ledger::unix_ms() / 1_000 + 8).to_string());

    // When they have left
    for mut worker in [by_option, Process::start(&mut of_slurm, log)] {
        assert_eq!(worker.wait().code(), Some(0), "{}", worker.said());
        assert!(worker.said().contains("the time limit is near"), "{}", worker.said());
    }

    // Then they have left in time, even on a busy machine, and their counts are in the ledger.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let counted = farm.snapshot().jobs[&job].accepted().len();
    assert!(counted > 100, "it has counted");
}

#[test]
fn a_slurm_job_without_an_end_does_not_limit_its_worker() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    // Slurm's numbers for no limit and for an unknown one, and what is no time at all.
    for none in ["4294967295", "4294967294", "0", "UNLIMITED", ""] {
        let (mut command, log) = farm.worker(&["--coordinator", &farm.url()]);
        command.env("SLURM_JOB_END_TIME", none);
        let mut worker = Process::start(&mut command, log);
        worker.wait_for_line("welcomes this worker");
        let said = worker.said();
        assert!(!said.contains("time is limited") && !said.contains("limit is near"), "{said}");
        worker.stop();
    }
}

#[test]
fn a_worker_that_ignores_hangups_outlives_its_terminal() {
    let farm = Farm::new("", "");
    let worker = queens(&["worker", "--coordinator", &farm.url()]);
    let mut worker = Process::start(&mut behind(&["nohup"], &worker), farm.new_log());
    worker.wait_for_line("no coordinator");
    worker.signal("HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(worker.is_running());
    worker.stop();
}

#[test]
fn signals_of_batch_systems_make_a_worker_return_its_tasks() {
    let farm = Farm::new("--lease-ms 600000 --lease-ttl-ms 3600000", "--report-ms 50");
    let mut coordinator = farm.start_coordinator();
    farm.submit(ENDLESS, 5, 0);
    for signal in ["HUP", "USR1", "INT", "TERM"] {
        let args = ["worker", "--threads", "1", "--name", signal, "--coordinator", &farm.url()];
        let mut command = queens_at_a_terminal(&args);
        let mut worker = Process::start(&mut command, farm.new_log());
        // The worker before this one may be shown for another second.
        wait_until("a lease", || {
            let listed = farm.client(&["workers", "--json"]).success();
            let holds = |worker: Value| worker["worker"] == signal && worker["tasks"] != 0;
            listed.lines().map(object).any(holds)
        });

        worker.signal(signal);

        assert_eq!(worker.wait().code(), Some(0), "{signal}: {}", worker.said());
        assert!(worker.said().contains("asked to stop: handing back"), "{}", worker.said());
        coordinator.wait_for_line(&format!("worker={signal:?} reason=None"));
    }
}

#[test]
fn a_second_signal_ends_a_worker_at_once() {
    // Given a worker whose last reports are not acknowledged
    let farm = Farm::new("", "--report-ms 50");
    let coordinator = farm.start_coordinator();
    farm.submit(ENDLESS, 5, 0);
    let mut worker = farm.start_worker();
    worker.wait_for_line("acknowledged");
    coordinator.signal("STOP");
    worker.signal("TERM");
    worker.wait_for_line("asked to stop");
    std::thread::sleep(Duration::from_millis(700));

    let begun = Instant::now();
    worker.signal("TERM");

    assert_eq!(worker.wait().code(), Some(130), "{}", worker.said());
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}
