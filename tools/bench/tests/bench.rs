//! That the benchmarks measure what they say, not how fast anything is.

use std::process::{Command, Output};

/// Runs the program, and returns what it prints.
fn bench(words: &[&str]) -> Result<String, String> {
    let program = Command::new(env!("CARGO_BIN_EXE_bench")).args(words).output();
    let Output { status, stdout, stderr } = program.expect("it can be started");
    let text = |bytes| String::from_utf8(bytes).expect("it prints text");
    if status.success() { Ok(text(stdout)) } else { Err(text(stderr)) }
}

fn methods(words: &[&str]) -> Result<String, String> {
    let quick = ["methods", "--backend", "portable", "--rounds", "1", "--sample-ms", "100"];
    bench(&[&quick, words].concat())
}

/// The lines of a table that begin with these words.
fn lines<'a>(text: &'a str, beginning: &'a str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(beginning)).collect()
}

#[test]
fn every_method_is_measured_and_checked_against_the_recursion_of_one_board() {
    let text = methods(&["--n", "10,8", "--unit", "9"]).expect("it measures");

    let heads = lines(&text, "N = ");
    let head = |n| format!("N = {n}, one core; the unit is rows M=2 by reference at N = 9, ");
    assert!(heads.len() == 2, "{text}");
    assert!(heads[0].starts_with(&head(8)) && heads[1].starts_with(&head(10)), "{text}");
    assert!(!text.contains("take turns"), "all kernels fit together: {text}");
    for method in ["rows", "ring", "halves "] {
        let of_method = lines(&text, method);
        let measured = of_method.iter().filter(|line| line.contains('%')).count();
        assert_eq!(measured, 4, "two backends and two boards, {method}: {text}");
    }
    assert!(text.contains("checked: N = 10, halves: reference, portable agree on "), "{text}");
    assert!(text.contains("not checked: N = 9, rows M=2: reference is alone"), "{text}");
    let totals = "checked: N = 10: rows M=3, ring width=1, halves agree on the total";
    assert!(text.contains(totals), "{text}");
    let (_, last) = text.split_once("halves by its fastest backend").expect("a last table");
    assert_eq!(lines(last, "8   ").len() + lines(last, "10  ").len(), 2, "{text}");
}

#[test]
fn the_recursion_of_a_board_is_its_own_unit_if_no_other_is_given() {
    let text = methods(&["--n", "8"]).expect("it measures");

    let recursion = lines(&text, "rows")[0].to_string();
    assert!(recursion.contains("reference") && recursion.contains(" 1.0 x"), "{text}");
    assert!(!text.contains("fastest backend"), "one board has nothing to be compared with");
}

#[test]
fn kernels_that_do_not_fit_together_are_measured_one_after_the_other() {
    let text = methods(&["--n", "8,10", "--memory", "4MiB"]).expect("it measures");
    assert!(text.starts_with("kernels take turns within 4.0 MiB: together "), "{text}");
    assert!(text.contains("checked: N = 10, halves: reference, portable agree on "), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |words: &[&str], reason: &str| {
        let text = bench(words).expect_err("it is refused");
        assert!(text.contains(reason), "{text}");
    };
    refused(&["methods", "--n", "24", "--memory", "1MiB"], "may be used");
    refused(&["methods", "--n", "22", "--backend", "reference"], "give another backend");
}

#[test]
#[ignore = "measures for seconds: CI runs it"]
fn the_farm_is_measured_over_tls_beside_plain_text() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let folder = scratch.path().to_str().expect("its name is text");
    let words =
        ["farm", "--tls", "--metrics", "--connections", "3", "--seconds", "1", "--folder", folder];
    let text = bench(&[&words[..], &["--rounds", "1", "--n", "10"]].concat()).expect("it measures");

    for over in ["plain text", "TLS", "/metrics"] {
        let beginning = format!("          3  {over} ");
        let results =
            lines(&text, &beginning)[0].split_whitespace().rev().nth(1).map(str::parse::<f64>);
        assert!(results.is_some_and(|number| number.is_ok_and(|number| number > 0.0)), "{text}");
    }
    assert!(text.contains("TLS/plain"), "{text}");
}
