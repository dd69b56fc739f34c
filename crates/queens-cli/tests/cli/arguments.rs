//! Tests of the command line's arguments: errors, environment variables, help and completions.

use crate::support::process::{queens, run};
use crate::support::{Scratch, write_private};

#[test]
fn wrong_arguments_get_one_line_with_advice() {
    for (args, reason) in [
        (&["count", "ten"][..], "invalid value 'ten' for '<N>': give a size"),
        (&["count"], "arguments were not provided: <N>; `queens count -h` says more"),
        (&["count", "8", "--threads", "0"], "invalid value '0' for '--threads <T>'"),
        (&["count", "8", "--threads", "two"], "'--threads <T>': invalid digit"),
        (&["count", "8", "--threads"], "a value is required for '--threads <T>'"),
        (
            &["count", "8", "--thread", "2"],
            "'--thread' found; tip: a similar argument exists: '--threads'",
        ),
        (
            &["count", "8", "--method", "diagonals"],
            "[possible values: rows, prefixes, ring, halves",
        ),
        (&["cuont", "8"], "unrecognized subcommand 'cuont'; tip:"),
        (&["count", "8", "--log", "loud"], "'loud' is no level"),
        (&["count", "8", "--given", ""], "--given has no square"),
        (&["count", "8..9", "--ledger", "x"], "for one board"),
        (&["submit", "8", "--across", "owners"], "<--audit <SHARE>|--certified>"),
        (&["solve", "8", "--seed", "1"], "nothing is searched here: leave out --seed"),
        (&["solve", "8", "--limit-seconds", "1"], "leave out --limit-seconds"),
        (&["solve", "8", "--random", "--stats"], "leave out --stats"),
        (&["solve", "8", "--problem", "toroidal", "--start", "few"], "leave out --start"),
        (
            &["solve", "8", "--given", "a1", "--stats", "--json", "--by-file"],
            "leave out --by-file, --stats or --json",
        ),
        (&["submit", "8", "--audit", "much"], "a share is between 0 and 1"),
        (&["submit", "8", "--audit", "5"], "a share is between 0 and 1, as in 2%"),
        (&["count", "8", "--time-limit", "90"], "give it as in 90s, 1h30m or 00:50:00"),
        (&["plan", "8", "--seconds", "1000000000s"], "give a duration from 0s to"),
        (&["coordinator", "--lease-ms", "2days"], "give a duration from 1ms to 1day"),
        (&["submit", "8", "--name", "two words"], "a name has 1 to 128 visible ASCII"),
        (&["verify", "nowhere"], "cannot read the bundle nowhere"),
        (&["watch"], "on a terminal alone"),
        (&["completions", "dos"], "[possible values: bash, "),
    ] {
        let outcome = run(&mut queens(args));
        if args == ["watch"] {
            // The program asks for a coordinator first, and there is none.
            outcome.refusal(5, &["no coordinator answers"]);
            continue;
        }
        outcome.refusal(2, &[reason]);
    }
}

#[test]
fn an_empty_environment_variable_counts_as_unset() {
    let empty = ["QUEENS_THREADS", "QUEENS_BACKEND", "QUEENS_LOG", "QUEENS_MEMORY"];
    let mut command = queens(&["count", "8"]);
    empty.iter().for_each(|name| {
        command.env(name, "");
    });
    assert_eq!(run(&mut command).success(), format!("{}\n", vectors::total(8)));
}

#[test]
fn arguments_override_the_environment_group_by_group() {
    let (scratch, secret) = (Scratch::new(), "0123456789abcdef");
    let file = scratch.path("join");
    // No coordinator listens there. The test only checks that the arguments are understood.
    let join = format!("queens://{secret}@127.0.0.1:1#{}", "a".repeat(64));
    write_private(&file, &join);
    let file = file.to_str().expect("it is text");
    let away = "127.0.0.1:1";
    for (args, exported) in [
        (vec!["jobs", "--join-file", file], vec![("QUEENS_COORDINATOR", "http://127.0.0.1:2")]),
        (
            vec!["jobs", "--join-file", file],
            vec![("QUEENS_TOKEN_FILE", "nowhere"), ("QUEENS_JOIN", "x")],
        ),
        (vec!["jobs", "--join", &join], vec![("QUEENS_JOIN_FILE", "nowhere")]),
        (vec!["submit", "8", &format!("--join={join}")], vec![("QUEENS_COORDINATOR", "x")]),
        (vec!["token", "list", "--coordinator", "http://127.0.0.1:1"], vec![("QUEENS_JOIN", "x")]),
        (vec!["jobs", "--coordinator=http://127.0.0.1:1"], vec![("QUEENS_JOIN_FILE", "nowhere")]),
        (
            vec!["jobs", "-v", "--coordinator", "http://127.0.0.1:1"],
            vec![("QUEENS_LOG", "farm=debug")],
        ),
    ] {
        let outcome = run(queens(&args).envs(exported.iter().copied()));
        outcome.refusal(5, &["no coordinator answers", away]);
    }
    let insecure = ["coordinator", "--insecure", "--listen", "127.0.0.1:0", "--ledger", "no/l.db"];
    for tls in ["true", "false", "1", "0"] {
        let outcome = run(queens(&insecure).env("QUEENS_TLS", tls).env("QUEENS_JOIN_FILE", "x"));
        assert!(outcome.stderr.contains("there is no folder no"), "{}", outcome.stderr);
    }
}

#[test]
fn a_switch_in_the_environment_has_all_usual_values() {
    // Without a contradiction, the folder of the ledger is refused.
    let args = ["coordinator", "--listen", "127.0.0.1:0", "--ledger", "no/l.db"];
    let tls = |says: &str| run(queens(&args).env("QUEENS_INSECURE", "1").env("QUEENS_TLS", says));
    for yes in ["1", "yes", "true", "TRUE", "on"] {
        tls(yes).refusal(2, &["cannot be used with"]);
    }
    for no in ["0", "no", "false", "No", "off", ""] {
        tls(no).refusal(10, &["there is no folder no"]);
    }
    tls("perhaps").refusal(2, &["'perhaps' for 'QUEENS_TLS'"]);
}

#[test]
fn errors_about_the_environment_name_the_variable() {
    for (args, exported, said) in [
        (
            &["jobs"][..],
            &[("QUEENS_COORDINATOR", "http://x:1"), ("QUEENS_JOIN_FILE", "y")][..],
            &["QUEENS_COORDINATOR", "QUEENS_JOIN_FILE"][..],
        ),
        (&["count", "8"], &[("QUEENS_THREADS", "many")], &["'many' for 'QUEENS_THREADS'"]),
        (&["token", "list"], &[("QUEENS_LOG_FORMAT", "x")], &["'x' for 'QUEENS_LOG_FORMAT'"]),
        (
            &["count", "8", "--threads", "x"],
            &[("QUEENS_THREADS", "1")],
            &["'x' for '--threads <T>'"],
        ),
    ] {
        let outcome = run(queens(args).envs(exported.iter().copied()));
        assert!(!outcome.stderr.contains("--coordinator"), "{}", outcome.stderr);
        outcome.refusal(2, said);
    }
}

#[test]
fn several_sizes_are_counted_one_after_the_other() {
    let counted = run(&mut queens(&["count", "0..7"])).success();
    let expected: String = (0..=7).map(|n| format!("{n} {}\n", vectors::total(n))).collect();
    assert_eq!(counted, expected);
    let json = run(&mut queens(&["count", "6..7", "--json"])).success();
    assert_eq!(
        json.lines().filter(|line| line.starts_with("{\"problem\":\"total\",\"n\":")).count(),
        2
    );
}

#[test]
fn the_help_has_small_groups_and_a_page_of_all_else() {
    let help = run(&mut queens(&["-h"])).success();
    assert_eq!(run(&mut queens(&["help"])).success(), help);
    let groups: Vec<&str> = help.split("\n\n").filter(|part| part.contains(":\n  ")).collect();
    assert_eq!(groups.len(), 5, "{help}");
    for group in groups {
        let lines = group.lines().skip(1).filter(|line| !line.starts_with("  also "));
        let named = group.split("  also ").nth(1).map_or(0, |names| names.split(',').count());
        assert!(lines.count() + named <= 7, "{group}");
    }
    let all = run(&mut queens(&["help", "all"])).success();
    for page in ["connection", "logs", "exit-codes"] {
        let page = run(&mut queens(&["help", page])).success();
        assert!(all.contains(&page), "{page}");
    }
    let connection = run(&mut queens(&["help", "connection"])).success();
    assert!(connection.contains("--join-file <FILE>") && connection.contains("QUEENS_JOIN_FILE"));
    let count = run(&mut queens(&["help", "count"])).success();
    assert_eq!(count, run(&mut queens(&["count", "--help"])).success());
    assert!(!count.contains("--log-format") && count.contains("QUEENS_SHARD"), "{count}");
    assert!(run(&mut queens(&["help", "token", "create"])).success().contains("--trusted"));
    run(&mut queens(&["help", "token", "break"])).refusal(2, &["no help on break", "help all"]);
}

#[test]
fn the_version_says_what_the_program_is() {
    let version = run(&mut queens(&["--version"])).success();
    for word in ["queens ", "\ncommit    ", "\ncompiler  rustc ", "\ntarget    "] {
        assert!(version.contains(word), "{version}");
    }
    assert_eq!(run(&mut queens(&["-V"])).success().lines().count(), 1);
}

#[test]
fn durations_have_one_form_everywhere() {
    for args in [
        &["plan", "8", "--seconds", "1s"][..],
        &["solve", "8", "--given", "a1", "--limit-seconds", "1m"],
        &["compare", "5", "--seconds", "500ms"],
        &["bench", "--n", "8", "--sample-ms", "1ms", "--backend", "portable"],
        &["count", "8", "--time-limit", "00:01:00"],
    ] {
        run(&mut queens(args)).success();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_names_with_spaces() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for name in ["my ledger.db", "my * other.db", "none"] {
        std::fs::write(folder.path().join(name), "").expect("it can be written");
    }
    let script = folder.path().join("none");
    let text = run(&mut queens(&["completions", "bash"])).success();
    std::fs::write(&script, text).expect("it can be written");
    let complete = "source ./none; COMP_WORDS=(queens count 8 --ledger my); COMP_CWORD=4; \
                    _queens queens my --ledger; printf '%s|' \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    let found = run(bash.args(["--norc", "-c", complete]).current_dir(&folder)).success();
    let mut names: Vec<&str> = found.trim_end_matches('|').split('|').collect();
    names.sort_unstable();
    assert_eq!(names, ["my * other.db", "my ledger.db"]);
}

#[test]
fn completions_know_all_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&mut queens(&["completions", shell])).success();
        assert!(script.contains("coordinator") && script.contains("priority"), "{shell}");
    }
}
