//! Tests that results go to standard output, and everything else to standard error.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::terminals::{PROGRAM, of_a_shell};
use crate::object;
use crate::support::process::{queens, run, run_into, run_with_input};
use crate::support::{Farm, Scratch};

#[test]
fn a_count_prints_only_the_total() {
    for n in 0..=12 {
        let output = run(&mut queens(&["count", &n.to_string()])).success();
        assert_eq!(output, format!("{}\n", testkit::vectors::total(n)), "N = {n}");
    }
}

#[test]
fn a_count_as_json_says_how_it_was_counted() {
    let null = Value::Null;
    for (args, n, method, rows) in [
        ("10 --rows 3 --threads 2", 10, "rows", &3.into()),
        ("9 --no-mirror --rows 2", 9, "prefixes", &2.into()),
        ("9 --method colours", 9, "colours", &null),
        // Colours is chosen where it wins.
        ("16", 16, "colours", &null),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let json = object(&run(queens(&["count", "--json"]).args(args)).success());
        assert_eq!((&json["problem"], &json["method"]), (&"total".into(), &method.into()));
        assert_eq!((&json["n"], &json["rows"]), (&n.into(), rows));
        assert_eq!(json["total"], testkit::vectors::total(n).to_string(), "a decimal string");
        assert!(json["seconds"].is_f64() && json["tasks"].is_u64(), "{json}");
    }
}

#[test]
fn a_plan_describes_the_cost_of_a_count() {
    let plan = "plan 24 --method colours --threads 4 --seconds 0";
    let plan: Vec<&str> = plan.split(' ').collect();
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("total N=24 by colours") && text.contains("threads   4"), "{text}");
    assert!(
        text.contains(&format!("published {} placements (", testkit::vectors::total(24))),
        "{text}"
    );
    assert!(!text.contains("estimate"), "{text}");

    let json = object(&run(queens(&plan).arg("--json")).success());
    assert_eq!(json["threads"], 4);

    let plan = ["plan", "16", "--rows", "4", "--seconds", "0", "--json"];
    let rows = object(&run(&mut queens(&plan)).success());
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
    for (rows, tasks) in [("2", 42), ("8", 92)] {
        assert_eq!(lines(&["--rows", rows, "--no-mirror"]).len(), tasks, "M = {rows}");
        let json = lines(&["--rows", rows, "--json"]);
        let weight = |line: &String| object(line)["weight"].as_u64().expect("a number");
        assert_eq!(json.iter().map(weight).sum::<u64>(), tasks as u64, "M = {rows}");
    }
    run(&mut queens(&["plan", "8", "--tasks", "--method", "colours"])).usage("rows and prefixes");
    run(&mut queens(&["plan", "8", "--tasks", "--problem", "toroidal"])).usage("--problem");
    run(&mut queens(&["plan", "8", "--tasks", "--rows", "9"]))
        .refusal(3, &["M=9", "at most 8 rows"]);
}

#[test]
fn a_plan_estimates_total_and_time_from_a_sample() {
    // A busy machine measures too few tasks in a second.
    let sampled = |n: &str, option: &str, has_estimate: fn(&str) -> bool| {
        let mut texts = ["1", "4", "16", "64"].into_iter().map(|seconds| {
            let plan = ["plan", n, "--method", "rows", "--seed", "7", "--seconds", seconds, option];
            run(&mut queens(&plan)).success()
        });
        texts.find(|text| has_estimate(text)).expect("an estimate")
    };
    let json = object(&sampled("17", "--json", |text| text.contains("\"estimate\"")));
    let number = |name: &str| -> f64 {
        json[name].as_str().expect("counts are decimal digits").parse().expect("a number")
    };
    let off = (number("estimate") - testkit::vectors::total(17) as f64).abs();
    assert!(off <= 3.0 * number("estimate_error"), "{json}");
    assert_eq!((&json["exact"], &json["seed"]), (&false.into(), &"7".into()));

    for (threads, are_alike) in [("--threads=1", true), ("--threads=2", false)] {
        let text = sampled("19", threads, |text| !text.contains("estimate  none"));
        assert!(text.contains("placements +- ") && text.contains("core-hours +- "), "{text}");
        let time = |from, to| text.split_once(from)?.1.split_once(to).map(|(time, _)| time);
        let (one, all) = (time("(95%): ", " of one thread"), time("machine   about ", " with "));
        assert!(one.is_some() && (one == all) == are_alike, "{text}");
    }
}

#[test]
fn an_estimate_may_be_exact_or_impossible() {
    let plan = ["plan", "8", "--problem", "fundamental", "--seconds", "60"];
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("estimate  92 placements before symmetry, exact"), "{text}");
    let json = object(&run(queens(&plan).arg("--json")).success());
    assert_eq!((&json["estimate"], &json["estimate_error"]), (&"92".into(), &"0".into()));
    assert_eq!(json["exact"], true);

    let plan = ["plan", "25", "--problem", "toroidal", "--rows", "1", "--seconds", "1"];
    let text = run(&mut queens(&plan)).success();
    assert!(text.contains("estimate  none") && text.contains("--seconds"), "{text}");
    let json = object(&run(queens(&plan).arg("--json")).success());
    assert!(json.get("estimate").is_none(), "{json}");
}

#[test]
fn a_parameter_of_another_method_is_refused() {
    run(&mut queens(&["count", "8", "--method", "colours", "--rows", "2"]))
        .refusal(2, &["leave out --rows"]);
}

#[test]
fn a_command_that_only_prints_ends_with_its_reader() {
    let scratch = Scratch::new();
    let (ledger, bundle) = (scratch.path("ledger.db"), scratch.path("bundle"));
    let count = ["count", "18", "--method", "colours", "--backend", "portable", "--ledger"];
    let stop = ["--time-limit", "4s"];
    run(queens(&count).arg(&ledger).args(stop));
    run(queens(&["export", "1"]).arg(&bundle).arg("--ledger").arg(&ledger)).success();
    // Most of these would take forever, and some of them print nothing before their end.
    for args in [
        "count 8",
        "count 8..32 -q",
        "count 28 --by-column",
        "compare 8..32 --all",
        "solve 1000000",
        "list 25 --number 1000000000000",
        "plan 28 --seconds 1000000 --json",
        "bench --sample-ms 600000",
        &format!("verify {} --all --backend reference", bundle.display()),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let (reader, writer) = std::io::pipe().expect("pipes can be made");
        drop(reader);
        let outcome = run_into(&mut queens(&args), writer);
        let said = outcome.stderr.lines().filter(|line| !line.starts_with("counts every range"));
        assert_eq!((outcome.code, said.count()), (Some(141), 0), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_count_ends_with_a_line_about_its_cost() {
    for (args, how) in [
        (&["count", "10"][..], "rows by portable, "),
        (&["count", "8..10"], "rows by portable, "),
        (
            &["count", "10", "--method", "colours", "--threads", "1"],
            "colours by portable, 1 thread; as published (OEIS A000170)\n",
        ),
        (&["count", "10", "--method", "states"], "states, 1 thread\n"),
        (&["count", "70", "--board", "-"], "arrays, 1 thread\n"),
    ] {
        let given = run(&mut queens(&["solve", "70", "--format", "squares"])).success();
        let input = if args.contains(&"--board") { given.as_str() } else { "" };
        let outcome = run_with_input(&mut queens(args), input);
        let line = &outcome.stderr;
        assert!(line.starts_with("done in "), "{line}");
        assert!(line.contains(how) && line.lines().count() == 1, "{line}");
        outcome.success();
        let args = [args, &["--quiet"]].concat();
        assert_eq!(run_with_input(&mut queens(&args), input).stderr, "", "{args:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    for args in [
        "count 8",
        "solve 8",
        "solve 100000",
        "-h",
        "count --help",
        "--version",
        "help",
        "help count",
        "help exit-codes",
    ] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let outcome = run_into(queens(&[]).args(args.split(' ')), full);
        outcome.refusal(10, &["queens: cannot write to standard output: No space left"]);
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let args = ["check", "--board", "/dev/zero"];
    run(&mut queens(&args)).refusal(2, &["cannot read /dev/zero (it is no regular file)"]);
    let verify = run(&mut queens(&["verify", "/dev/zero"]));
    verify.refusal(2, &["cannot read the bundle /dev/zero (it is no regular file)"]);
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
    run(&mut queens(&["backup", "--check", &ledger])).success();
}

#[test]
fn logs_are_one_json_object_a_line_if_asked_for() {
    let farm = Farm::new("--log-format json", "");
    let mut coordinator = farm.start_coordinator();
    coordinator.signal("TERM");
    coordinator.wait();

    let said = coordinator.said();
    let messages: Vec<Value> = said.lines().map(|line| object(line)["message"].take()).collect();
    assert_eq!(messages, ["coordinator serves", "asked to stop: closing the ledger"]);
}

#[test]
fn no_color_and_a_dumb_terminal_have_effect() {
    // The help and a log line are coloured elsewhere.
    let logs = "worker --threads 1 --coordinator 127.0.0.1:1 --give-up-after 1ms";
    for args in ["count --help", logs] {
        let colours = |no_color: &str, term| {
            let mut on_a_terminal = of_a_shell(&format!("{PROGRAM} {args}"), term);
            let shown = run(on_a_terminal.env("NO_COLOR", no_color)).stdout;
            assert!(!shown.is_empty(), "{args}");
            shown.contains('\x1b')
        };
        assert!(colours("", "xterm"), "{args}");
        assert!(!colours("1", "xterm") && !colours("", "dumb"), "{args}");
    }
}

#[test]
fn every_exit_code_is_in_the_help() {
    let help = run(&mut queens(&["help", "exit-codes"])).success();
    for code in (0..=19).chain([70, 75, 130, 141]) {
        assert!(help.contains(&format!("\n{code:<4}  ")), "{code}: {help}");
    }
    // A package of the program has only files of its own folder, and readers look in docs.
    let [page, built_in] = ["../../docs/EXIT-CODES.md", "src/cli/exit-codes.md"]
        .map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .map(|path| std::fs::read_to_string(path).expect("it is in the repository"));
    assert_eq!(
        page, built_in,
        "copy src/cli/exit-codes.md, which is built in, to docs/EXIT-CODES.md"
    );
}

#[cfg(unix)]
#[test]
fn a_limit_of_threads_or_files_is_named_and_is_no_fault() {
    let scratch = Scratch::new();
    let serve =
        format!("coordinator --listen 127.0.0.1:0 --ledger {}", scratch.path("l.db").display());
    let keep = format!("count 8 --ledger {}", scratch.path("c.db").display());
    for args in ["count 8", "count 8 --by-column", &keep, &serve] {
        // The stack of each new thread would be larger than any address space.
        let args: Vec<&str> = args.split(' ').collect();
        let refused = run(queens(&args).env("RUST_MIN_STACK", "1125899906842624"));
        refused.refusal(75, &["the system refuses a thread", "`ulimit -u`"]);
    }
    let said = (3..10).map(|files| {
        let count = format!("ulimit -n {files}; exec \"$0\" count 8");
        run(Command::new("sh").args(["-c", &count, PROGRAM])).stderr
    });
    let said = said.collect::<String>();
    assert!(said.contains("`ulimit -n`") && !said.contains("fault"), "{said}");
}

#[test]
fn the_explanation_comes_to_the_total_and_is_the_page_in_docs() {
    for n in [6, 8, 10] {
        let text = run(&mut queens(&["explain", &n.to_string()])).success();
        let total = format!("which stand for {} placements.", testkit::vectors::total(n));
        assert!(text.contains(&total) && text.contains("| all | "), "{text}");
        let fundamental = format!("\n8 x {} = ", testkit::vectors::fundamental(n));
        assert!(text.contains(&fundamental), "{text}");
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/EXPLAINED.md");
    let page = std::fs::read_to_string(page).expect("it is in the repository");
    let reported = run(&mut queens(&["explain"])).success();
    assert_eq!(page, reported, "`queens explain > docs/EXPLAINED.md` writes the page anew");
    run(&mut queens(&["explain", "7"])).usage("6, 8, 10, colours");
}

#[test]
fn the_explanation_of_colours_is_part_of_every_page_and_comes_to_the_total() {
    let alone = run(&mut queens(&["explain", "colours"])).success();
    let (_, section) = alone.split_once(" of this board.\n\n").expect("it follows the heading");
    let total = testkit::vectors::total(6);
    let all = section.lines().find(|line| line.starts_with("| all | ")).expect("a table ends so");
    assert!(all.ends_with(&format!(" | {total} |")), "{all}");
    assert!(section.contains(&format!(" for {total} boards")), "{section}");
    for n in [6, 8, 10] {
        let page = run(&mut queens(&["explain", &n.to_string()])).success();
        assert!(page.contains(section.trim_end()), "{page}");
        let tasks = format!("and these come to {}.", testkit::vectors::total(n));
        assert!(n == 6 || page.contains(&tasks), "{page}");
    }
}

#[test]
fn the_pictures_of_both_colours_are_drawn_by_the_program() {
    // The board that `queens explain colours` shows.
    for (name, squares) in [("black", "d2 c5"), ("white", "b1 f3 a4 e6")] {
        let path = format!("{}/../../docs/images/colours-{name}.svg", env!("CARGO_MANIFEST_DIR"));
        let picture = std::fs::read_to_string(path).expect("it is in the repository");
        let draw = format!("draw --size 6 --attacks --format svg {squares}");
        let drawn = run(&mut queens(&draw.split(' ').collect::<Vec<_>>())).success();
        assert_eq!(picture, drawn, "`queens {draw}` draws it anew");
    }
}
