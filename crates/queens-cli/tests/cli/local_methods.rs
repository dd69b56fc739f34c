//! Tests of `queens count --method states` and `forced`, which this process counts alone.

use serde_json::Value;

use crate::support::Scratch;
use crate::support::process::{queens, run};

fn json(args: &[&str]) -> Value {
    let text = run(queens(args).arg("--json")).success();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn local_methods_print_only_the_total() {
    for method in ["states", "forced"] {
        for n in [0, 1, 2, 8, 10] {
            let output = run(&mut queens(&["count", &n.to_string(), "--method", method]));
            assert_eq!(output.success(), format!("{}\n", vectors::total(n)), "N = {n}, {method}");
        }
    }
}

#[test]
fn local_methods_report_their_work_as_json() {
    let forced = json(&["count", "8", "--method", "forced"]);
    assert_eq!((&forced["method"], &forced["total"]), (&"forced".into(), &"92".into()));
    assert_eq!([&forced["tries"], &forced["forced"], &forced["dead"]], [592, 622, 258]);
    assert_eq!([&forced["n"], &forced["threads"]], [8, 1]);

    let columns = json(&["count", "8", "--method", "forced-columns"]);
    assert_eq!([&columns["tries"], &columns["forced"]], [672, 762]);

    let states = json(&["count", "8", "--method", "states"]);
    assert_eq!((&states["method"], &states["total"]), (&"states".into(), &"92".into()));
    let rows = states["rows"].as_array().expect("one for each row");
    assert_eq!(rows.len(), 8);
    assert_eq!([&rows[0]["states"], &rows[0]["merged"]], [4, 4]);
    assert!(rows.iter().all(|row| row["bytes"].is_u64()), "{states}");
}

#[test]
fn statistics_are_a_table_beside_the_result() {
    let reported = |method: &str, args: &[&str]| {
        let outcome = run(&mut queens(&["count", "8", "--method", method, "--stats", "-q"]));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "92\n"));
        let said = outcome.stderr;
        assert!(args.iter().all(|word| said.contains(word)), "{said}");
        said.lines().count()
    };
    assert_eq!(reported("forced", &["tries", "592", "dead ends"]), 3);
    assert_eq!(reported("states", &["row", "states", "merged", "bytes"]), 10);
    // These are the distinct states of the source, which does not merge mirror images.
    let plain = ["count", "8", "--method", "states", "--no-mirror", "--stats", "-q"];
    let outcome = run(&mut queens(&plain));
    let column = outcome.stderr.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
    let states: Vec<&str> = column.collect();
    assert_eq!(states, ["8", "42", "140", "339", "538", "482", "224", "44", "1817"]);
    assert_eq!(outcome.success(), "92\n");
    run(&mut queens(&["count", "8", "--method", "forced", "--no-mirror"])).usage("--no-mirror");
}

#[test]
fn options_that_local_methods_lack_are_refused() {
    let refused = |args: &[&str], code, ways: &[&str]| run(&mut queens(args)).refusal(code, ways);
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
    let refused = |args: &[&str], code, ways: &[&str]| run(&mut queens(args)).refusal(code, ways);
    refused(&["plan", "3", "--problem", "fundamental", "--method", "unique"], 2, &["from 4 to 32"]);
    refused(&["plan", "8", "--method", "unique"], 2, &["makes no tasks"]);
    for option in [&["--tasks"][..], &["--seconds", "1"], &["--seed", "1"]] {
        refused(&[&plan, option].concat(), 2, &["on one thread", "leave out", option[0]]);
    }
}
