//! Counts that are committed to, and audits that a public value draws.

use std::fs;

use serde_json::Value;

use crate::support::process::{Outcome, queens, run};
use crate::support::{Farm, Scratch};

const VALUE: &str = "4f2c9a71";

fn json(outcome: Outcome) -> Value {
    serde_json::from_str(&outcome.success()).expect("it is JSON")
}

#[test]
fn a_stranger_sees_what_was_committed_to_and_what_a_beacon_drew_from_it() {
    let farm = Farm::new("", "--report-ms 0");
    let scratch = Scratch::new();
    let _coordinator = farm.start_coordinator();
    let job = farm.submit(10, 3, 0).to_string();
    let drawn = ["audit", &job, "--beacon", VALUE, "--fraction", "0.5"];
    farm.client(&["commit", &job]).refusal(4, &["running", "wait for its end"]);
    farm.client(&drawn).refusal(4, &["nobody has committed", "queens commit 1"]);
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["watch", &job]).success();
    farm.client(&drawn).refusal(4, &["nobody has committed", "queens commit 1"]);

    // Whoever commits twice gets the same root, and it is what to publish: nothing else is printed.
    let root = farm.client(&["commit", &job]).success();
    assert_eq!(farm.client(&["commit", &job]).success(), root);
    let root = root.trim();
    assert_eq!(root.len(), 64, "{root}");
    let shown = json(farm.client(&["jobs", &job, "--json"]));
    assert_eq!(shown["committed_root"], *root);
    farm.client(&["commit", "7"]).refusal(4, &["there is no job 7"]);
    for value in ["", "two words", "zwölf"] {
        let words = ["audit", &job, "--beacon", value];
        farm.client(&words).refusal(2, &["1 to 128 visible ASCII characters"]);
    }
    farm.client(&["audit", &job, "--beacon", VALUE, "--seed", "7"]).refusal(2, &["--seed"]);

    let said = farm.client(&drawn).success();
    assert!(
        said.contains(&format!("drawn by the beacon {VALUE} from the counts {root}")),
        "{said}"
    );
    farm.client(&["watch", &job]).success();
    let shown = json(farm.client(&["jobs", &job, "--json"]));
    assert_eq!((&shown["audit_beacon"], &shown["audit_root"]), (&VALUE.into(), &root.into()));

    let bundle = scratch.path("ten.bundle").display().to_string();
    farm.client(&["export", &job, &bundle]).success();
    let verify = |file: &str| run(&mut queens(&["verify", file, "--all", "--json"]));
    let told = json(verify(&bundle));
    let commitments = told["commitments"].as_array().expect("a list");
    let [commitment] = &commitments[..] else { panic!("{told}") };
    assert_eq!((&commitment["root"], &commitment["holds"]), (&root.into(), &true.into()));
    let policy = &told["policies"][0];
    assert_eq!((&policy["beacon"]["root"], &policy["share"]), (&root.into(), &0.5.into()));
    let text = run(&mut queens(&["verify", &bundle, "--seconds", "1", "--seed", "1"])).success();
    assert!(text.contains(&format!("committed as {root} at 20")), "{text}");
    assert!(text.contains("to these counts, and nothing was changed since"), "{text}");
    assert!(text.contains(&format!("drawn by the beacon {VALUE}")), "{text}");
    let drawn = policy["ranges_drawn"].as_u64().expect("a number");
    assert!(drawn > 0, "{policy}");
    assert_eq!(policy["ranges_counted_twice"], drawn);
    let words = format!("committed to as {root}: {drawn} ranges with ");
    assert!(text.contains(&words), "{text}");
    assert!(
        text.contains(&format!("% of the tasks, {drawn} of these ranges counted twice")),
        "{text}"
    );

    // A value that suits the prover better is not the one that was drawn by.
    let forged = scratch.path("forged.bundle").display().to_string();
    let text = fs::read_to_string(&bundle).expect("it is there");
    fs::write(&forged, text.replacen(VALUE, "4f2c9a72", 1)).expect("it can be written");
    verify(&forged).refusal(16, &["not what was committed to"]);
}
