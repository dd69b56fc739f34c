//! Tests of the command line's arguments: errors, environment variables, help and completions.

use crate::support::process::{Outcome, queens, run};
use crate::support::{Scratch, at_once, write_private};

/// Runs the program with arguments that are separated by spaces, and with environment variables.
fn with(args: &str, exported: &[(&str, &str)]) -> Outcome {
    run(queens(&args.split(' ').collect::<Vec<_>>()).envs(exported.iter().copied()))
}

#[test]
fn wrong_arguments_get_one_line_with_advice() {
    for (args, reason) in [
        ("count ten", "invalid value 'ten' for '[N]': give a size"),
        ("count", "arguments were not provided: <N>; `queens count -h` says more"),
        ("count 8 --threads 0", "invalid value '0' for '--threads <T>': give 1 or more; `queens"),
        ("bench -t 100000", "for '--threads <T>': give at most 4096"),
        ("jobs one", "invalid value 'one' for '[JOB]...': it is no whole number"),
        ("submit 8 --audit -5%", "unexpected argument '-5' found; `queens submit -h`"),
        ("count 8 --thread 2", "'--thread' found; tip: a similar argument exists: '--threads'"),
        ("count 8 --method diagonals", "[possible values: rows, prefixes, colours"),
        ("cuont 8", "unrecognized subcommand 'cuont'; tip:"),
        ("status --health", "'status'; tip: a similar subcommand exists: 'jobs'"),
        ("count 8 --log loud", "'loud' is no level"),
        ("count 8 --given=", "there is no queen in --given"),
        ("count 8..9 --ledger x", "for one board"),
        ("submit 8 --across owners", "<--audit <SHARE>|--certified>"),
        ("solve 8 --seed 1", "nothing is searched here: leave out --seed"),
        ("solve 8 --limit-seconds 1", "leave out --limit-seconds"),
        ("solve 8 --random --stats", "leave out --stats"),
        ("solve 8 --problem toroidal --start few", "leave out --start"),
        ("solve 8 --given a1 --stats --json --by-file", "leave out --by-file, --stats or --json"),
        ("submit 8 --audit 5", "a share is between 0 and 1, as in 2%"),
        ("count 8 --time-limit 90", "give it as in 90s, 1h30m or 00:50:00"),
        ("plan 8 --seconds 1000000000s", "give a duration from 0s to"),
        ("coordinator --lease-ms 2days", "give a duration from 1ms to 1day"),
        ("compare 8 --memory 0", "give a size above 0"),
        ("count 8 --memory 2GiB", "--memory is for --method states"),
        ("plan 8 --backend mmx", "no backend is named"),
        ("worker --give-up-after 0s", "give more than 0s"),
        ("trust lab --reason=", "a reason is one line of at most 1024 bytes, and not blank"),
        ("trust lab --reason=\u{2003}", "a reason is one line"),
        ("token create --role viewer --owner x --login=", "it is neither a URL"),
        ("token create --role viewer --owner x --login http://farm?x", "it is neither a URL"),
        ("token create --role viewer --owner x --login ::1", "nor a host"),
        ("token create --role viewer --owner x --days 1h", "give 1day or more"),
        ("coordinator --listen 127.0.0.1:99999", "cannot listen on 127.0.0.1:99999: invalid port"),
        ("coordinator --listen 99999", "99999 is neither a port"),
        ("check", "standard input: there is no queen"),
        ("submit 8 --name caf\u{e9}", "a name has 1 to 128 visible ASCII"),
    ] {
        with(args, &[]).refusal(2, &[reason]);
    }
}

#[test]
fn an_empty_environment_variable_counts_as_unset() {
    let names = ["QUEENS_THREADS", "QUEENS_BACKEND", "QUEENS_LOG", "QUEENS_TIME_LIMIT"];
    let counted = with("count 8", &names.map(|name| (name, "")));
    assert_eq!(counted.success(), format!("{}\n", testkit::vectors::total(8)));
}

#[test]
fn arguments_override_the_environment_group_by_group() {
    let (scratch, secret) = (Scratch::new(), "0123456789abcdef");
    let file = scratch.path("join");
    // No coordinator listens there. The test only checks that the arguments are understood.
    let join = format!("queens://{secret}@127.0.0.1:1#{}", "a".repeat(64));
    write_private(&file, &join);
    let file = file.display();
    let cases = [
        (format!("jobs --join-file {file}"), "QUEENS_COORDINATOR", "http://127.0.0.1:2"),
        (format!("jobs --join-file {file}"), "QUEENS_TOKEN_FILE", "nowhere"),
        (format!("jobs --join-file {file}"), "QUEENS_JOIN", "x"),
        (format!("jobs --join {join}"), "QUEENS_JOIN_FILE", "nowhere"),
        (format!("submit 8 --join={join}"), "QUEENS_COORDINATOR", "x"),
        ("jobs --coordinator=http://127.0.0.1:1".into(), "QUEENS_JOIN_FILE", "nowhere"),
        ("jobs -v --coordinator http://127.0.0.1:1".into(), "QUEENS_LOG", "farm=debug"),
    ];
    // Each command waits some seconds for a coordinator.
    at_once(cases, |(args, name, value)| {
        let refused = with(&args, &[(name, value)]);
        // A coordinator has to listen where it is looked for.
        let advice =
            if args.contains("--coordinator") { "`queens coordinator --listen 1`" } else { "" };
        refused.refusal(5, &["no coordinator answers", "127.0.0.1:1", advice]);
    });
    // These are a client's, and a coordinator would write over that farm's files.
    let farms = [("QUEENS_JOIN_FILE", "x"), ("QUEENS_WORKER_JOIN_FILE", "x")];
    let own = with("coordinator --listen 127.0.0.1:0 --ledger no/l.db", &farms);
    own.refusal(10, &["there is no folder no"]);
    let insecure = "coordinator --insecure --listen 127.0.0.1:0 --ledger no/l.db";
    for tls in ["true", "false", "1", "0"] {
        let outcome = with(insecure, &[("QUEENS_TLS", tls), ("QUEENS_JOIN_FILE", "x")]);
        assert!(outcome.stderr.contains("there is no folder no"), "{}", outcome.stderr);
    }
}

#[test]
fn a_switch_in_the_environment_has_all_usual_values() {
    // Without a contradiction, the folder of the ledger is refused.
    let args = "coordinator --listen 127.0.0.1:0 --ledger no/l.db";
    let tls = |says: &str| with(args, &[("QUEENS_INSECURE", "1"), ("QUEENS_TLS", says)]);
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
    for (args, name, value, said) in [
        ("jobs", "QUEENS_JOIN_FILE", "y", "QUEENS_JOIN_FILE"),
        (
            "coordinator",
            "QUEENS_LISTEN",
            "99999",
            "--listen: 99999 is neither a port, 0 to 65535, nor a host (QUEENS_LISTEN is set)",
        ),
        ("jobs", "QUEENS_JOIN_FILE", "y", "QUEENS_COORDINATOR"),
        ("count 8", "QUEENS_THREADS", "many", "'many' for 'QUEENS_THREADS'"),
        ("token list", "QUEENS_LOG_FORMAT", "x", "'x' for 'QUEENS_LOG_FORMAT'"),
        ("count 8 --threads x", "QUEENS_THREADS", "1", "'x' for '--threads <T>'"),
    ] {
        let outcome = with(args, &[(name, value), ("QUEENS_COORDINATOR", "http://x:1")]);
        assert!(!outcome.stderr.contains("--coordinator"), "{}", outcome.stderr);
        outcome.refusal(2, &[said]);
    }
}

#[test]
fn the_short_help_is_the_same_among_other_switches() {
    let exported = [("QUEENS_THREADS", "3")];
    let short = with("count -h", &exported).success();
    assert!(!short.contains("QUEENS_THREADS"), "{short}");
    for args in ["count -vh", "count -h --threads 2", "count --threads 2 -h", "-v count 8 -h"] {
        assert_eq!(with(args, &exported).success(), short, "{args}");
    }
}

#[test]
fn several_sizes_are_counted_one_after_the_other() {
    let counted = run(&mut queens(&["count", "0..7"])).success();
    let expected: String =
        (0..=7).map(|n| format!("{n} {}\n", testkit::vectors::total(n))).collect();
    assert_eq!(counted, expected);
}

#[test]
fn the_help_has_a_page_for_each_subject_and_the_version_is_exact() {
    let help = |args: &[&str]| run(queens(&["help"]).args(args)).success();
    assert_eq!(run(&mut queens(&["-h"])).success(), help(&[]));
    let all = help(&["all"]);
    for page in ["connection", "logs", "exit-codes"] {
        assert!(all.contains(&help(&[page])), "{page}");
    }
    let connection = help(&["connection"]);
    assert!(connection.contains("--join-file <FILE>") && connection.contains("QUEENS_JOIN_FILE"));
    let count = help(&["count"]);
    assert_eq!(count, run(&mut queens(&["count", "--help"])).success());
    assert!(!count.contains("--log-format") && count.contains("QUEENS_SHARD"), "{count}");
    assert!(help(&["token", "create"]).contains("--trusted"));
    with("help token break", &[]).refusal(2, &["no help on break", "help all"]);

    let version = with("--version", &[]).success();
    for word in ["queens ", "\ncommit    ", "\ncompiler  rustc ", "\ntarget    "] {
        assert!(version.contains(word), "{version}");
    }
    assert_eq!(with("-V", &[]).success().lines().count(), 1);
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
    let files = &["my * other.db", "my ledger.db"][..];
    // The name of a job is in no file.
    for (words, offered) in [("count 8 --ledger", files), ("submit 8 --name", &["my"][..])] {
        let complete = format!(
            "source ./none; COMP_WORDS=(queens {words} my); COMP_CWORD=4; \
             _queens queens my {}; printf '%s|' \"${{COMPREPLY[@]}}\"",
            words.rsplit(' ').next().expect("an option")
        );
        let mut bash = std::process::Command::new("bash");
        let found = run(bash.args(["--norc", "-c", &complete]).current_dir(&folder)).success();
        let mut names: Vec<&str> = found.trim_end_matches('|').split('|').collect();
        names.sort_unstable();
        assert_eq!(names, offered, "{words}");
    }
}

#[test]
fn a_size_without_its_command_suggests_the_command() {
    for (args, advice) in [
        (&["8"][..], "`queens count 8`"),
        (&["27"], "`queens count 27`"),
        (&["count", "-5"], "`queens count 5`"),
        (&["plan", "-15"], "`queens plan 15`"),
        (&["solve", "-3"], "`queens solve 3`"),
        (&["draw", "8"], "`queens solve 8 --format board`"),
        (&["draw", "12", "--format", "svg"], "`queens solve 12 --format board`"),
    ] {
        run(&mut queens(args)).refusal(2, &[advice]);
    }
    // Other words are refused as before.
    run(&mut queens(&["count", "-x"])).usage("-x");
    run(&mut queens(&["serve"])).usage("coordinator");
    run(&mut queens(&["draw", "1"])).success();
}

#[test]
#[cfg(unix)]
fn a_word_that_is_no_text_is_refused_like_any_other() {
    use std::os::unix::ffi::OsStrExt;

    let [word, option] = [&b"\xff"[..], b"--\xff"].map(std::ffi::OsStr::from_bytes);
    for (command, wrong) in [("count", word), ("solve", word), ("jobs", option), ("draw", option)] {
        run(queens(&[command, "8", "8"]).arg(wrong)).usage("queens");
    }
}
