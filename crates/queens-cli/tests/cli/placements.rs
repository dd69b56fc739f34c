//! Tests of single placements and completions of given queens.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use board::squares::{Square, check_queens, parse_squares};
use solve::is_placement;

use crate::support::Scratch;
use crate::support::process::{end_of, queens, run, run_into, run_with_input};

/// The option for a format.
fn option(format: &str) -> String {
    if format == "json" { "--json".into() } else { format!("--format={format}") }
}

#[test]
fn every_format_shows_the_same_placement() {
    let print = |format| run(&mut queens(&["solve", "27", &option(format)])).success();
    let squares = parse_squares(&print("squares")).expect("they are squares");
    assert_eq!((squares.len(), check_queens(27, &squares)), (27, Ok(())));
    let by_file = squares.clone();
    let mut squares = squares;
    assert!(squares.is_sorted_by_key(|square| square.column), "file by file, as in a list");
    squares.sort_by_key(|square| square.row);
    assert_eq!(solve::read_queens(&print("board")), Ok((Some(27), squares.clone())));

    let columns: Vec<u32> = squares.iter().map(|square| square.column + 1).collect();
    let names: Vec<String> = by_file.iter().map(ToString::to_string).collect();
    let lines = print("columns");
    assert_eq!(lines.lines().map(|line| line.parse().unwrap_or(0)).collect::<Vec<_>>(), columns);
    assert_eq!(run(&mut queens(&["solve", "27"])).success(), lines, "from N = 27 on");
    let json: serde_json::Value = serde_json::from_str(&print("json")).expect("it is JSON");
    assert_eq!(json, serde_json::json!({ "n": 27, "permutation": columns, "squares": names }));
}

#[test]
fn a_seed_decides_a_random_placement() {
    let print = |args: &[&str]| {
        let args = [&["solve", "1000", "--random"], args].concat();
        let printed = run(&mut queens(&args)).success();
        let columns = printed.lines().map(|line| line.parse::<u32>().expect("a number") - 1);
        assert!(is_placement(1000, columns), "{args:?}");
        printed
    };
    assert_eq!(print(&["--seed", "1"]), print(&["--seed", "1"]));
    assert_ne!(print(&["--seed", "1"]), print(&["--seed", "2"]));
    assert_ne!(print(&[]), print(&[]), "another one each time");
}

#[test]
fn a_board_from_a_file_or_standard_input_is_completed() {
    let scratch = Scratch::new();
    let file = scratch.path("board");
    let drawn = "# two queens\n....\n...Q\nQ...\n....\n";
    for (args, text, expected) in [
        (vec!["solve", "--format", "board"], drawn, None),
        (vec!["solve", "4"], drawn, Some("a2 b4 c1 d3\n")),
        (vec!["solve", "4"], "a2\nd3 # two queens\n", Some("a2 b4 c1 d3\n")),
    ] {
        let expected = expected.unwrap_or(". Q . .\n. . . Q\nQ . . .\n. . Q .\n");
        std::fs::write(&file, text).expect("it can be written");
        assert_eq!(run(queens(&args).arg("--board").arg(&file)).success(), expected);

        let piped = run_with_input(queens(&args).args(["--board", "-"]), text);
        assert_eq!(piped.success(), expected);
    }
}

#[test]
fn boards_are_read_in_the_forms_of_editors_and_programs() {
    let windows = "\u{feff}. Q . .  \r\n. . . Q\r\nQ . . .\r\n. . Q .\r\n\r\n";
    let wide: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let texts = [
        windows.as_bytes(),
        &wide,
        b"_*__\n___*\n*___\n__*_\n",
        b".#..\r...#\r#...\r..#.",
        b"0 1 0 0\n0 0 0 1\n1 0 0 0\n0 0 1 0\n",
        b"[[0, 1, 0, 0],\n [0, 0, 0, 1],\n [1, 0, 0, 0],\n [0, 0, 1, 0]]\n",
        b"\xef\xbb\xbf1Q2/3Q/Q3/2Q1 \r\n",
        b"[3, 1, 4, 2]",
        br#"{"n":4,"permutation":[3,1,4,2],"squares":["a2","b4","c1","d3"]}"#,
        b"[\r\n {\"n\": 4,\r\n \"squares\": [\"a2\", \"b4\", \"c1\", \"d3\"]}]",
    ];
    let scratch = Scratch::new();
    let file = scratch.path("board");
    for text in texts {
        std::fs::write(&file, text).expect("it can be written");
        let with = |args: &[&str]| run(queens(args).arg("--board").arg(&file)).success();
        let shown = String::from_utf8_lossy(text);
        assert_eq!(with(&["check"]), "a placement of 4 queens (total)\n", "{shown}");
        assert_eq!(with(&["solve"]), "a2 b4 c1 d3\n", "{shown}");
        assert_eq!(with(&["count", "4"]), "1\n", "{shown}");
        assert!(with(&["draw"]).starts_with("4 . Q . .\n3 . . . Q\n"), "{shown}");
    }
}

#[test]
fn every_format_is_read_back_with_one_board_or_several() {
    for format in ["squares", "permutation", "columns", "fen", "board", "json"] {
        let print =
            |limit| run(&mut queens(&["list", "6", "--limit", limit, &option(format)])).success();
        let several = run_with_input(&mut queens(&["check", "--board", "-"]), &print("4"));
        assert_eq!(several.success(), "a placement of 6 queens (total)\n".repeat(4), "{format}");
        let one = run_with_input(&mut queens(&["draw", "--board", "-"]), &print("1"));
        assert!(one.success().starts_with("6 . . . . Q .\n"), "{format}");
        let refused = run_with_input(&mut queens(&["draw", "--board", "-"]), &print("2"));
        refused.refusal(2, &["there are 2 boards: give one"]);
    }
    let by_file = ["list", "6", "--by-file", "--limit", "1", "--json"];
    let by_file = run(&mut queens(&by_file)).success();
    let drawn = run_with_input(&mut queens(&["draw", "--by-file", "--board", "-"]), &by_file);
    assert!(drawn.success().starts_with("6 . . Q . . .\n"));
    let said = run(&mut queens(&["check", "2", "4", "1", "3", "--json"])).success();
    run_with_input(&mut queens(&["draw", "--board", "-"]), &said).refusal(2, &["`squares`"]);
}

#[test]
fn a_file_that_is_no_board_is_refused_by_its_line_or_square() {
    let scratch = Scratch::new();
    let file = scratch.path("board");
    let refusals: [(&[u8], &[&str], &[&str]); 7] = [
        (b"...\n..\n...\n", &[], &["line 2 has 2 squares, and the board has 3 lines"]),
        (b"...\n.x.\n...\n", &[], &["line 2, square 2: `x`"]),
        (b"Q...\n....\n....\n...Q\n", &[], &["attack each other", "a4", "d1"]),
        (b"....\n....\n....\n....\n", &["5"], &["has size 4, not 5"]),
        (b"a1 b3", &[], &["give N"]),
        (b"a1 b", &["8"], &["`b` is no square"]),
        (b"\xff\xfe", &["8"], &["cannot read"]),
    ];
    for (text, args, said) in refusals {
        std::fs::write(&file, text).expect("it can be written");
        let mut command = queens(&["solve"]);
        run(command.args(args).arg("--board").arg(&file)).refusal(2, said);
    }
    let both = ["solve", "8", "--given", "a1", "--board", "-"];
    run(&mut queens(&both)).usage("--board");
}

#[test]
fn a_search_without_time_is_undecided() {
    let args = ["solve", "1000", "--given", "a1", "--limit-seconds", "0"];
    run(&mut queens(&args)).refusal(15, &["undecided", "--limit-seconds"]);
}

#[test]
fn a_placement_ends_with_a_reader_of_its_first_line() {
    let mut command = queens(&["solve", "1000000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    BufReader::with_capacity(16, stdout).read_line(&mut line).expect("a line");
    let outcome = end_of(&command, child);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(141), ""));
}

#[test]
fn a_placement_that_cannot_be_written_is_a_failure() {
    if !cfg!(target_os = "linux") {
        return;
    }
    for n in ["8", "100000"] {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let outcome = run_into(&mut queens(&["solve", n]), full);
        outcome.refusal(10, &["queens: cannot write to standard output: No space"]);
    }
}

#[test]
fn a_completion_reports_its_work() {
    let args = ["solve", "1000", "--random-given", "500", "--seed", "1", "--stats"];
    let json = run(queens(&args).arg("--json")).success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["attempts"], &json["exact_nodes"]), (&1.into(), &0.into()));
    assert!(json["swaps"].as_u64() > Some(0) && json["conflicts"].as_u64() > Some(0), "{json}");
    let reported = run(&mut queens(&args));
    assert_eq!(reported.stdout.lines().count(), 1000);
    for word in ["attempts", "conflicts", "swaps", "exact"] {
        let line = reported.stderr.lines().find(|line| line.starts_with(word));
        line.unwrap_or_else(|| panic!("{word} is missing: {}", reported.stderr));
    }
}

#[test]
fn completions_of_large_boards_are_counted_and_listed_alike() {
    // All but six queens of a constructed placement of 70 are given.
    let columns = run(&mut queens(&["solve", "70"])).success();
    let columns = columns.lines().map(|line| line.parse::<u32>().expect("a column") - 1);
    let squares = (0..).zip(columns).map(|(row, column)| Square { column, row }.to_string());
    let given: Vec<String> = squares.skip(6).collect();
    let given = given.join(",");
    let listed = run(&mut queens(&["list", "70", "--given", &given])).success().lines().count();
    assert!(listed > 0);
    let counted = run(&mut queens(&["count", "70", "--given", &given])).success();
    assert_eq!(counted.trim(), listed.to_string());
    let json = run(&mut queens(&["count", "70", "--given", &given, "--json"])).success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["n"], &json["total"]), (&70.into(), &listed.to_string().into()));

    let rows = ["count", "70", "--given", &given, "--rows", "2"];
    run(&mut queens(&rows)).refusal(2, &["beyond size 64"]);
    run(&mut queens(&["count", "10001", "--given", "a1"])).refusal(2, &["up to size 10000"]);
    run(&mut queens(&["count", "70", "--given", "a1,b2"])).refusal(2, &["attack each other"]);
}

#[test]
fn missing_queens_and_several_boards_are_refused() {
    for args in [&["count", "8", "--board", "-"][..], &["check", "--board", "-"]] {
        run_with_input(&mut queens(args), "\n").refusal(2, &["there is no queen"]);
    }
    run(&mut queens(&["check", ""])).refusal(2, &["there is no queen"]);

    let boards = "1Q2/3Q/Q3/2Q1\nQQQQ/4/4/4\n2Q1/Q3/3Q/1Q2\n";
    let outcome = run_with_input(&mut queens(&["check", "--board", "-"]), boards);
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (Some(1), 2), "{outcome:?}");
    assert!(outcome.stderr.contains("board 2 is no placement: a4 and b4 attack"), "{outcome:?}");
    let listed = run(&mut queens(&["list", "6", "--format", "fen"])).success();
    let checked = run_with_input(&mut queens(&["check", "--board", "-"]), &listed).success();
    assert_eq!(checked.lines().count(), 4);
    for args in [&["count", "4", "--board", "-"][..], &["draw", "--board", "-"]] {
        run_with_input(&mut queens(args), boards).refusal(2, &["there are 3 boards"]);
    }
}
