//! Tests of `queens compare` and `queens reproduce`: the algorithms and the figures of the
//! literature.

use literature::compare::Algorithm;
use literature::sources::figures;
use serde_json::Value;

use crate::support::Scratch;
use crate::support::process::{Outcome, queens, run};

fn compare(args: &[&str]) -> Outcome {
    run(queens(&["compare"]).args(args))
}

/// The objects that a comparison with these arguments prints.
fn objects(args: &[&str]) -> Vec<Value> {
    let text = compare(&[args, &["--json"]].concat()).success();
    text.lines().map(crate::object).collect()
}

#[test]
fn each_algorithm_has_a_line_with_its_total_and_nodes() {
    let lines = objects(&["4..5", "--seconds", "60s"]);
    let boards = [4, 5].into_iter().flat_map(|n| Algorithm::ALL.map(|algorithm| (n, algorithm)));
    assert_eq!(lines.len(), 2 * Algorithm::ALL.len());
    for (line, (n, algorithm)) in lines.iter().zip(boards) {
        assert_eq!((&line["n"], &line["algorithm"]), (&n.into(), &algorithm.name.into()));
        assert_eq!(line["total"], testkit::vectors::total(n).to_string(), "{line}");
        assert!(line["seconds"].is_f64() && line["left_out"].is_null(), "{line}");
    }
    let eight = objects(&["8", "--algorithms", "arrays,colours"]);
    let nodes: Vec<&Value> = eight.iter().map(|line| &line["nodes"]).collect();
    assert_eq!(nodes, [&2056.into(), &Value::Null]);

    let table = compare(&["3"]).success();
    let (head, lines) = table.split_once('\n').expect("a head");
    assert!(head.contains("algorithm") && head.contains("nodes/solution"), "{table}");
    assert_eq!(lines.lines().count(), Algorithm::ALL.len());
    let line = lines.lines().find(|line| line.contains("colours ")).expect("it is there");
    assert!(line.ends_with("no such cut"), "{table}");
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

#[test]
fn every_quick_exact_figure_agrees_or_has_a_reason() {
    let lines = run(&mut queens(&["reproduce", "--quick", "--json"])).success();
    let lines: Vec<_> = lines.lines().map(crate::object).collect();
    let quick = figures().iter().filter(|figure| !figure.slow);
    assert_eq!(lines.len(), quick.clone().count());
    for (line, figure) in lines.iter().zip(quick) {
        assert_eq!(line["figure"], figure.name);
        let is_exact = figure.within.is_none();
        assert_eq!(line["exact"], is_exact);
        let verdict = line["verdict"].as_str().expect("a verdict");
        if is_exact && figure.ours.is_none() {
            assert_eq!(verdict, "agrees", "{line}");
        }
        assert!(verdict == "agrees" || line["reason"].is_string(), "{line}");
    }
}

#[test]
fn one_subject_is_written_as_a_table() {
    let outcome = run(&mut queens(&["reproduce", "--only", "forced,list/87"]));
    assert!(
        outcome.stderr.contains("8 figures: 7 agree, 1 differ for a known reason"),
        "{}",
        outcome.stderr
    );
    let table = outcome.success();
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert!(rows.any(|row| row == ["forced/lines", "592", "592", "agrees"]), "{table}");
    // Values that are longer than their columns.
    assert!(rows.any(|row| row == ["list/87", "below", "below", "agrees"]), "{table}");
    let [theirs, ours] = [rows.next(), rows.next()];
    assert!(theirs.is_some() && theirs == ours, "{table}");
    run(&mut queens(&["reproduce", "--only", "force"])).refusal(2, &["force", "forced, iteration"]);
}

#[test]
fn times_of_the_source_stand_beside_those_here_and_are_plotted() {
    let scratch = Scratch::new();
    let svg = scratch.path("times.svg").display().to_string();
    let text = run(&mut queens(&["reproduce", "--times", "--quick", "--svg", &svg])).success();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |n: &str| rows.iter().find(|row| row.len() == 6 && row[0] == n);
    for (n, source) in [("4", "0.001"), ("10", "0.016"), ("12", "0.376")] {
        let row = row(n).expect("a row of each size");
        let total = testkit::vectors::total(n.parse().expect("a size")).to_string();
        assert_eq!(row[1..3], [&total, source], "{text}");
    }
    assert!(row("13").is_none(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(std::fs::read_to_string(&svg).expect("it was written").starts_with("<svg"));
    run(&mut queens(&["reproduce", "--svg", &svg])).usage("--times");
    run(&mut queens(&["reproduce", "--times", "--only", "forced"])).usage("--only");
    let nowhere = scratch.path("no/such/file").display().to_string();
    run(&mut queens(&["reproduce", "--times", "--quick", "--svg", &nowhere]))
        .refusal(10, &["cannot write"]);
}

#[test]
fn the_page_in_docs_has_every_figure_as_it_is_now() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/REPRODUCED.md");
    let page = std::fs::read_to_string(page).expect("it is in the repository");
    let mut rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('/'));
    for figure in figures() {
        let begins = format!("| {} | {} | {} | ", figure.name, figure.claim, figure.source);
        let row = rows.next().unwrap_or_default();
        assert!(
            row.starts_with(&begins),
            "`tools/reproduced.py target/release/queens` writes the page anew: {begins} is not {row}"
        );
        assert!(row.contains(&format!("{} | ", figure.says)), "{row}");
    }
}
