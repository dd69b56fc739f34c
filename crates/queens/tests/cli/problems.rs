//! Problems beside the total, here and on a farm.

use serde_json::Value;

use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

fn count(words: &str) -> String {
    let words: Vec<&str> = std::iter::once("count").chain(words.split(' ')).collect();
    run(&mut queens(&words)).success().trim().into()
}

#[test]
fn each_problem_is_counted() {
    for n in [5, 6, 11, 13] {
        let found = count(&format!("{n} --problem toroidal"));
        assert_eq!(found, vectors::toroidal(n).to_string(), "torus, N = {n}");
    }
    assert_eq!(count("11 --problem superqueens"), vectors::superqueens(11).to_string());
    assert_eq!(count("8 --given a1"), "4");
    assert_eq!(count("8 --problem completions"), "92");
    // The left half of one of the twelve is that of no other placement.
    assert_eq!(count("8 --given a1,b5,c8,d6"), "1");
    for n in 1..=12 {
        let by_rotations = count(&format!("{n} --problem fundamental"));
        assert_eq!(by_rotations, vectors::fundamental(n).to_string(), "N = {n}");
        assert_eq!(count(&format!("{n} --problem fundamental --method unique")), by_rotations);
    }
}

#[test]
fn a_census_says_how_many_have_which_symmetry() {
    let json =
        |words: &str| -> Value { serde_json::from_str(&count(words)).expect("one JSON object") };
    let numbers = |census: &Value| {
        let names = ["total", "fundamental", "counted", "half_turn", "quarter_turn"];
        let orbits = ["orbits_of_8", "orbits_of_4", "orbits_of_2", "orbits_of_1"];
        [&names[..], &orbits]
            .concat()
            .into_iter()
            .map(|name| census[name].clone())
            .collect::<Vec<_>>()
    };
    let census = json("12 --problem fundamental --json");
    assert_eq!(numbers(&census), ["1787", "1787", "14200", "80", "8", "1765", "18", "4", "0"]);
    assert_eq!(census["problem"], "fundamental");
    assert_eq!(numbers(&json("12 --problem fundamental --method unique --json")), numbers(&census));

    let told = run(&mut queens(&["count", "12", "--problem", "fundamental", "--stats"]));
    assert_eq!(told.stdout, "1787\n");
    assert!(told.stderr.contains("orbits of 8 boards"), "{told:?}");
}

#[test]
fn a_farm_counts_them_too_and_its_ledger_knows_them() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let submit = |words: &str| {
        let words: Vec<&str> = std::iter::once("submit").chain(words.split(' ')).collect();
        farm.client(&words).success().trim().to_string()
    };
    let jobs = [
        (submit("13 --problem toroidal"), vectors::toroidal(13)),
        (submit("12 --problem superqueens"), vectors::superqueens(12)),
        (submit("12 --problem fundamental"), vectors::fundamental(12)),
        (submit("8 --given a1"), 4),
        (submit("12 --problem toroidal"), 0),
    ];
    // A restarted coordinator still knows the problem of each job.
    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    for (job, expected) in &jobs {
        assert_eq!(farm.client(&["watch", job]).success(), format!("{expected}\n"), "job {job}");
    }
    // Whatever shows its total shows the answer, and what was added up by another name.
    let fundamental = &jobs[2].0;
    let status = farm.client(&["jobs", fundamental]).success();
    assert!(status.contains("total     1787\ncounted   14200 before symmetry"), "{status}");
    let list = farm.client(&["jobs"]).success();
    let is_its = |line: &&str| line.split_whitespace().next() == Some(fundamental);
    assert!(list.lines().find(is_its).is_some_and(|line| line.ends_with(" 1787")), "{list}");
    let csv = farm.client(&["jobs", "--output", "csv"]).success();
    assert!(csv.lines().any(|line| line.ends_with(",1787")) && !csv.contains("14200"), "{csv}");
    for words in [&["jobs", fundamental, "--json"][..], &["watch", fundamental, "--json"]] {
        let told = farm.client(words).success();
        let told: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("JSON");
        assert_eq!([&told["total"], &told["counted"]], ["1787", "14200"], "{words:?}");
    }
    let bundle = Scratch::new();
    let bundle = bundle.path("q12.bundle");
    let bundle = bundle.to_str().expect("a plain path");
    farm.client(&["export", fundamental, bundle]).success();
    let verified = run(&mut queens(&["verify", bundle])).success();
    assert!(verified.contains("total     1787\ncounted   14200 before symmetry"), "{verified}");
    let verified = run(&mut queens(&["verify", bundle, "--json"])).success();
    let verified: Value = serde_json::from_str(&verified).expect("one JSON object");
    assert_eq!([&verified["total"], &verified["counted"]], ["1787", "14200"]);
    let status = farm.client(&["jobs", &jobs[3].0, "--json"]).success();
    let status: Value = serde_json::from_str(&status).expect("one JSON object");
    assert_eq!((&status["problem"], &status["given"]), (&"completions".into(), &"a1".into()));
}

#[test]
fn a_board_file_says_what_stands_or_what_is_wrong_with_it() {
    let scratch = Scratch::new();
    let path = scratch.path("board");
    let name = path.to_str().expect("a plain path");
    let with = |text: &str, n: &str| {
        std::fs::write(&path, text).expect("it can be written");
        run(&mut queens(&["count", n, "--board", name]))
    };
    assert_eq!(with("....\n...Q\n....\n....\n", "4").success(), "1\n");
    assert_eq!(with("d3 # the same\n", "4").success(), "1\n");
    with("....\n...Q\n....\n", "4").refusal(2, &["line 3", "4 squares", "3 lines"]);
    with("....\n...K\n....\n....\n", "4").refusal(2, &["line 2, square 4", "`K`"]);
    with("....\n...Q\n....\n....\n", "5").refusal(2, &["size 4", "N is 5"]);
    with("Q...\n.Q..\n....\n....\n", "4").refusal(2, &["a4", "b3", "attack each other"]);
    with("e1\n", "4").refusal(2, &["e1 is off the board of size 4"]);
    std::fs::remove_file(&path).expect("it is there");
    run(&mut queens(&["count", "4", "--board", name])).refusal(2, &["cannot read", name]);
}

/// A variable that is set for other counts must not refuse a board that one plain search counts.
#[test]
fn a_board_beyond_64_minds_the_command_line_alone() {
    const N: usize = 66;
    let solved = run(&mut queens(&["solve", "66", "--json"])).success();
    let solved: Value = serde_json::from_str(solved.trim()).expect("it is JSON");
    let columns = solved.as_array().map_or(&solved, |all| &all[0])["permutation"].as_array();
    let columns: Vec<u64> = columns
        .expect("a placement")
        .iter()
        .map(|column| column.as_u64().expect("it is"))
        .collect();
    let row = |(row, column): (usize, &u64)| -> String {
        let is_queen = |square: &usize| row < N - 2 && *square as u64 + 1 == *column;
        (0..N).map(|square| if is_queen(&square) { 'Q' } else { '.' }).collect()
    };
    let rows: Vec<String> = columns.iter().enumerate().map(row).collect();
    let scratch = Scratch::new();
    let board = scratch.path("board");
    std::fs::write(&board, rows.join("\n")).expect("it can be written");
    let count = |words: &[&str]| {
        let mut command = queens(&["count", "66", "--board"]);
        command.arg(&board).args(words).env("QUEENS_LEDGER", scratch.path("ledger"));
        command.env("QUEENS_METHOD", "rows").env("QUEENS_ROWS", "3").env("QUEENS_SHARD", "1/2");
        run(&mut command)
    };

    assert_eq!(count(&[]).success(), "1\n");
    assert!(!scratch.path("ledger").exists());
    count(&["--method", "rows"]).refusal(2, &["one plain search", "--method"]);
    count(&["--ledger", "here"]).refusal(2, &["--ledger"]);
}

#[test]
fn without_mirroring_every_way_to_fill_the_first_rows_is_a_task() {
    for (rows, tasks) in [("1", 8), ("2", 42), ("3", 140), ("4", 344)] {
        let words = ["plan", "8", "--no-mirror", "--rows", rows, "--seconds", "0", "--json"];
        let planned: Value =
            serde_json::from_str(&run(&mut queens(&words)).success()).expect("it is JSON");
        assert_eq!(planned["tasks"], tasks);
        assert_eq!(count(&format!("8 --no-mirror --rows {rows}")), vectors::total(8).to_string());
    }
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    let total = farm.client(&["submit", "8", "--no-mirror", "--rows", "2", "--wait"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(8)));
}

#[test]
fn what_a_problem_does_not_have_is_refused() {
    let refused = |words: &str, code, ways: &[&str]| {
        let words: Vec<&str> = words.split(' ').collect();
        run(&mut queens(&words)).refusal(code, ways);
    };
    refused("count 8 --given a1,h8", 2, &["a1 and h8 attack each other"]);
    refused("count 8 --given z1", 2, &["z1 is off the board of size 8"]);
    refused("count 8 --given queen", 2, &["--given", "`queen` is no square"]);
    refused("count 8 --given a1 --problem toroidal", 2, &["--problem completions alone"]);
    refused("plan 65 --given a1", 2, &["size 65", "0 to 64"]);
    refused("count 8 --no-mirror --problem toroidal", 2, &["--no-mirror is for the total"]);
    refused("count 8 --no-mirror --given a1", 2, &["--no-mirror is for the total"]);
    refused("count 8 --no-mirror --rows 6", 3, &["method rows, M up to 5"]);
    refused("count 40 --problem toroidal", 3, &["size 40", "0 to 32"]);
    refused("count 11 --problem toroidal --method halves", 3, &["toroidal N=11", "method rows"]);
    refused("count 4 --given b1,d2,a3 --rows 2", 3, &["up to 1"]);
    refused("count 8 --problem superqueens --method states", 2, &["total alone"]);
    refused("count 8 --method unique", 2, &["--problem fundamental"]);
    refused(
        "submit 8 --problem fundamental --method unique",
        2,
        &["queens count N --method unique"],
    );
}
