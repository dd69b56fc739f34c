//! Tests of jobs that are removed.

use crate::support::Farm;
use crate::support::process::{queens, run};

#[test]
fn a_removed_job_is_gone_and_its_number_is_not_reused() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    farm.client(&["submit", "8", "--wait"]).success();
    worker.stop();
    let running = farm.submit(12, 2, 0).to_string();

    farm.client(&["jobs", "rm", &running]).refusal(4, &["is running", "cancel it first"]);
    farm.client(&["cancel", &running]).success();
    let said = farm.client(&["jobs", "rm", "1", &running]).success();
    assert!(said.contains(&format!("done, total {}", vectors::total(8))), "{said}");
    assert!(said.contains("job 2 is removed: total N=12"), "{said}");
    farm.client(&["jobs", "rm", "1"]).refusal(4, &["there is no job 1"]);
    farm.client(&["jobs", "1"]).refusal(4, &["there is no job 1"]);
    assert!(coordinator.said().contains("job removed"), "{}", coordinator.said());
    coordinator.stop();

    let _coordinator = farm.start_coordinator();
    assert_eq!(farm.client(&["jobs", "--all", "--json"]).success(), "");
    assert_eq!(farm.submit(8, 2, 0), 3);
    let scrub = run(queens(&["scrub"]).arg(farm.ledger())).success();
    assert!(scrub.contains("1 job, 0 accepted ranges"), "{scrub}");
}
