//! Tests that results go to standard output, and everything else to standard error.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::process::{queens, run, run_into, run_with_input};
use crate::support::{Farm, Port, Scratch};

#[test]
fn a_count_prints_only_the_total() {
    for n in 0..=12 {
        let output = run(&mut queens(&["count", &n.to_string()])).success();
        assert_eq!(output, format!("{}\n", vectors::total(n)), "N = {n}");
    }
}

#[test]
fn a_count_as_json_says_how_it_was_counted() {
    let output = run(&mut queens(&["count", "10", "--rows", "3", "--threads", "2", "--json"]));
    let json = one_object(&output.success());
    assert_eq!(json["problem"], "total");
    assert_eq!(json["method"], "rows");
    assert_eq!([&json["n"], &json["rows"], &json["threads"]], [10, 3, 2]);
    assert_eq!(json["total"], vectors::total(10).to_string(), "a decimal string");
    assert!(json["seconds"].is_f64() && json["tasks"].is_u64(), "{json}");
}

#[test]
fn a_count_by_ring_says_so() {
    for (n, width) in [(9, "1"), (9, "2")] {
        let mut command = queens(&["count", "9", "--method", "ring", "--width", width, "--json"]);
        let json = one_object(&run(&mut command).success());
        assert_eq!((&json["method"], json["width"].to_string()), (&"ring".into(), width.into()));
        assert_eq!(json["total"], vectors::total(n).to_string());
        assert!(json["rows"].is_null(), "{json}");
    }
}

#[test]
fn halves_is_chosen_where_it_wins_and_has_no_parameter() {
    let by_itself = one_object(&run(&mut queens(&["count", "16", "--json"])).success());
    assert_eq!((&by_itself["method"], &by_itself["total"]), (&"halves".into(), &total(16)));
    let forced = run(&mut queens(&["count", "9", "--method", "halves", "--json"]));
    let forced = one_object(&forced.success());
    assert_eq!((&forced["method"], &forced["total"]), (&"halves".into(), &total(9)));
    assert!(forced["rows"].is_null() && forced["width"].is_null(), "{forced}");
}

fn total(n: u32) -> Value {
    vectors::total(n).to_string().into()
}

#[test]
fn a_plan_describes_the_cost_of_a_count() {
    let plan = ["plan", "24", "--memory", "100MiB", "--threads", "4", "--seconds", "0"];
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("total N=24 by halves") && text.contains("threads   1 of 4"), "{text}");
    assert!(text.contains(&format!("published {} placements (", vectors::total(24))), "{text}");
    assert!(!text.contains("estimate"), "{text}");

    let json = one_object(&run(queens(&plan).arg("--json")).success());
    assert_eq!((&json["threads"], &json["memory_bytes"]), (&1.into(), &(100 << 20).into()));

    let plan = ["plan", "16", "--rows", "4", "--seconds", "0", "--json"];
    let rows = one_object(&run(&mut queens(&plan)).success());
    assert_eq!((&rows["rows"], &rows["tasks"]), (&4.into(), &9844.into()));
}

#[test]
fn a_plan_prints_its_tasks() {
    let lines = |args: &[&str]| -> Vec<String> {
        let printed = run(queens(&["plan", "8", "--tasks"]).args(args)).success();
        printed.lines().map(str::to_owned).collect()
    };
    assert_eq!(lines(&["--rows", "1"]), ["2 1 0 2", "4 2 1 2", "8 4 2 2", "16 8 4 2"]);
    // The mirror images follow the four tasks.
    let plain = lines(&["--rows", "1", "--no-mirror"]);
    assert_eq!((plain.len(), plain[0].as_str(), plain[7].as_str()), (8, "2 1 0 1", "0 128 64 1"));
    for (rows, tasks) in [("2", 42), ("3", 140), ("4", 344), ("8", 92)] {
        assert_eq!(lines(&["--rows", rows, "--no-mirror"]).len(), tasks, "M = {rows}");
        let json = lines(&["--rows", rows, "--json"]);
        let weight = |line: &String| one_object(line)["weight"].as_u64().expect("a number");
        let weights: u64 = json.iter().map(weight).sum();
        assert_eq!(weights, tasks as u64, "M = {rows}");
    }
    run(&mut queens(&["plan", "8", "--tasks", "--method", "halves"])).usage("rows and prefixes");
    run(&mut queens(&["plan", "8", "--tasks", "--problem", "toroidal"])).usage("--problem");
    for args in [&["--rows", "9"][..], &["--rows", "9", "--no-mirror"]] {
        run(queens(&["plan", "8", "--tasks"]).args(args)).refusal(3, &["M=9", "at most 8 rows"]);
    }
}

#[test]
fn a_plan_estimates_total_and_time_from_a_sample() {
    // A busy machine measures too few tasks in a second.
    let sampled = |n: &str, option: &str, has_estimate: fn(&str) -> bool| {
        let mut texts = ["1", "4", "16", "64"].into_iter().map(|seconds| {
            let plan = ["plan", n, "--method", "ring", "--seed", "7", "--seconds", seconds, option];
            run(&mut queens(&plan)).success()
        });
        texts.find(|text| has_estimate(text)).expect("an estimate")
    };
    let json = one_object(&sampled("17", "--json", |text| text.contains("\"estimate\"")));
    let number = |name: &str| -> f64 {
        json[name].as_str().expect("counts are decimal digits").parse().expect("a number")
    };
    let off = (number("estimate") - vectors::total(17) as f64).abs();
    assert!(off <= 3.0 * number("estimate_error"), "{json}");
    assert_eq!((&json["exact"], &json["seed"]), (&false.into(), &"7".into()));
    let seconds = |name: &str| json[name].as_f64().expect("a number");
    assert!(seconds("core_seconds") > 1.0 && seconds("longest_task_seconds") > 0.0, "{json}");

    let said =
        ["placements +- ", "(95%)", "seed 7", "core-hours +- ", "on this machine", "longest"];
    for (threads, are_alike) in [("--threads=1", true), ("--threads=2", false)] {
        let text = sampled("19", threads, |text| !text.contains("estimate  none"));
        assert!(said.iter().all(|args| text.contains(args)), "{text}");
        let time = |from, to| text.split_once(from)?.1.split_once(to).map(|(time, _)| time);
        let (one, all) = (time("(95%): ", " of one thread"), time("machine   about ", " with "));
        assert!(one.is_some() && (one == all) == are_alike, "{text}");
    }
}

#[test]
fn a_plan_counted_in_time_has_an_exact_estimate() {
    let plan = ["plan", "8", "--problem", "fundamental", "--seconds", "60"];
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("estimate  92 placements before symmetry, exact"), "{text}");
    let json = one_object(&run(queens(&plan).arg("--json")).success());
    assert_eq!((&json["estimate"], &json["estimate_error"]), (&"92".into(), &"0".into()));
    assert_eq!(json["exact"], true);

    let torus = ["plan", "11", "--problem", "toroidal", "--json"];
    assert_eq!(one_object(&run(&mut queens(&torus)).success())["estimate"], "88");
}

#[test]
fn a_plan_with_too_long_tasks_has_no_estimate() {
    let plan = ["plan", "25", "--problem", "toroidal", "--rows", "1", "--seconds", "1"];
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("estimate  none") && text.contains("--seconds"), "{text}");
    let json = one_object(&run(queens(&plan).arg("--json")).success());
    assert!(json.get("estimate").is_none(), "{json}");
}

#[test]
fn a_board_that_does_not_fit_the_memory_is_refused_with_advice() {
    for command in ["plan", "count"] {
        let mut command = queens(&[command, "24", "--memory", "64MiB"]);
        run(&mut command).refusal(3, &["MiB of memory per thread", "--memory", "--method ring"]);
    }
    run(&mut queens(&["count", "8", "--memory", "much"])).usage("--memory");

    let scratch = Scratch::new();
    let ledger = scratch.path("none.db");
    let mut refused = queens(&["count", "24", "--memory", "64MiB", "--ledger"]);
    run(refused.arg(&ledger)).refusal(3, &["--memory"]);
    assert!(!ledger.exists(), "nothing is left behind");

    let mut one_fits = queens(&["count", "16", "--memory", "6MiB", "--threads", "2", "--json"]);
    assert_eq!(one_object(&run(&mut one_fits).success())["threads"], 1);
}

#[test]
fn a_parameter_of_another_method_is_refused() {
    let refusals: [(&[&str], &str); 4] = [
        (&["--method", "rows", "--width", "1"], "leave out --width"),
        (&["--method", "ring", "--rows", "2"], "leave out --rows"),
        (&["--method", "halves", "--rows", "2"], "leave out --rows"),
        (&["--rows", "2", "--width", "1"], "cannot be used with"),
    ];
    for (args, way_out) in refusals {
        let command = ["count", "8"].iter().chain(args).copied().collect::<Vec<_>>();
        run(&mut queens(&command)).refusal(2, &[way_out]);
    }
    let ring = |n, width| run(&mut queens(&["count", n, "--method", "ring", "--width", width]));
    ring("8", "3").refusal(3, &["the width is 1 or 2"]);
    ring("3", "2").refusal(3, &["by the method rows"]);
}

#[test]
fn a_job_as_json_has_its_total_once_it_is_done() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(10, 3, 7);

    let waiting = one_object(&farm.client(&["jobs", "1", "--json"]).success());
    assert_eq!((&waiting["state"], &waiting["total"]), (&"running".into(), &Value::Null));
    assert_eq!(waiting["priority"], 7);

    let _worker = farm.start_worker();
    let done = farm.client(&["watch", "1", "--json"]).success();
    let done = one_object(done.lines().last().expect("watch prints every change"));
    assert_eq!(done["state"], "done");
    assert_eq!(done["total"], vectors::total(10).to_string());
    assert_eq!(done["tasks_done"], done["tasks"]);
    // Each job is one object on its own line.
    assert_eq!(one_object(&farm.client(&["jobs", "--json"]).success())["job"], 1);
}

#[test]
fn counting_stops_when_the_reader_has_gone() {
    // The last of these boards would take forever.
    for args in [&["count", "8"][..], &["count", "8..32", "-q"], &["compare", "8..32", "--all"]] {
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        drop(reader);
        let outcome = run_into(&mut queens(args), writer);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(141), ""), "{args:?}");
    }
}

#[test]
fn a_count_ends_with_a_line_about_its_cost() {
    for (args, how) in [
        (&["count", "10"][..], "rows by portable, "),
        (&["count", "8..10"], "rows by portable, "),
        (
            &["count", "10", "--method", "halves", "--threads", "1"],
            "halves by portable, 1 thread; as published (OEIS A000170)\n",
        ),
        (&["count", "10", "--method", "states"], "states, 1 thread\n"),
        (&["count", "70", "--board", "-"], "arrays, 1 thread\n"),
    ] {
        let given = run(&mut queens(&["solve", "70", "--format", "squares"])).success();
        let input = if args.contains(&"--board") { given.as_str() } else { "" };
        let outcome = run_with_input(&mut queens(args), input);
        let line = &outcome.stderr;
        assert!(line.starts_with("done in 0.") && line.contains(" placements/s; "), "{line}");
        assert!(line.contains(how) && line.lines().count() == 1, "{line}");
        outcome.success();
        let args = [args, &["--quiet"]].concat();
        assert_eq!(run_with_input(&mut queens(&args), input).stderr, "", "{args:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let args =
        ["count 8", "-h", "count --help", "--version", "help", "help count", "help exit-codes"];
    for args in args {
        let args: Vec<&str> = args.split(' ').collect();
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let outcome = run_into(&mut queens(&args), full);
        outcome.refusal(10, &["queens: cannot write to standard output: No space left"]);
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let args = ["check", "--board", "/dev/zero"];
    run(&mut queens(&args)).refusal(2, &["cannot read /dev/zero (it has more than 1 GiB)"]);
    let verify = run(&mut queens(&["verify", "/dev/zero"]));
    verify.refusal(2, &["cannot read the bundle /dev/zero (it is a folder, a pipe or a device)"]);
}

#[test]
fn an_unwritable_message_changes_no_exit_code() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db").display().to_string();
    let limited = ["count", "18", "--method", "rows", "--time-limit", "1s", "--ledger", &ledger];
    for (args, code) in [
        (&["solve", "8", "--given", "a1", "--stats"][..], 0),
        (&["check", "a1", "b2"], 1),
        (&["count", "99"], 3),
        (&limited, 75),
        (&["worker", "--coordinator", "127.0.0.1:1", "--verbose", "--time-limit", "1s"], 0),
    ] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let status = queens(args).stdout(Stdio::null()).stderr(full).status();
        assert_eq!(status.expect("it starts").code(), Some(code), "{args:?}");
    }
    run(&mut queens(&["scrub", &ledger])).success();
}

#[test]
fn logs_are_one_json_object_a_line_if_asked_for() {
    let farm = Farm::new("--log-format json", "");
    let mut coordinator = farm.start_coordinator();
    coordinator.signal("TERM");
    coordinator.wait();

    let said = coordinator.said();
    let messages: Vec<Value> =
        said.lines().map(|line| one_object(line)["message"].take()).collect();
    assert_eq!(messages, ["coordinator serves", "asked to stop: closing the ledger"]);
}

#[test]
fn no_color_has_effect_on_a_terminal() {
    // The help and a log line are coloured elsewhere.
    let scratch = Scratch::new();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let busy = busy.local_addr().expect("it is bound").to_string();
    let token = scratch.path("token");
    let program = env!("CARGO_BIN_EXE_queens");
    let logs = format!(
        "{program} coordinator --log debug --token-file {} --listen {busy}",
        token.display()
    );
    for args in [format!("{program} count --help"), logs] {
        let colours = |no_color: &str| {
            let _ = std::fs::remove_file(&token);
            let mut on_a_terminal = Command::new("script");
            on_a_terminal.args(["--quiet", "--return", "--command", &args, "/dev/null"]);
            on_a_terminal.env("NO_COLOR", no_color).env("TERM", "xterm");
            let shown = run(&mut on_a_terminal).stdout;
            assert!(!shown.is_empty(), "{args}");
            shown.contains('\x1b')
        };
        assert!(colours(""), "{args}");
        assert!(!colours("1"), "{args}");
    }
}

#[test]
fn options_can_be_environment_variables() {
    let counted = run(queens(&["count", "8", "--json"])
        .env("QUEENS_THREADS", "1")
        .env("QUEENS_BACKEND", "reference"));
    let json = one_object(&counted.success());
    assert_eq!((&json["threads"], &json["backend"]), (&1.into(), &"reference".into()));

    let nobody = Port::reserve();
    let refused = run(queens(&["jobs"]).env("QUEENS_COORDINATOR", nobody.url()));
    refused.refusal(5, &[&nobody.url()]);
}

#[test]
fn every_exit_code_is_in_the_help() {
    let help = run(&mut queens(&["help", "exit-codes"])).success();
    for code in (0..=19).chain([70, 75, 130, 141]) {
        assert!(help.contains(&format!("\n| {code} | ")), "{code}: {help}");
    }
}

fn one_object(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn the_explanation_comes_to_the_total_and_is_the_page_in_docs() {
    for n in [6, 8, 10] {
        let text = run(&mut queens(&["explain", &n.to_string()])).success();
        let total = format!("The sum over all splits is {}, ", vectors::total(n));
        assert!(text.contains(&total) && text.contains("| all | "), "{text}");
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/EXPLAINED.md");
    let page = std::fs::read_to_string(page).expect("it is in the repository");
    let reported = run(&mut queens(&["explain"])).success();
    assert_eq!(page, reported, "`queens explain > docs/EXPLAINED.md` writes the page anew");
    run(&mut queens(&["explain", "7"])).usage("6, 8, 10");
}
