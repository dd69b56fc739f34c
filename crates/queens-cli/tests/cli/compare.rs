//! Tests `queens compare`: all algorithms agree, and each omission is reported.

use serde_json::Value;

use crate::support::process::{Outcome, queens, run};

const ALL: [&str; 21] = [
    "combinations",
    "rooks",
    "permutations-all",
    "direct",
    "arrays",
    "stack",
    "permutations",
    "masks",
    "mirror",
    "flip",
    "mirror-flip",
    "unique",
    "forced-columns",
    "forced",
    "states",
    "rows-reference",
    "ring-reference",
    "halves-reference",
    "rows",
    "ring",
    "halves",
];

fn compare(args: &[&str]) -> Outcome {
    run(queens(&["compare"]).args(args))
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn all_algorithms_count_the_same_boards() {
    let lines = objects(&compare(&["4..7", "--seconds", "60", "--json"]).success());
    assert_eq!(lines.len(), 4 * ALL.len());
    for (line, place) in lines.iter().zip(0..) {
        let n = 4 + place / ALL.len() as u32;
        assert_eq!(
            (&line["n"], &line["algorithm"]),
            (&n.into(), &ALL[place as usize % ALL.len()].into())
        );
        assert_eq!(line["total"], vectors::total(n).to_string(), "{line}");
        assert!(line["seconds"].is_f64() && line["left_out"].is_null(), "{line}");
    }
    let args = ["8", "--algorithms", "rooks,arrays,mirror,halves,combinations", "--json"];
    let eight = objects(&compare(&args).success());
    let nodes: Vec<&Value> = eight.iter().map(|line| &line["nodes"]).collect();
    let null = Value::Null;
    assert_eq!(nodes, [&16_777_216.into(), &2056.into(), &1028.into(), &null, &null]);
    assert_eq!(eight[4]["left_out"], "left out without --all");
}

#[test]
fn the_table_has_a_line_for_each_count_and_each_omission() {
    let text = compare(&["3"]).success();
    let (head, lines) = text.split_once('\n').expect("a head");
    assert!(head.contains("algorithm") && head.contains("nodes/solution"), "{text}");
    assert_eq!(lines.lines().count(), ALL.len());
    let halves = lines.lines().find(|line| line.contains("halves ")).expect("it is there");
    assert!(halves.ends_with("no such cut"), "{text}");

    let small = ["--algorithms", "direct,masks", "--json"];
    let slow =
        objects(&compare(&[["7..8", "--seconds", "0"].as_slice(), &small].concat()).success());
    let reasons = slow.iter().map(|line| line["left_out"].clone()).collect::<Vec<_>>();
    let out = Value::from("left out by --seconds");
    assert_eq!(reasons, [Value::Null, Value::Null, out.clone(), out]);

    let large = objects(&compare(&["17", "--algorithms", "direct,states", "--json"]).success());
    assert!(large.iter().all(|line| line["left_out"] == "left out without --all"), "{large:?}");
    let args = ["12", "--algorithms", "states", "--memory", "1MiB", "--all", "--json"];
    assert_eq!(objects(&compare(&args).success())[0]["left_out"], "left out by --memory");
}

#[test]
fn wrong_arguments_are_refused() {
    for wrong in ["9..8", "33", "8..33", "8-9", "eight"] {
        compare(&[wrong]).usage("<N>");
    }
    compare(&["8", "--algorithms", "fastest"]).usage("--algorithms");
    compare(&["8", "--seconds=-1"]).usage("--seconds");
}
