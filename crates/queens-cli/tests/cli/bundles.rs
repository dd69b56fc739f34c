//! Tests of bundles over the network: everyone who may read a job may export its evidence.

use std::fs;

use serde_json::Value;

use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

/// This follows task counts from the counting thread to a stranger's verifier, through workers, the
/// coordinator and its ledger.
#[test]
fn the_evidence_of_a_farm_has_task_counts_of_halves() {
    // Given a certified job of a coordinator that was killed since
    let farm = Farm::new("", "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "11", "--method", "halves", "--certified", "--wait"]).success();
    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let scratch = Scratch::new();
    let [far, small, near] = ["far", "small.gz", "near"].map(|name| scratch.path(name));
    let [far, small, near] = [&far, &small, &near].map(|path| path.to_str().expect("it is text"));

    let said = farm.client(&["export", "1", far]).success();
    farm.client(&["export", "1", small]).success();

    // Then the bundles hold, and have the counts of all tasks.
    assert!(said.contains("ranges") && said.contains("name"), "{said}");
    for bundle in [far, small] {
        let verified = run(&mut queens(&["verify", bundle, "--all"]));
        assert!(verified.stderr.starts_with("counts every range again"), "{}", verified.stderr);
        let text = verified.success();
        assert!(text.starts_with(&format!("total     {}", vectors::total(11))), "{text}");
        assert!(text.contains("\ntasks     "), "{text}");
    }
    let exact = run(&mut queens(&["verify", far, "--all", "--json"])).success();
    let exact: Value = serde_json::from_str(&exact).expect("it is JSON");
    let tasks = farm.snapshot().jobs[&1].tasks;
    assert_eq!((&exact["tasks_reported"], &exact["is_exact"]), (&tasks.into(), &true.into()));
    let sampled = run(&mut queens(&["verify", far, "--seconds", "2m"])).stderr;
    assert!(sampled.contains("for 2m 00s at most (--seconds), on "), "{sampled}");
    // A verifier that cannot count says nothing against the bundle.
    let small = run(&mut queens(&["verify", far, "--memory", "1KiB"]));
    assert_eq!((small.code, small.stdout.as_str()), (Some(3), ""), "{}", small.stderr);
    assert!(small.stderr.contains("allow more with --memory"), "{}", small.stderr);

    // The lines are the same as from the ledger itself. Only the time in the header differs.
    run(queens(&["export", "1", near, "--ledger"]).arg(farm.ledger())).success();
    let lines = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(path).expect("it is there");
        text.lines().skip(1).map(String::from).collect()
    };
    assert_eq!(lines(far), lines(near));
    farm.client(&["export", "1", far]).refusal(10, &["is there already"]);
    farm.client(&["export", "7", "other"]).refusal(4, &["no job 7"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_bundle_that_the_system_cannot_read_is_not_said_to_be_wrong() {
    // It is a file, and its first page is not mapped.
    let unreadable = run(&mut queens(&["verify", "/proc/self/mem"]));
    unreadable.refusal(2, &["cannot read the bundle /proc/self/mem"]);
}
