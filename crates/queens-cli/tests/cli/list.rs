//! Tests of `queens list`.

use std::fs::{self, File};

use serde_json::Value;

use crate::support::Scratch;
use crate::support::process::{queens, run, run_into};

#[test]
fn every_placement_is_a_line() {
    for n in 0..=8_u32 {
        let all = run(&mut queens(&["list", &n.to_string()])).success();
        assert_eq!(all.lines().count() as u128, vectors::total(n), "N = {n}");
        if n > 0 {
            let args = ["list", &n.to_string(), "--fundamental", "--format", "permutation"];
            let orbits = run(&mut queens(&args)).success();
            assert_eq!(orbits.lines().count() as u128, vectors::fundamental(n), "N = {n}");
        }
    }
}

#[test]
fn each_format_says_the_same() {
    let list = |option| run(&mut queens(&["list", "4", option])).success();
    assert_eq!(list("--format=squares"), "a3 b1 c4 d2\na2 b4 c1 d3\n");
    assert_eq!(list("--format=permutation"), "2 4 1 3\n3 1 4 2\n");
    assert_eq!(list("--format=fen"), "2Q1/Q3/3Q/1Q2\n1Q2/3Q/Q3/2Q1\n");
    let drawn = ". . Q .\nQ . . .\n. . . Q\n. Q . .\n\n. Q . .\n. . . Q\nQ . . .\n. . Q .\n";
    assert_eq!(list("--format=board"), drawn);
    let json = list("--json");
    let objects: Vec<Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[1]["n"], 4);
    assert_eq!(objects[1]["permutation"], serde_json::json!([3, 1, 4, 2]));
    assert_eq!(objects[1]["squares"], serde_json::json!(["a2", "b4", "c1", "d3"]));
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
    let short = run(&mut queens(&["list", "8", "-n", "2", "-o", "fen"])).success();
    assert_eq!(
        short,
        run(&mut queens(&["list", "8", "--limit", "2", "--format", "fen"])).success()
    );
    let refused = run(&mut queens(&["list", "1001", "--format", "board"]));
    refused.refusal(2, &["1001 is not drawn", "1000"]);
}

#[test]
fn given_queens_and_limits_choose() {
    let all = run(&mut queens(&["list", "6"])).success();
    let wanted: Vec<&str> = all.lines().filter(|line| line.contains("b1")).collect();
    let given = run(&mut queens(&["list", "6", "--given", "b1"])).success();
    assert_eq!(given.lines().collect::<Vec<_>>(), wanted);

    let scratch = Scratch::new();
    let board = scratch.path("board.txt");
    fs::write(&board, "......\n......\n......\n......\n......\n.Q....\n").expect("room");
    let from_file = run(queens(&["list", "6", "--board"]).arg(&board)).success();
    assert_eq!(from_file, given);
    let input = File::open(&board).expect("it is there");
    assert_eq!(run(queens(&["list", "6", "--board", "-"]).stdin(input)).success(), given);
    run(queens(&["list", "7", "--board"]).arg(&board)).refusal(2, &["board of size 6"]);

    for (limit, lines) in [("0", 0), ("5", 5), ("1000", 92)] {
        let some = run(&mut queens(&["list", "8", "--limit", limit])).success();
        assert_eq!(some.lines().count(), lines);
    }
}

#[test]
fn a_board_without_a_placement_prints_nothing() {
    for args in [&["list", "3"][..], &["list", "6", "--given", "a1"]] {
        let outcome = run(&mut queens(args));
        assert_eq!(outcome.stderr, "");
        assert_eq!(outcome.success(), "");
    }
}

#[test]
fn placements_have_numbers_and_those_of_their_groups() {
    let list = |args: &[&str]| run(queens(&["list", "8", "--numbered"]).args(args)).success();
    let text = list(&[]);
    let mut groups = std::collections::BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let mut args = line.split(' ');
        assert_eq!(args.next(), Some(number.to_string().as_str()), "{line}");
        *groups.entry(args.next().expect("a group").to_owned()).or_insert(0) += 1;
        assert_eq!(args.count(), 8, "{line}");
    }
    // There are eleven groups of eight, and one whose placements do not change under a half turn.
    let mut sizes: Vec<i32> = groups.into_values().collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]);
    let json = list(&["--json", "--limit", "2", "--by-file"]);
    let second: serde_json::Value = json.lines().nth(1).expect("two").parse().expect("JSON");
    assert_eq!((&second["number"], &second["n"]), (&2.into(), &8.into()));
    assert!(list(&["--format", "board", "--limit", "1"]).starts_with("1 1\n. "));
}

#[test]
fn queens_that_cannot_be_given_are_refused() {
    let refusals: [(&[&str], &str); 4] = [
        (&["--given", "i9"], "i9 is off the board of size 8"),
        (&["--given", "a1,b2"], "a1 and b2 attack each other"),
        (&["--given", "a1,?"], "`?` is no square"),
        (&["--board", "/nowhere/board"], "cannot read /nowhere/board"),
    ];
    for (args, reason) in refusals {
        run(queens(&["list", "8"]).args(args)).refusal(2, &[reason]);
    }
    run(&mut queens(&["list", "10001"])).usage("10001");
    run(&mut queens(&["list", "8", "--given", "a1", "--board", "x"])).usage("--board");
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
