//! Tests of `queens list`.

use std::fs::{self, File};

use crate::support::Scratch;
use crate::support::process::{queens, run, run_into};

#[test]
fn every_placement_is_a_line() {
    for n in [0_u32, 1, 3, 6, 8] {
        let all = run(&mut queens(&["list", &n.to_string()]));
        assert_eq!(all.stderr, "");
        assert_eq!(all.success().lines().count() as u128, testkit::vectors::total(n), "N = {n}");
    }
    let args = ["list", "8", "--fundamental", "--format", "permutation"];
    let orbits = run(&mut queens(&args)).success();
    assert_eq!(orbits.lines().count() as u128, testkit::vectors::fundamental(8));
}

/// Every command prints a placement in the same way in each format.
#[test]
fn one_placement_looks_alike_from_every_command() {
    for n in ["5", "27"] {
        let solved = run(&mut queens(&["solve", n, "--format", "squares"])).success();
        let given = solved.trim().replace(' ', ",");
        let formats = ["squares", "permutation", "columns", "fen", "board"]
            .map(|name| vec!["--format", name]);
        for format in formats.into_iter().chain([vec!["--json"]]) {
            let print = |args: &[&str]| run(queens(args).args(&format)).success();
            let solved = print(&["solve", n]);
            assert_eq!(print(&["solve", n, "--given", &given]), solved, "{n} {format:?}");
            assert_eq!(print(&["list", n, "--given", &given]), solved, "{n} {format:?}");
        }
    }
    let list = |args: &str| run(queens(&["list"]).args(args.split(' ')));
    assert_eq!(list("8 -n 2 -o fen").success(), list("8 --limit 2 --format fen").success());
    list("1001 --format board").refusal(2, &["1001 is not drawn", "1000"]);
}

#[test]
fn given_queens_and_limits_choose() {
    let all = run(&mut queens(&["list", "6"])).success();
    let wanted: Vec<&str> = all.lines().filter(|line| line.contains("b1")).collect();
    let scratch = Scratch::new();
    let board = scratch.path("board.txt");
    fs::write(&board, "......\n......\n......\n......\n......\n.Q....\n").expect("room");
    let from_file = run(queens(&["list", "6", "--board"]).arg(&board)).success();
    assert_eq!(from_file.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(run(&mut queens(&["list", "6", "--given", "a1"])).success(), "");
    run(queens(&["list", "7", "--board"]).arg(&board)).refusal(2, &["has size 6, not 7"]);
    run(&mut queens(&["list", "8", "--given", "a1,b2"])).refusal(2, &["attack each other"]);
    run(&mut queens(&["list", "8", "--given", "a1", "--board", "x"])).usage("--board");
    run(&mut queens(&["list", "10001"])).usage("10001");

    for (limit, lines) in [("0", 0), ("5", 5), ("1000", 92)] {
        let some = run(&mut queens(&["list", "8", "--limit", limit])).success();
        assert_eq!(some.lines().count(), lines);
    }
}

#[test]
fn placements_have_numbers_and_those_of_their_groups() {
    let list = |args: &[&str]| run(queens(&["list", "8", "--numbered"]).args(args)).success();
    let text = list(&[]);
    let mut groups = std::collections::BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let (squares, numbers) = line.split_once(" # ").expect("a comment");
        let (first, group) = numbers.split_once(' ').expect("two numbers");
        assert_eq!((first, squares.split(' ').count()), (number.to_string().as_str(), 8), "{line}");
        *groups.entry(group.to_owned()).or_insert(0) += 1;
    }
    // There are eleven groups of eight, and one whose placements do not change under a half turn.
    let mut sizes: Vec<i32> = groups.into_values().collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]);
    assert!(list(&["--format", "board", "--limit", "1"]).starts_with("# 1 1\n. "));
}

#[test]
fn a_list_ends_with_its_reader() {
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    // The whole list would take years.
    let outcome = run_into(&mut queens(&["list", "25"]), writer);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(141), ""));

    if cfg!(target_os = "linux") {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let outcome = run_into(&mut queens(&["list", "25"]), full);
        outcome.refusal(10, &["queens: cannot write to standard output: No space left"]);
    }
}
