//! Tests `queens compare`: all algorithms agree, and each omission is reported.

use literature::compare::Algorithm;
use serde_json::Value;

use crate::support::process::{Outcome, queens, run};

fn compare(args: &[&str]) -> Outcome {
    run(queens(&["compare"]).args(args))
}

/// The objects that a comparison with these arguments prints.
fn objects(args: &[&str]) -> Vec<Value> {
    let text = compare(&[args, &["--json"]].concat()).success();
    text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn each_algorithm_has_a_line_with_its_total_and_nodes() {
    let lines = objects(&["5..6", "--seconds", "60s"]);
    let boards = [5, 6].into_iter().flat_map(|n| Algorithm::ALL.map(|algorithm| (n, algorithm)));
    assert_eq!(lines.len(), 2 * Algorithm::ALL.len());
    for (line, (n, algorithm)) in lines.iter().zip(boards) {
        assert_eq!((&line["n"], &line["algorithm"]), (&n.into(), &algorithm.name().into()));
        assert_eq!(line["total"], vectors::total(n).to_string(), "{line}");
        assert!(line["seconds"].is_f64() && line["left_out"].is_null(), "{line}");
    }
    let eight = objects(&["8", "--algorithms", "rooks,arrays,mirror,halves"]);
    let nodes: Vec<&Value> = eight.iter().map(|line| &line["nodes"]).collect();
    assert_eq!(nodes, [&16_777_216.into(), &2056.into(), &1028.into(), &Value::Null]);

    let table = compare(&["3"]).success();
    let (head, lines) = table.split_once('\n').expect("a head");
    assert!(head.contains("algorithm") && head.contains("nodes/solution"), "{table}");
    assert_eq!(lines.lines().count(), Algorithm::ALL.len());
    let halves = lines.lines().find(|line| line.contains("halves ")).expect("it is there");
    assert!(halves.ends_with("no such cut"), "{table}");
}

#[test]
fn each_omission_has_its_reason() {
    for (args, reason) in [
        ("17 --algorithms direct", "left out without --all"),
        ("7..8 --algorithms masks --seconds 0", "left out by --seconds"),
        ("12 --algorithms states --memory 1MiB --all", "left out by --memory"),
    ] {
        let lines = objects(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(lines.last().expect("a line")["left_out"], reason, "{args}");
    }
    compare(&["8", "--algorithms", "fastest"]).usage("--algorithms");
    compare(&["8", "--seconds=-1"]).usage("--seconds");
}
