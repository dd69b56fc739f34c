//! Tests of problems other than the total, here and on a farm.

use crate::object;
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

fn count(args: &str) -> String {
    let args: Vec<&str> = std::iter::once("count").chain(args.split(' ')).collect();
    run(&mut queens(&args)).success().trim().into()
}

#[test]
fn each_problem_is_counted() {
    for n in [5, 6, 11, 13] {
        let found = count(&format!("{n} --problem toroidal"));
        assert_eq!(found, testkit::vectors::toroidal(n).to_string(), "torus, N = {n}");
    }
    assert_eq!(count("11 --problem superqueens"), testkit::vectors::superqueens(11).to_string());
    assert_eq!(count("8 --given a1"), "4");
    assert_eq!(count("8 --problem completions"), "92");
    // No other placement has the left half of this one of the twelve.
    assert_eq!(count("8 --given a1,b5,c8,d6"), "1");
    let fundamental: Vec<String> =
        (1..=12).map(|n| format!("{n} {}", testkit::vectors::fundamental(n))).collect();
    for method in ["", " --method unique"] {
        let found = count(&format!("1..12 --problem fundamental{method}"));
        assert_eq!(found, fundamental.join("\n"), "{method}");
    }
}

#[test]
fn a_census_has_the_number_of_each_symmetry() {
    let numbers = serde_json::json!({
        "problem": "fundamental", "total": "1787", "fundamental": "1787", "counted": "14200",
        "half_turn": "80", "quarter_turn": "8",
        "orbits_of_8": "1765", "orbits_of_4": "18", "orbits_of_2": "4", "orbits_of_1": "0",
    });
    for method in ["", " --method unique"] {
        let json = object(&count(&format!("12 --problem fundamental --json{method}")));
        for (name, number) in numbers.as_object().expect("it is one") {
            assert_eq!(&json[name], number, "{name}{method}");
        }
    }

    let reported = run(&mut queens(&["count", "12", "--problem", "fundamental", "--stats"]));
    assert_eq!(reported.stdout, "1787\n");
    assert!(reported.stderr.contains("orbits of 8 boards"), "{reported:?}");
}

#[test]
fn a_farm_and_its_ledger_know_each_problem() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let submit = |args: &str| {
        let args: Vec<&str> = std::iter::once("submit").chain(args.split(' ')).collect();
        farm.client(&args).success().trim().to_string()
    };
    let jobs = [
        (submit("13 --problem toroidal"), testkit::vectors::toroidal(13)),
        (submit("12 --problem superqueens"), testkit::vectors::superqueens(12)),
        (submit("12 --problem fundamental"), testkit::vectors::fundamental(12)),
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
    // Every output with the total has the answer, and the sum over the tasks has another name.
    let fundamental = &jobs[2].0;
    let status = farm.client(&["jobs", fundamental]).success();
    assert!(status.contains("total     1787\ncounted   14200 before symmetry"), "{status}");
    let list = farm.client(&["jobs"]).success();
    let is_its = |line: &&str| line.split_whitespace().next() == Some(fundamental);
    assert!(list.lines().find(is_its).is_some_and(|line| line.ends_with(" 1787")), "{list}");
    assert!(list.split_whitespace().all(|it| it != "14200"), "{list}");
    for args in [&["jobs", fundamental, "--json"][..], &["watch", fundamental, "--json"]] {
        let reported = farm.client(args).success();
        let reported = object(reported.lines().last().expect("a line"));
        assert_eq!([&reported["total"], &reported["counted"]], ["1787", "14200"], "{args:?}");
    }
    let bundle = Scratch::new();
    let bundle = bundle.path("q12.bundle");
    let bundle = bundle.to_str().expect("a plain path");
    farm.client(&["export", fundamental, bundle]).success();
    let verified = run(&mut queens(&["verify", bundle])).success();
    assert!(verified.contains("total     1787\ncounted   14200 before symmetry"), "{verified}");
    let verified = object(&run(&mut queens(&["verify", bundle, "--json"])).success());
    assert_eq!([&verified["total"], &verified["counted"]], ["1787", "14200"]);
    let status = object(&farm.client(&["jobs", &jobs[3].0, "--json"]).success());
    assert_eq!((&status["problem"], &status["given"]), (&"completions".into(), &"a1".into()));
}

#[test]
fn without_mirroring_every_way_to_fill_the_first_rows_is_a_task() {
    // The 92 boards of 8 rows are also 92 prefixes.
    for (rows, tasks) in [("3", 140), ("8", 92)] {
        let args = ["plan", "8", "--no-mirror", "--rows", rows, "--seconds", "0", "--json"];
        let planned = object(&run(&mut queens(&args)).success());
        assert_eq!((&planned["tasks"], &planned["method"]), (&tasks.into(), &"prefixes".into()));
        assert_eq!(
            count(&format!("8 --no-mirror --rows {rows}")),
            testkit::vectors::total(8).to_string()
        );
    }
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    for (args, expected) in [
        (&["--no-mirror", "--rows", "7"][..], testkit::vectors::total(8)),
        (&["--method", "prefixes"], testkit::vectors::total(8)),
        (&["--method", "prefixes", "--problem", "fundamental"], testkit::vectors::fundamental(8)),
    ] {
        let args = [&["submit", "8", "--wait"], args].concat();
        assert_eq!(farm.client(&args).success(), format!("{expected}\n"), "{args:?}");
    }
    let shown = farm.client(&["jobs", "1"]).success();
    assert!(shown.contains("total N=8 by prefixes M=7"), "{shown}");
}

#[test]
fn tori_and_superqueens_are_counted_up_to_symmetry() {
    let listed = |n: &str, problem: &str| {
        let list = ["list", n, "--problem", problem, "--fundamental"];
        run(&mut queens(&list)).success().lines().count().to_string()
    };
    for (n, problem) in
        [("5", "toroidal"), ("13", "toroidal"), ("9", "superqueens"), ("12", "superqueens")]
    {
        let counted = count(&format!("{n} --problem {problem} --fundamental"));
        assert_eq!(counted, listed(n, problem), "{n} {problem}");
    }
    assert_eq!(count("8 --fundamental"), testkit::vectors::fundamental(8).to_string());
}

#[test]
fn placements_are_counted_by_the_first_queens_column() {
    // OEIS A059963.
    let rows = ["0 1 1 0", "2 2 2 2 2", "0 1 1 1 1 0", "4 7 6 6 6 7 4", "4 8 16 18 18 16 8 4"];
    let expected: Vec<String> = (4..).zip(rows).map(|(n, row)| format!("{n} {row}")).collect();
    assert_eq!(count("4..8 --by-column"), expected.join("\n"));
    for (n, line) in (1..).zip(count("1..12 --by-column").lines()) {
        let columns =
            line.split_whitespace().map(|column| column.parse::<u128>().expect("a number"));
        assert_eq!(columns.skip(1).sum::<u128>(), testkit::vectors::total(n), "N = {n}");
    }
    assert_eq!(count("0 --by-column"), "");
}

#[test]
fn one_search_counts_problems_without_a_method() {
    for (args, lines) in [
        ("8 --blocked a1-h8,a8-h1", "list 8 --blocked a1-h8,a8-h1"),
        ("9 --blocked c1-c9,d4 --given a5", "list 9 --blocked c1-c9,d4 --given a5"),
        ("11 --problem toroidal --given b1", "list 11 --problem toroidal --given b1"),
        ("11 --problem superqueens --given e1", "list 11 --problem superqueens --given e1"),
        ("10 --ranks 4", "plan 10 --tasks --no-mirror --rows 4"),
        ("5 --ranks 6", "list 2"),
    ] {
        let lines: Vec<&str> = lines.split(' ').collect();
        let listed = run(&mut queens(&lines)).success().lines().count();
        assert_eq!(count(args), listed.to_string(), "{args}");
    }
    for (args, by) in [
        ("10 --method colours --given c1,g4", "10 --method rows --given c1,g4"),
        ("9 --method colours --blocked c1-c9,d4 --given a5", "9 --blocked c1-c9,d4 --given a5"),
        ("12 --method colours --blocked a1-l12", "12 --blocked a1-l12"),
    ] {
        assert_eq!(count(args), count(by), "{args}");
    }
    // The values are the numbers of ways to fill the first rows (OEIS A319284), and all placements
    // of the torus, translated.
    let ranks = |n: u32| count(&format!("12 --ranks {n}"));
    assert_eq!([2, 6, 11, 12].map(ranks), ["110", "52856", "68264", "14200"]);
    assert_eq!(
        count("13 --problem toroidal --given g4"),
        (testkit::vectors::toroidal(13) / 13).to_string()
    );
}

#[test]
fn options_that_a_problem_lacks_are_refused() {
    let refused = |args: &str, code, ways: &[&str]| {
        let args: Vec<&str> = args.split(' ').collect();
        run(&mut queens(&args)).refusal(code, ways);
    };
    refused("plan 8 --given a1 --problem toroidal", 2, &["by `queens count` alone"]);
    refused("count 8 --given a1 --problem fundamental", 2, &["up to symmetry", "--problem"]);
    refused("plan 65 --given a1", 3, &["size 65", "0 to 64"]);
    refused(
        "count 8 --no-mirror --problem toroidal",
        3,
        &["by prefixes", "method rows, M up to 5"],
    );
    refused("count 8 --no-mirror --given a1", 3, &["by prefixes", "method rows"]);
    refused("count 8 --no-mirror --method colours", 2, &["leave out --no-mirror"]);
    refused("count 8 --no-mirror --rows 9", 3, &["by prefixes M=9", "at most 8 rows"]);
    refused("count 8 --fundamental --given a1", 2, &["--fundamental", "--given"]);
    refused("count 8 --by-column --problem toroidal", 2, &["leave out --by-column or --problem"]);
    refused("count 8 --by-column --shard 1/2", 2, &["--by-column", "--shard"]);
    refused("list 8 --numbered --orbit", 2, &["--numbered", "--orbit"]);
    for alone in ["--by-column", "--blocked a1", "--method states"] {
        refused(&format!("count 8 {alone} --backend gpu"), 2, &["--backend", "QUEENS_BACKEND"]);
    }
    refused("count 8 --blocked a1 --method rows", 2, &["one plain search", "--method"]);
    refused("count 3 --blocked a1 --method colours", 2, &["sizes from 4 to 32", "--method"]);
    refused("count 3 --given a1 --method colours", 3, &["by colours", "method rows"]);
    refused("count 8 --blocked a1 --given a1", 2, &["a1 stands on a blocked square"]);
    refused("count 8 --blocked a1-b3", 2, &["--blocked", "a1-b3 is no row, column or diagonal"]);
    refused("count 8 --blocked a1-a4000000000", 2, &["a4000000000 is off the board"]);
    refused("count 8..33", 3, &["size 33", "at most 32"]);
    refused("count 33 --by-column", 3, &["size 33", "at most 32"]);
    refused("count 8 --ranks 3 --given a4", 2, &["above rank 3"]);
    refused("count 7 --ranks 3 --problem toroidal", 2, &["leave out --ranks"]);
    refused("count 65 --ranks 3", 3, &["at most 64"]);
    refused("solve 9 --problem superqueens", 1, &["no such placement of 9 queens"]);
    refused("solve 8 --blocked a1-h1", 1, &["no such placement"]);
    refused("solve 8 --blocked a1 --construction pauls", 2, &["cannot be used with"]);
    refused("count 40 --problem toroidal", 3, &["size 40", "a size of at most 32"]);
    refused("count 11 --problem toroidal --method colours", 3, &["toroidal N=11", "method rows"]);
    refused("count 3 --method colours", 3, &["total N=3", "by colours", "from 4 to 32"]);
    refused("count 33 --method colours", 3, &["size 33", "at most 32"]);
    refused("count 4 --given b1,d2,a3 --rows 2", 3, &["up to 1"]);
    refused("count 8 --problem superqueens --method states", 2, &["total alone"]);
    refused("count 8 --method unique", 2, &["--problem fundamental"]);
    refused(
        "submit 8 --problem fundamental --method unique",
        2,
        &["queens count N --method unique"],
    );
}
