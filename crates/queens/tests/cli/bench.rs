//! `queens bench`: that it measures what it says, not how fast anything is.

use crate::support::Scratch;
use crate::support::process::{Outcome, queens, run};

fn methods(words: &[&str]) -> Outcome {
    let quick =
        ["bench", "methods", "--backend", "portable", "--rounds", "1", "--sample-ms", "1000"];
    run(queens(&quick).args(words))
}

/// The lines of a table that begin with these words.
fn lines<'a>(text: &'a str, beginning: &'a str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(beginning)).collect()
}

#[test]
fn every_method_is_measured_and_checked_against_the_recursion_of_one_board() {
    let text = methods(&["--n", "10,8", "--unit", "9"]).success();

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
    let text = methods(&["--n", "8"]).success();

    let recursion = lines(&text, "rows")[0].to_string();
    assert!(recursion.contains("reference") && recursion.contains(" 1.0 x"), "{text}");
    assert!(!text.contains("fastest backend"), "one board has nothing to be compared with");
}

#[test]
fn kernels_that_do_not_fit_together_are_measured_one_after_the_other() {
    let text = methods(&["--n", "8,10", "--memory", "4MiB"]).success();
    assert!(text.starts_with("kernels take turns within 4.0 MiB: together "), "{text}");
    assert!(text.contains("checked: N = 10, halves: reference, portable agree on "), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    methods(&["--n", "24", "--memory", "1MiB"]).refusal(3, &["--memory"]);
    let slow = ["bench", "methods", "--n", "22", "--backend", "reference"];
    run(&mut queens(&slow)).refusal(2, &["N = 22", "another backend"]);
    let alone = ["bench", "threads", "--n", "10", "--threads", "1"];
    run(&mut queens(&alone)).refusal(2, &["one thread", "give more"]);
}

#[test]
fn threads_are_measured_by_the_method_asked_for() {
    let words = ["bench", "threads", "--n", "9", "--threads", "2", "--rounds", "1"];
    let mut command = queens(&words);
    let command = command.args(["--method", "halves"]).env("QUEENS_ROWS", "2");

    let text = run(command).success();

    assert!(text.starts_with("N=9 by halves, portable, 100.000% of the plan"), "{text}");
    assert!(text.contains("\n2 threads "), "{text}");
}

#[test]
#[ignore = "measures for seconds: CI runs it"]
fn hostile_workers_are_measured_beside_honest_ones() {
    let scratch = Scratch::new();
    let words = ["bench", "hostile", "--rounds", "1", "--seconds", "1", "--log", "error"];

    let text = run(queens(&words).arg("--folder").arg(scratch.path(""))).success();

    assert_eq!(lines(&text, "    1  ").len(), 1, "one round: {text}");
    assert!(text.contains("4 honest workers, 7 hostile ones in 7 ways"), "{text}");
    assert!(!text.contains("dismissed 0 times"), "{text}");
    assert!(text.contains("honest throughput beside them: "), "{text}");
    let left = std::fs::read_dir(scratch.path("")).expect("it is there").count();
    assert_eq!(left, 0, "its ledger is gone");
}
