//! Tests of bundles over the network: everyone who may read a job may export its evidence.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::guarded::Guarded;
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

#[test]
fn a_viewer_of_a_job_can_export_its_evidence() {
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    farm.client(&["submit", "11", "--wait"]).success();
    let scratch = Scratch::new();
    let [far, small, near] = ["far", "small.gz", "near"].map(|name| scratch.path(name));
    let [far, small, near] = [&far, &small, &near].map(|path| path.to_str().expect("it is text"));

    let said = farm.client(&["export", "1", far]).success();

    assert!(said.contains("ranges") && said.contains("name"), "{said}");
    farm.client(&["export", "1", small]).success();
    for bundle in [far, small] {
        let verified = run(&mut queens(&["verify", bundle, "--all"]));
        assert!(verified.stderr.starts_with("counts every range again"), "{}", verified.stderr);
        let sampled = run(&mut queens(&["verify", bundle, "--seconds", "2m"]));
        assert!(
            sampled.stderr.contains("for 2m 00s at most (--seconds), on "),
            "{}",
            sampled.stderr
        );
        let verified = verified.success();
        assert!(verified.starts_with(&format!("total     {}", vectors::total(11))), "{verified}");
    }
    // The lines are the same as from the ledger itself. Only the time in the header differs.
    run(queens(&["export", "1", near, "--ledger"]).arg(farm.ledger())).success();
    let lines = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(path).expect("it is there");
        text.lines().skip(1).map(String::from).collect()
    };
    assert_eq!(lines(far), lines(near));
    farm.client(&["export", "1", far]).refusal(10, &["exists"]);
    farm.client(&["export", "7", "other"]).refusal(4, &["no job 7"]);
}

/// This follows task counts from the counting thread to a stranger's verifier, through workers, the
/// coordinator and its ledger.
#[test]
fn the_evidence_of_a_farm_has_task_counts_of_halves() {
    let farm = Farm::new("", "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "11", "--method", "halves", "--certified", "--wait"]).success();
    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let scratch = Scratch::new();
    let bundle = scratch.path("bundle");
    let bundle = bundle.to_str().expect("it is text");
    farm.client(&["export", "1", bundle]).success();
    let verified = run(&mut queens(&["verify", bundle, "--all", "--json"])).success();
    let verified: Value = serde_json::from_str(&verified).expect("it is JSON");
    let status = farm.client(&["jobs", "1", "--json"]).success();
    let status: Value = serde_json::from_str(&status).expect("it is JSON");
    assert_eq!(
        (&verified["tasks_reported"], &verified["is_exact"]),
        (&status["tasks"], &true.into())
    );
    let text = run(&mut queens(&["verify", bundle, "--all"])).success();
    assert!(text.contains("\ntasks     "), "{text}");
    // A verifier that cannot count says nothing against the bundle.
    let small = run(&mut queens(&["verify", bundle, "--memory", "1KiB"]));
    assert_eq!((small.code, small.stdout.as_str()), (Some(3), ""), "{}", small.stderr);
    assert!(small.stderr.contains("allow more with --memory"), "{}", small.stderr);
}

#[test]
#[cfg(target_os = "linux")]
fn a_bundle_that_the_system_cannot_read_is_not_said_to_be_wrong() {
    // It is a file, and its first page is not mapped.
    let unreadable = run(&mut queens(&["verify", "/proc/self/mem"]));
    unreadable.refusal(2, &["cannot read the bundle /proc/self/mem"]);
}

#[test]
fn a_worker_credential_cannot_export() {
    let guarded = Guarded::new();
    let (viewer, _) = guarded.create("viewer", "lab");
    let (worker, _) = guarded.create("worker", "lab");
    guarded.client("admin", &["submit", "12"]).success();
    let scratch = Scratch::new();
    let [mine, none] = ["mine", "none"].map(|name| scratch.path(name).display().to_string());

    guarded.client(&viewer, &["export", "1", &mine]).success();

    guarded.client(&worker, &["export", "1", &none]).refusal(6, &["worker"]);
    assert!(!Path::new(&none).exists(), "a refusal leaves nothing behind");
    let unfinished = run(&mut queens(&["verify", &mine, "--seed", "1"]));
    assert_eq!(unfinished.code, Some(13), "{}", unfinished.stderr);
    assert!(
        unfinished.stdout.starts_with("unfinished: the job is running"),
        "{}",
        unfinished.stdout
    );
}
