//! Tests of single placements and completions of given queens.

use board::squares::Square;
use solve::is_placement;

use crate::object;
use crate::support::Scratch;
use crate::support::process::{queens, run, run_with_input};

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
fn boards_are_read_in_the_forms_of_editors_and_programs() {
    let windows = "\u{feff}. Q . .  \r\n. . . Q\r\nQ . . .\r\n. . Q .\r\n\r\n";
    let wide: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let texts = [
        windows.as_bytes(),
        &wide,
        b".#..\r...#\r#...\r..#.",
        b"[[0, 1, 0, 0],\n [0, 0, 0, 1],\n [1, 0, 0, 0],\n [0, 0, 1, 0]]\n",
        b"\xef\xbb\xbf1Q2/3Q/Q3/2Q1 \r\n",
        b"[3, 1, 4, 2]",
        b"# four queens\n.Q..\n...Q\nQ...\n--q- # drawn\n",
        br#"{"n":4,"permutation":[3,1,4,2],"squares":["a2","b4","c1","d3"]}"#,
        br#"{"n":4,"permutation":[3,1,4,2]}"#,
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
        let option = if format == "json" { "--json" } else { &format!("--format={format}") };
        let print = |limit| run(&mut queens(&["list", "6", "--limit", limit, option])).success();
        let numbered = run(&mut queens(&["list", "6", "--numbered", option])).success();
        for several in [print("4"), numbered] {
            let several = run_with_input(&mut queens(&["check", "--board", "-"]), &several);
            let wanted = "a placement of 6 queens (total)\n".repeat(4);
            assert_eq!(several.success(), wanted, "{format}");
        }
        let one = run_with_input(&mut queens(&["draw", "--board", "-"]), &print("1"));
        assert!(one.success().starts_with("6 . . . . Q .\n"), "{format}");
        let refused = run_with_input(&mut queens(&["draw", "--board", "-"]), &print("2"));
        refused.refusal(2, &["there are 2 boards: give one"]);
    }
    // Drawings have coordinates, whose files have two letters beyond z.
    for (n, what) in [("1", "1 queen"), ("6", "6 queens"), ("30", "30 queens")] {
        let drawn = run(&mut queens(&["solve", n, "--format", "fen"])).success();
        let drawn = run(&mut queens(&["draw", drawn.trim(), "--attacks"])).success();
        let checked = run_with_input(&mut queens(&["check", "--board", "-"]), &drawn);
        assert_eq!(checked.success(), format!("a placement of {what} (total)\n"));
        let counted = run_with_input(&mut queens(&["count", n, "-q", "--board", "-"]), &drawn);
        assert_eq!(counted.success(), "1\n");
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
    let refusals: [(&[u8], &[&str], &[&str]); 9] = [
        (b"{\"n\": 4,\n\"squares\": [\"a2\"", &[], &["this JSON is not whole"]),
        (b"...\n..\n...\n", &[], &["line 2 has 2 squares, and the board has 3 lines"]),
        (b"...\n.x.\n...\n", &[], &["line 2, square 2: `x`"]),
        (b"Q...\n....\n....\n...Q\n", &[], &["attack each other", "a4", "d1"]),
        (b"....\n.Q..\n....\n....\n", &["5"], &["has size 4, not 5"]),
        (b"a1 b3", &[], &["give N"]),
        (b"e1", &["4"], &["e1 is off the board of size 4"]),
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
fn a_completion_reports_its_work() {
    let args = ["solve", "1000", "--random-given", "500", "--seed", "1", "--stats"];
    let json = object(&run(queens(&args).arg("--json")).success());
    assert_eq!((&json["attempts"], &json["exact_nodes"]), (&1.into(), &0.into()));
    assert!(json["swaps"].as_u64() > Some(0) && json["conflicts"].as_u64() > Some(0), "{json}");
    let reported = run(&mut queens(&args));
    let names = reported.stderr.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.collect();
    for name in ["attempts", "conflicts", "swaps", "exact"] {
        assert!(names.contains(&name), "{name}: {}", reported.stderr);
    }
    assert_eq!(reported.success().lines().count(), 1000);
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
    let json = object(&run(&mut queens(&["count", "70", "--given", &given, "--json"])).success());
    assert_eq!((&json["n"], &json["total"]), (&70.into(), &listed.to_string().into()));

    let rows = ["count", "70", "--given", &given, "--rows", "2"];
    run(&mut queens(&rows)).refusal(2, &["beyond size 64"]);
    let by_rows = ["count", "70", "--given", &given, "--method", "rows"];
    run(&mut queens(&by_rows)).refusal(2, &["one plain search", "--method"]);
    let ledger = ["count", "70", "--given", &given, "--ledger", "here"];
    run(&mut queens(&ledger)).refusal(2, &["--ledger"]);
    run(&mut queens(&["count", "10001", "--given", "a1"])).refusal(3, &["up to size 10000"]);
    run(&mut queens(&["count", "70", "--given", "a1,b2"])).refusal(2, &["attack each other"]);
}

#[test]
fn missing_queens_and_several_boards_are_refused() {
    for args in [&["count", "8", "--board", "-"][..], &["check", "--board", "-"]] {
        run_with_input(&mut queens(args), "\n").refusal(2, &["there is no queen"]);
    }
    run(&mut queens(&["check", ""])).refusal(2, &["there is no queen"]);
    for (nothing, said) in [("# nothing\n", "no queen"), (", ,\n", "no queen"), ("[]", "no queen")]
    {
        for args in [&["count", "8", "--board", "-"][..], &["check", "--board", "-"]] {
            run_with_input(&mut queens(args), nothing).refusal(2, &[said]);
        }
    }
    let drawn = "........\n".repeat(8);
    for empty in ["8/8/8/8/8/8/8/8", &drawn, r#"{"n":8,"squares":[]}"#] {
        for command in ["count", "solve", "list", "plan", "submit"] {
            let outcome = run_with_input(&mut queens(&[command, "8", "--board", "-"]), empty);
            outcome.refusal(2, &["there is no queen in --board", "leave --board out"]);
        }
    }
    let two = "a placement of 4 queens (total)\n".repeat(2);
    assert_eq!(run(&mut queens(&["check", "2 4 1 3", "3 1 4 2"])).success(), two);
    for several in ["b4\nd3\na2\nc1\n\na3\nb1\nc4\nd2\n", "b4 d3\na2 c1\n\na3 b1\nc4 d2\n"] {
        assert_eq!(run_with_input(&mut queens(&["check", "--board", "-"]), several).success(), two);
    }
    let behind = ["check", "1Q2/3Q/Q3/2Q1", "QQQQ/4/4/4"];
    run(&mut queens(&behind)).refusal(2, &["QQQQ/4/4/4", "a line of its own"]);

    let boards = "1Q2/3Q/Q3/2Q1\nQQQQ/4/4/4\n2Q1/Q3/3Q/1Q2\n";
    let outcome = run_with_input(&mut queens(&["check", "--board", "-"]), boards);
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (Some(1), 2), "{outcome:?}");
    assert!(outcome.stderr.contains("board 2 is no placement: a4 and b4 attack"), "{outcome:?}");
    let count = run_with_input(&mut queens(&["count", "4", "--board", "-"]), boards);
    count.refusal(2, &["there are 3 boards"]);
}

#[test]
fn json_stands_beside_other_forms_and_does_not_contradict_itself() {
    let json = r#"{"n":4,"permutation":[2,4,1,3],"squares":["a3","b1","c4","d2"]}"#;
    for form in [json, "2 4 1 3", "2Q1/Q3/3Q/1Q2", "..Q.\nQ...\n...Q\n.Q..", "2\n4\n1\n3"] {
        let text = format!("{json} # one\n{form}\n[{json},\n{json}]\n{form}\n");
        let checked = run_with_input(&mut queens(&["check", "--board", "-"]), &text);
        assert_eq!(checked.success(), "a placement of 4 queens (total)\n".repeat(5), "{text}");
    }
    let refusals = [
        (r#"{"n":4,"permutation":[1,2,3,4],"squares":["b1","d2","a3","c4"]}"#, "other squares"),
        (r#"{"n":4,"permutation":[],"squares":["b1","d2","a3","c4"]}"#, "another size"),
        (r#"{"n":4,"permutation":[3,1,2]}"#, "n = 4 and another size"),
        (r#"{"n":4,"permutation":[2,4,1,0]}"#, "0 is no column"),
        (r#"{"n":4,"n":5,"squares":["b1","d2","a3","c4"]}"#, "duplicate field `n`"),
        (r#"[{"n":4,"permutation":[2,4,1,3]},{"n":4,"permutation":[2,4,1,3]}"#, "not whole"),
        (r#"{"problem":"total","n":4,"placement":true}"#, "`squares` or `permutation`"),
        (r#"{"n":4,"permutation":[2,4,1,3],"rules":"total"}"#, "`rules` is no field"),
    ];
    for (text, said) in refusals {
        run_with_input(&mut queens(&["count", "4", "--board", "-"]), text).refusal(2, &[said]);
    }
    let on_torus = r#"{"problem":"toroidal","n":5,"permutation":[1,3,5,2,4]}"#;
    let check = ["check", "--problem", "toroidal"];
    run_with_input(&mut queens(&check), on_torus).success();
    run_with_input(&mut queens(&check), &on_torus.replace("toroidal", "total")).success();
    let other = on_torus.replace("toroidal", "superqueens");
    run_with_input(&mut queens(&check), &other).refusal(2, &["`problem`", "toroidal is asked for"]);
    run_with_input(&mut queens(&["check"]), on_torus).refusal(2, &["total is asked for"]);
    // Other commands judge nothing by it.
    for args in [
        &["solve", "--problem", "toroidal", "--board", "-"][..],
        &["list", "--problem", "toroidal", "--board", "-"],
        &["count", "--problem", "toroidal", "--board", "-"],
        &["plan", "--seconds", "0", "--board", "-"],
        &["draw"],
        &["solve", "--board", "-"],
    ] {
        run_with_input(&mut queens(args), on_torus).success();
    }
}

/// What is printed with each option is read with each command that takes a board.
#[test]
fn json_that_a_command_prints_is_read_by_all_others() {
    for printed in [
        &["solve", "5", "--problem", "toroidal", "--json"][..],
        &["solve", "8", "--random", "--json"],
        &["solve", "8", "--given", "a1", "--stats", "--json"],
        &["list", "6", "--limit", "1", "--numbered", "--json"],
        &["list", "6", "--number", "1", "--by-file", "--json"],
    ] {
        let json = run(&mut queens(printed)).success();
        for read in [
            &["check"][..],
            &["draw"],
            &["solve", "--board", "-"],
            &["list", "--board", "-"],
            &["count", "--board", "-"],
            &["plan", "--seconds", "0", "--board", "-"],
        ] {
            run_with_input(&mut queens(read), &json).success();
        }
    }
}

#[test]
fn boards_are_read_from_a_pipe_and_from_a_named_file() {
    let placement = run(&mut queens(&["solve", "8"])).success();
    assert!(run_with_input(&mut queens(&["draw"]), &placement).success().starts_with("8 "));
    let said = "a placement of 8 queens (total)\n";
    assert_eq!(run_with_input(&mut queens(&["check"]), &placement).success(), said);
    let scratch = Scratch::new();
    let file = scratch.path("board");
    std::fs::write(&file, run(&mut queens(&["solve", "8", "--format", "board"])).success())
        .expect("it can be written");
    assert_eq!(run(queens(&["check"]).arg(&file)).success(), said);
    assert_eq!(run(queens(&["count", "--board"]).arg(&file)).success(), "1\n");
    assert_eq!(run(queens(&["list", "--board"]).arg(&file)).success(), placement);
    let plan = run(queens(&["plan", "--seconds", "0", "--board"]).arg(&file)).success();
    assert!(plan.contains("N=8"), "{plan}");
    run_with_input(&mut queens(&["count", "--board", "-"]), &placement).refusal(2, &["give N"]);
}

#[test]
fn a_verdict_is_given_only_on_a_text_that_is_understood_whole() {
    for (text, code, said) in [
        ("[2,4,1,3].", 0, ""),
        ("Qb1 Qd2 Qa3 Qc4", 0, ""),
        ("[\"..Q.\",\"Q...\",\"...Q\",\".Q..\"]", 0, ""),
        ("[1,3,0,2]", 0, ""),
        ("[\"..Q.\",\"Q...\",\"...Q\",\".Q..\"] # [1,1,1,1]", 0, ""),
        ("[\"..Q.\",\"Q...\",\"...Q\",\".Q..\"]\n[1,1,1,1]\n", 1, "board 2 is no placement"),
        ("[[\"..Q.\",\"Q...\",\"...Q\",\".Q..\"],[1,1,1,1]]", 1, "board 2 is no placement"),
        ("[\"..Q.\",\"Q...\",\"...Q\",\".Q..\"] x", 2, "`x` is no square"),
        (r#"[{"n":4,"permutation":[2,4,1,3]},[1,1,1,1]]"#, 2, "this JSON is not whole"),
        ("[1,1,2]", 1, "its columns are counted from 1"),
        ("queen(1,1) queen(2,2)", 1, "attack each other"),
        ("queen1 queen2", 2, "several letters"),
        (".", 2, "one square without a queen"),
        ("2Q1/Q3/3Q/1Q2 rubbish", 2, "line 1, character 15"),
        ("v 1 2 -3 0", 2, "give all n^2"),
    ] {
        let outcome = run_with_input(&mut queens(&["check"]), text);
        assert_eq!(outcome.code, Some(code), "{text}: {outcome:?}");
        assert!(outcome.stderr.contains(said), "{text}: {outcome:?}");
        assert!(code != 2 || outcome.stdout.is_empty(), "{text}: {outcome:?}");
    }
}
