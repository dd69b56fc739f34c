//! Tests of `queens count --method states` and `forced`, which this process counts alone.

use serde_json::Value;

use crate::support::Scratch;
use crate::support::process::{queens, run};

fn refused(args: &[&str], code: i32, ways: &[&str]) {
    run(&mut queens(args)).refusal(code, ways);
}

fn json(args: &[&str]) -> Value {
    crate::object(&run(queens(args).arg("--json")).success())
}

#[test]
fn local_methods_report_their_work_as_json() {
    let forced = json(&["count", "8", "--method", "forced"]);
    assert_eq!((&forced["method"], &forced["total"]), (&"forced".into(), &"92".into()));
    assert_eq!([&forced["tries"], &forced["forced"], &forced["dead"]], [592, 622, 258]);

    let states = json(&["count", "8", "--method", "states"]);
    assert_eq!((&states["method"], &states["total"]), (&"states".into(), &"92".into()));
    assert_eq!(states["by_row"].as_array().map(Vec::len), Some(8));
    assert_eq!([&states["by_row"][0]["states"], &states["by_row"][0]["merged"]], [4, 4]);
}

#[test]
fn statistics_are_a_table_beside_the_result() {
    // The last of these tables has the states of the source, which does not merge mirror images.
    for (options, lines, words) in [
        (&["forced"][..], 3, &["tries", "592", "dead ends"][..]),
        (&["states"], 10, &["row", "states", "merged", "bytes"]),
        (&["states", "--no-mirror"], 10, &["339", "538", "482", "1817"]),
    ] {
        let outcome = run(queens(&["count", "8", "--stats", "-q", "--method"]).args(options));
        let table = outcome.stderr.clone();
        assert_eq!(outcome.success(), "92\n");
        assert!(words.iter().all(|word| table.contains(word)), "{table}");
        assert_eq!(table.lines().count(), lines, "{table}");
    }
    run(&mut queens(&["count", "8", "--method", "forced", "--no-mirror"])).usage("--no-mirror");
}

#[test]
fn options_that_local_methods_lack_are_refused() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    let path = ledger.to_str().expect("a plain path");

    refused(&["count", "33", "--method", "states"], 3, &["at most 32"]);
    refused(&["count", "13", "--method", "states", "--memory", "1MiB"], 3, &["bytes", "--memory"]);
    refused(&["count", "8", "--method", "states", "--ledger", path], 2, &["--ledger"]);
    refused(&["count", "8", "--method", "forced", "--rows", "2"], 2, &["leave out --rows"]);
    refused(&["count", "8", "--stats"], 2, &["--stats", "states or forced"]);
    refused(&["submit", "8", "--method", "states"], 2, &["queens count N --method states"]);
    refused(&["plan", "8", "--method", "forced"], 2, &["queens count N --method forced"]);
    assert!(!ledger.exists(), "nothing is left behind");
}

#[test]
fn a_plan_shows_the_jobs_of_the_direct_search() {
    let plan = ["plan", "10", "--problem", "fundamental", "--method", "unique"];
    let planned = json(&plan);
    assert_eq!((&planned["jobs"], &planned["total"]), (&29.into(), &"724".into()));
    assert_eq!(planned["jobs_by_first"], serde_json::json!([7, 7, 5, 5, 5]));
    let reported = run(&mut queens(&plan)).success();
    for args in ["29 by the queens", "7 with a queen in the corner", "724"] {
        assert!(reported.contains(args), "{args}: {reported}");
    }
    refused(&["plan", "3", "--problem", "fundamental", "--method", "unique"], 2, &["from 4 to 32"]);
    refused(&["plan", "8", "--method", "unique"], 2, &["makes no tasks"]);
    for option in [&["--tasks"][..], &["--seconds", "1"], &["--seed", "1"]] {
        refused(&[&plan, option].concat(), 2, &["on one thread", "leave out", option[0]]);
    }
}
