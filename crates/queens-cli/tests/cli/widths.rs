//! Tests that what is printed for people fits terminals of 40, 80 and 120 columns.

use super::terminals::{PROGRAM, drawn, of_a_shell};
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch, at_once};

/// The lines that a command shows on a terminal of this width, whatever its exit code is.
fn lines(columns: usize, command: &str) -> Vec<String> {
    let sized = format!("stty columns {columns} rows 24; {PROGRAM} {command}");
    let output = of_a_shell(&sized, "xterm").output().expect("the package bsdutils has `script`");
    drawn(&String::from_utf8_lossy(&output.stdout))
}

/// Asserts that no line of these commands is longer than the terminal is wide. A single word may
/// be: an address or a path is not broken.
#[track_caller]
fn assert_fits(commands: &[String]) {
    at_once([40, 80, 120], |columns| {
        for command in commands {
            let lines = lines(columns, command);
            assert!(!lines.is_empty(), "{command}");
            let is_long = |line: &&String| {
                line.chars().count() > columns && line.split_whitespace().count() > 1
            };
            assert_eq!(lines.iter().find(is_long), None, "{columns}: queens {command}: {lines:#?}");
        }
    });
}

#[track_caller]
fn assert_each_fits(commands: &[&str]) {
    assert_fits(&commands.iter().map(ToString::to_string).collect::<Vec<_>>());
}

#[test]
fn results_of_this_machine_fit() {
    assert_each_fits(&[
        "count 12",
        "count 10..12",
        "count 8 --problem fundamental --stats",
        "plan 14 --seconds 1 --seed 1",
        "plan 27 --seconds 0",
        "plan 12 --problem fundamental --method unique",
        "compare 8 --algorithms masks,states,colours,rows",
        "compare 16 --algorithms rooks,direct",
        "bench --list",
        "solve 8",
        "solve 20",
        "solve 8 --given a1,g2 --stats",
        "list 12 --limit 3",
        "draw a1 b5 c8 d6 e3 f7 g2 h4",
        "draw --size 8 --attacks a1 c2 b3",
        "check 2 4 6 8 3 1 7 5",
    ]);
}

#[test]
fn pages_and_help_fit() {
    let mut commands: Vec<String> = ["explain", "explain 6", "explain colours", "-h", "--version"]
        .map(String::from)
        .into_iter()
        .chain(["help all", "help connection", "help logs", "help exit-codes"].map(String::from))
        .collect();
    let of_commands = [
        "count",
        "list",
        "draw",
        "plan",
        "solve",
        "compare",
        "coordinator",
        "worker",
        "autoscale",
        "submit",
        "token create",
        "verify",
        "bench",
    ];
    commands.extend(of_commands.map(|command| format!("{command} -h")));
    commands.extend(of_commands.map(|command| format!("{command} --help")));
    assert_fits(&commands);
}

#[test]
fn refusals_fit() {
    assert_each_fits(&[
        "",
        "count 40",
        "count 8 --method colours --rows 2",
        "countt 8",
        "check a1 b2",
        "jobs --coordinator http://127.0.0.1:1",
        "solve 3",
        "draw a1 b9",
        "count 16 --ledger /nowhere/a/b/ledger.db",
    ]);
}

#[test]
fn what_a_farm_shows_fits() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    let _worker = farm.start_worker_with("--name a-worker-with-a-rather-long-name");
    farm.client(&["watch", "1"]).success();
    farm.submit_by(19, &["--name", "a-name-that-is-rather-long", "--rows", "2"]);
    farm.client(&["pause", "2"]).success();
    let scratch = Scratch::new();
    let bundle = scratch.path("q12.bundle").display().to_string();
    let commands = [
        "jobs".into(),
        "jobs 1 2".into(),
        "workers".into(),
        "token list".into(),
        format!("export 1 {bundle}"),
        "submit 8 --wait".into(),
        "watch 1".into(),
        "cancel 1".into(),
        "jobs 99".into(),
    ];
    let farm_at = |command: String| format!("{command} --coordinator {}", farm.url());
    let mut commands = commands.map(farm_at).to_vec();
    commands.push(format!("verify {bundle} --seconds 1"));
    assert_fits(&commands);
}

#[test]
fn explanations_and_exit_codes_have_no_marks_of_markdown() {
    for command in ["explain", "help exit-codes", "help all"] {
        let lines = lines(80, command);
        let is_mark = |line: &&String| ["# ", "```", "|"].iter().any(|mark| line.starts_with(mark));
        assert_eq!(lines.iter().find(is_mark), None, "{command}");
    }
}

#[test]
fn lines_of_options_are_full_behind_a_pipe() {
    let text_of = |line: &str| line.strip_prefix("          ").map(str::to_owned);
    let is_text = |text: &String| !text.starts_with([' ', '-', '[']) && !text.is_empty();
    for command in ["worker", "coordinator", "submit", "count", "solve"] {
        let help = run(&mut queens(&[command, "--help"])).success();
        let lines: Vec<&str> = help.lines().collect();
        let pairs = lines.windows(2).filter_map(|pair| text_of(pair[0]).zip(text_of(pair[1])));
        let mut checked = 0;
        for (line, next) in pairs.filter(|(line, next)| is_text(line) && is_text(next)) {
            let word = next.split(' ').next().unwrap_or_default();
            assert!(10 + line.len() + 1 + word.len() > 80, "{command}: {line}\n{next}");
            checked += 1;
        }
        assert!(checked > 0, "{help}");
    }
}
