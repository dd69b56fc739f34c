//! Tests of the progress that a count shows, mostly on a terminal. The program `script` provides
//! the terminal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::support::process::{Process, queens, without_settings};
use crate::support::{Farm, at_once};

/// A shell command on a terminal. The shell is always the same, because some shells replace
/// themselves by a single command, which decides who owns the terminal.
pub(super) fn of_a_shell(command: &str, term: &str) -> Command {
    let arguments = ["--quiet", "--return", "--command", command, "/dev/null"];
    let mut script = without_settings(Command::new("script"), &arguments);
    script.env("TERM", term).env("SHELL", "/bin/sh");
    script
}

/// Runs a command on a terminal of this size. Returns everything that was sent to the terminal.
fn on_a_terminal((rows, columns): (u32, u32), term: &str, command: &str) -> String {
    let sized = format!("stty columns {columns} rows {rows}; {command}");
    let output = of_a_shell(&sized, term).output().expect("the package bsdutils has `script`");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Runs a command on a terminal until it has shown `what`, and interrupts it then. Returns its exit
/// code and everything that was sent to the terminal.
fn interrupted_at(what: &str, (rows, columns): (u32, u32), command: &str) -> (Option<i32>, String) {
    let command = format!("timeout --preserve-status --signal INT 60 {command}");
    let sized =
        format!("stty columns {columns} rows {rows}; {command} & read _; kill -INT $!; wait $!");
    let mut script = of_a_shell(&sized, "xterm");
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script");
    let mut keys = script.stdin.take().expect("a pipe");
    let mut shown = script.stdout.take().expect("a pipe");
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while !drawn(&String::from_utf8_lossy(&all)).join("\n").contains(what) {
        let read = shown.read(&mut piece).expect("it can be read");
        assert!(read > 0, "{what}: {}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&piece[..read]);
    }
    keys.write_all(b"\n").expect("script reads what is typed");
    shown.read_to_end(&mut all).expect("it can be read");
    let ended = script.wait().expect("script ends");
    drop(keys);
    (ended.code(), String::from_utf8_lossy(&all).into_owned())
}

/// The lines that were drawn on a terminal, in order, without the movements of the cursor.
pub(super) fn drawn(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // An escape sequence is ESC [ … letter.
            '\u{1b}' => while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {},
            c => plain.push(c),
        }
    }
    plain.split(['\r', '\n']).map(str::to_string).filter(|line| !line.is_empty()).collect()
}

/// A total as a terminal shows it.
fn grouped(total: u128) -> String {
    let digits: Vec<char> = total.to_string().chars().rev().collect();
    let groups: Vec<String> = digits.chunks(3).map(|group| group.iter().collect()).collect();
    groups.join(",").chars().rev().collect()
}

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_queens");

#[test]
fn the_bar_fits_a_narrow_terminal() {
    for columns in [40, 24] {
        let count = format!("{PROGRAM} count 15 --rows 5 -t 1");
        let lines = drawn(&on_a_terminal((10, columns), "xterm", &count));
        let bars: Vec<&String> = lines.iter().filter(|line| line.starts_with("N=15 ")).collect();
        assert!(bars.iter().any(|bar| bar.contains('%')), "{lines:?}");
        assert!(bars.iter().all(|bar| bar.chars().count() <= columns as usize), "{bars:?}");
        let total = grouped(testkit::vectors::total(15));
        // The line about the cost may need two lines of a narrow terminal.
        let end = lines.iter().position(|line| *line == total).expect("it has a total");
        let is_ours = |line: &String| line.trim().is_empty() || line.starts_with("N=15 ");
        assert!(lines[..end].iter().all(is_ours), "{columns}: {lines:?}");
        assert!(lines[end + 1].starts_with("done in "), "{lines:?}");
        // Programs read digits alone.
        let piped = drawn(&on_a_terminal((10, columns), "xterm", &format!("{count} | cat")));
        let digits = testkit::vectors::total(15).to_string();
        assert!(piped.iter().any(|line| line.ends_with(&digits)), "{piped:?}");
    }
}

#[test]
fn nothing_is_drawn_if_it_is_unwanted_or_impossible() {
    let total = grouped(testkit::vectors::total(16));
    let watch = of_a_shell(&format!("{PROGRAM} watch"), "dumb").output().expect("`script` runs");
    let said = String::from_utf8_lossy(&watch.stdout);
    assert!(said.contains("a terminal that can draw again") && !said.contains('\u{1b}'), "{said}");
    for (term, option, lines) in [("dumb", "", 2), ("xterm", "--quiet", 1)] {
        let count = format!("{PROGRAM} count 16 -t 1 {option}");
        let text = on_a_terminal((10, 80), term, &count);
        assert_eq!(text.lines().next(), Some(total.as_str()), "{term} {option}");
        assert_eq!(text.lines().count(), lines, "{term} {option}: {text}");
    }
}

/// Errors, boards, headings and states have colours on a terminal alone, and not if the user or the
/// terminal wants none.
#[test]
fn colours_are_for_terminals_that_want_them() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(18, 2, 0);
    let farm = farm.url();
    for command in [
        "count 40",
        "draw a2 b4 c1 d3",
        "solve 8 --format board",
        "list 6 --format board --limit 2",
        "-h",
        "count -h",
        "help all",
        "explain 6",
        &format!("jobs --coordinator {farm}"),
        &format!("jobs 1 --coordinator {farm}"),
    ] {
        let shown = |command: &str, term| {
            let output =
                of_a_shell(command, term).output().expect("the package bsdutils has `script`");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let command = format!("{PROGRAM} {command}");
        assert!(shown(&command, "xterm").contains("\u{1b}["), "{command}");
        for plain in [
            shown(&format!("NO_COLOR=1 {command}"), "xterm"),
            shown(&command, "dumb"),
            shown(&format!("{command} 2>&1 | cat"), "xterm"),
        ] {
            assert!(!plain.contains('\u{1b}') && !plain.contains('♛'), "{command}: {plain:?}");
        }
    }
    let board = on_a_terminal((24, 80), "xterm", &format!("{PROGRAM} draw a2 b4 c1 d3"));
    assert_eq!(board.matches('♛').count(), 4, "{board}");
}

/// The client only asks for unfinished jobs, and for no more than fit on the screen.
#[test]
fn a_watch_of_the_farm_runs_until_it_is_ended() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    for _ in 0..6 {
        farm.submit(18, 2, 0);
    }
    farm.client(&["cancel", "1", "3"]).success();
    // Nothing is counted, so that the test takes no processor.
    farm.client(&["pause", "2", "4", "5", "6"]).success();
    let _worker = farm.start_worker_with("--name busy");
    let client = |args: &str| format!("{PROGRAM} {args} --coordinator {}", farm.url());
    let watch = |(rows, last): (u32, &str)| {
        let (code, text) = interrupted_at(last, (rows, 120), &client("watch"));
        assert_eq!(code, Some(0), "{text}");
        // Each update clears the drawn lines, so the last update follows the last such sequence.
        drawn(text.rsplit("\u{1b}[0J").next().unwrap_or_default())
    };
    // A terminal that says it has no lines is taken for a usual one.
    let watched = at_once([(20, "busy"), (3, "workers: 1"), (0, "busy")], watch);
    assert!(watched[2][0].starts_with("jobs not ended: 4; workers: 1"), "{watched:?}");
    assert_eq!(watched[2].len(), watched[0].len(), "{watched:?}");
    let lines = &watched[0];
    assert!(lines[0].starts_with("jobs not ended: 4; workers: 1, threads: 1"), "{lines:?}");
    // `timeout` runs the program in its own process group, where it does not read keys.
    assert!(lines[0].ends_with("; Ctrl-C ends this"), "{lines:?}");
    let numbers: Vec<&str> =
        lines[2..6].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["2", "4", "5", "6"], "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("busy")), "{lines:?}");
    let lines = &watched[1];
    assert!(lines[0].starts_with("jobs not ended: 3 and more; workers: 1"), "{lines:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");

    let jobs = |columns| drawn(&on_a_terminal((20, columns), "xterm", &client("jobs")));
    let (wide, narrow) = (jobs(200), jobs(60));
    assert!(wide[0].contains("SUBMITTED") && !narrow[0].contains("SUBMITTED"), "{narrow:?}");
    // The running jobs come first, followed by the columns that are left out. The ended jobs come
    // afterwards.
    let mut rows = narrow[..5].iter().chain(&narrow[6..9]);
    assert!(rows.all(|line| line.chars().count() <= 60), "{narrow:?}");
    assert!([5, 9].iter().all(|at| narrow[*at].starts_with("without ")), "{narrow:?}");

    // A key ends the watch, before the first update or after it. The pipe stays open like a
    // keyboard. At its end, `script` would type the end of a file.
    let mut script = of_a_shell(&format!("timeout --foreground 60 {}", client("watch")), "xterm");
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script");
    let mut keys = script.stdin.take().expect("a pipe");
    keys.write_all(b"xq").expect("script reads what is typed");
    let ended = script.wait_with_output().expect("script ends");
    drop(keys);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

#[test]
fn a_watch_of_a_job_says_why_it_waits_and_ends_with_a_key() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(18, 2, 0);
    let watch = format!("timeout --foreground 60 {PROGRAM} watch 1 --coordinator {}", farm.url());
    let mut script = of_a_shell(&format!("stty columns 60; {watch}"), "xterm");
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script");
    let mut keys = script.stdin.take().expect("a pipe");
    let mut shown = BufReader::new(script.stdout.take().expect("a pipe"));
    let (mut text, mut line) = (String::new(), Vec::new());
    while !text.contains("none is connected")
        && shown.read_until(b'\n', &mut line).is_ok_and(|read| read > 0)
    {
        text += &String::from_utf8_lossy(&std::mem::take(&mut line));
    }
    keys.write_all(b"xq").expect("script reads what is typed");
    shown.read_to_string(&mut text).expect("it is text");
    assert_eq!(script.wait().expect("script ends").code(), Some(130), "{text}");
    drop(keys);
    assert!(text.contains("%  waits  ") && text.contains("job 1 goes on"), "{text:?}");
}

#[test]
#[ignore = "waits for half a minute: CI runs it"]
fn progress_is_a_line_of_the_log_in_the_log_s_format() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let count = ["count", "26", "--method", "rows", "--threads", "1", "--log-format", "json"];
    let mut counting = Process::start(&mut queens(&count), folder.path().join("log"));

    counting.wait_for_line(r#""target":"progress""#);

    let lines = counting.said();
    for line in lines.lines() {
        let event = crate::object(line);
        let message = event["message"].as_str().expect("it says something");
        assert!(message.starts_with("N=26  0.0%"), "{lines}");
    }
}

/// The options of `count` that a ledger would not go with are never advised.
#[test]
fn a_long_count_says_how_to_keep_it() {
    const LONG: &str = "20 --rows 6 -t 1";
    let folder = tempfile::tempdir().expect("a temporary directory");
    let kept = format!("{LONG} --ledger {}", folder.path().join("q.db").display());
    let silent = [format!("{LONG} -q"), "12".into(), kept];
    let advice = format!("`queens count {LONG} --ledger q20.db`");
    std::thread::scope(|scope| {
        let advised =
            scope.spawn(|| interrupted_at(&advice, (24, 200), &format!("{PROGRAM} count {LONG}")));
        at_once(silent, |args| {
            let count = format!("timeout --preserve-status --signal INT 5 {PROGRAM} count {args}");
            let shown = of_a_shell(&format!("stty columns 200; {count}"), "xterm").output();
            let shown = shown.expect("`script` runs").stdout;
            let said = drawn(&String::from_utf8_lossy(&shown)).join("\n");
            assert!(!said.contains("this takes about "), "{args}: {said}");
        });
        let (_, said) = advised.join().expect("it is advised");
        assert!(said.contains("this takes about "), "{said}");
    });
}

#[test]
fn a_watch_of_several_jobs_names_those_that_go_on() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    for _ in 0..3 {
        farm.submit(18, 2, 0);
    }
    farm.client(&["cancel", "1"]).success();
    let cases = [
        ("2 3", "jobs 2, 3 go on; `queens watch 2 3 --coordinator "),
        ("2", "job 2 goes on; `queens watch 2 --coordinator "),
        ("1 2 3", "jobs 2, 3 go on;"),
    ];
    at_once(cases, |(jobs, said)| {
        let watch = format!("{PROGRAM} watch {jobs} --coordinator {}", farm.url());
        let watch = format!("stty columns 200; timeout --preserve-status --signal INT 2 {watch}");
        let output = of_a_shell(&watch, "xterm").output().expect("`script` runs");
        let text = drawn(&String::from_utf8_lossy(&output.stdout)).join("\n");
        assert!(text.contains(said), "{jobs}: {text}");
    });
    let submit = format!("{PROGRAM} submit 18 --rows 2 --coordinator {}", farm.url());
    let text = on_a_terminal((24, 80), "xterm", &submit);
    assert!(text.contains("`queens watch 4 --coordinator "), "{text}");
    let text = on_a_terminal((24, 80), "xterm", &format!("{submit} --quiet"));
    assert!(!text.contains("follows"), "{text}");
}
