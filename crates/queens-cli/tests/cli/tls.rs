//! Tests of TLS: which side proves what, and what is never sent in plain text.

use std::fs;
use std::path::Path;

use crate::support::process::{Outcome, Process, queens, run};
use crate::support::recorder::Recorder;
use crate::support::{Farm, Scratch, assert_private, write_private};

#[test]
fn workers_and_clients_need_only_the_join_string() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();
    let file = farm.key("join");
    let join = read(&file);
    assert_private(&file);

    // The join string comes from a file, an option and the environment.
    let _worker = farm.start_worker_by(&["--join-file", text(&file)]);
    let total = with(&file, &["submit", "10", "--wait"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
    run(&mut queens(&["jobs", "--join", &join])).success();
    assert_eq!(
        run(queens(&["status", "--health"]).env("QUEENS_JOIN", &join)).success(),
        "serving\n"
    );

    // The log names the file. Neither log nor help show the secret.
    let help = run(queens(&["jobs", "--help"]).env("QUEENS_JOIN", &join)).success();
    for said in [coordinator.said(), help] {
        assert!(!said.contains(secret(&join)), "{said}");
    }
    assert!(coordinator.said().contains(&format!("--join-file {}", file.display())));

    // The same string identifies a restarted coordinator.
    coordinator.stop();
    let _coordinator = farm.start_coordinator();
    assert_eq!(read(&file), join);
    with(&file, &["jobs"]).success();
}

#[test]
fn a_coordinator_does_not_start_with_an_incomplete_key_folder() {
    let (farm, scratch) = (Farm::new("--tls", ""), Scratch::new());
    let join = scratch.path("join");
    let option = ["--join-file", text(&join)];
    farm.start_coordinator().stop();
    let serve = |more: &[&str]| {
        let mut command = farm.coordinator();
        command.args(option).args(more);
        let mut coordinator = Process::start(&mut command, farm.new_log());
        coordinator.wait_for_line("coordinator serves");
        coordinator.stop();
    };
    serve(&[]);
    let reported = read(&join);
    let folder = farm.key("authority.pem").parent().expect("it is in a folder").to_owned();

    for lost in [&["authority.pem", "token"][..], &["token"], &["authority.pem"]] {
        for name in lost {
            fs::remove_file(farm.key(name)).expect("it was there");
        }
        if lost.len() > 1 {
            fs::remove_dir_all(&folder).expect("it was there");
        }
        let refused = run(farm.coordinator().args(option));
        refused
            .refusal(6, &[&format!("lacks {}", lost.join(" and ")), "--new-keys", "from a copy"]);
        assert_eq!(read(&join), reported, "nobody is told anything else");
        assert!(!farm.key(lost[0]).exists(), "nothing is made");

        serve(&["--new-keys"]);
        serve(&[]);
        write_private(&join, &reported);
    }
}

#[test]
fn no_keys_are_made_beside_a_locked_ledger() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let refused = run(farm.coordinator_at("127.0.0.1:0").args(["--tls", "--new-keys"]));
    refused.refusal(7, &["locked by another process"]);
    assert!(!farm.key("authority.pem").exists() && !farm.key("token").exists());
}

#[test]
fn a_coordinator_for_other_hosts_needs_tls_and_a_token() {
    let farm = Farm::new("", "");
    let anywhere = farm.address().replace("127.0.0.1", "0.0.0.0");
    let mut coordinator = Process::start(&mut farm.coordinator_at(&anywhere), farm.new_log());
    coordinator.wait_for_line("coordinator serves");

    // The join string has the host's own name.
    let join = read(&farm.key("join"));
    let (_, port) = anywhere.split_once(':').expect("it has a port");
    let address = format!("@{}:{port}#", executor::host_name());
    assert!(join.contains(&address), "{join}");

    // Another secret is refused.
    let here = join.replace(&address, &format!("@127.0.0.1:{port}#"));
    run(&mut queens(&["jobs", "--join", &here])).success();
    let wrong = here.replace(secret(&here), "0123456789abcdef0123456789abcdef");
    let refused = run(&mut queens(&["jobs", "--join", &wrong]));
    refused.refusal(6, &["refuses this token", "--join-file"]);
}

#[test]
fn a_coordinator_with_tls_refuses_plain_text() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let way_out = [&farm.url(), "if it serves TLS, --join-file"];
    for command in ["jobs", "status --health", "submit 8 --wait", "watch 1"] {
        let args: Vec<&str> = command.split(' ').collect();
        farm.client(&args).refusal(5, &way_out);
    }
    let worker = ["worker", "--give-up-after", "1s", "--log", "error"];
    farm.client(&worker).refusal(5, &[]);
}

#[test]
fn a_join_string_is_never_used_in_plain_text() {
    // Given a coordinator without TLS at the address in a join string
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let recorder = Recorder::before(&farm.address());
    let secret = "0123456789abcdef0123456789abcdef";
    let join = format!("queens://{secret}@{}#{}", recorder.address(), "5e".repeat(32));

    for command in [&["jobs"][..], &["status", "--health"], &["worker", "--log", "error"]] {
        let refused = run(&mut queens(&[command, &["--join", &join]].concat()));
        refused.refusal(12, &["does not speak TLS", "--insecure"]);
    }

    assert!(!contains(&recorder.record(), secret.as_bytes()));
    let tls_handshake = [22, 3, 1];
    assert!(contains(&recorder.record(), &tls_handshake), "it asked for TLS");
}

#[test]
fn another_authority_is_refused() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let join = read(&farm.key("join"));
    let (head, _) = join.split_once('#').expect("it has a hash");
    let join = format!("{head}#{}", "5e".repeat(32));

    for command in [&["jobs"][..], &["status", "--health"], &["worker", "--log", "error"]] {
        let args = [command, &["--join", &join]].concat();
        let way_out = ["does not prove to be the coordinator", "get the join string"];
        run(&mut queens(&args)).refusal(6, &way_out);
    }
}

#[test]
fn no_message_can_be_read_on_the_wire() {
    let scratch = Scratch::new();
    let token = scratch.path("token");
    let options = format!("--token-file {}", token.display());
    let [plain, tls] = [&options, &format!("{options} --tls")].map(|o| Farm::new(o, ""));

    // Given the same token in plain text, so that its encoding is somewhere on the wire
    let coordinator = plain.start_coordinator();
    let recorder = Recorder::before(&plain.address());
    let url = format!("http://{}", recorder.address());
    run(&mut queens(&["jobs", "--coordinator", &url, "--token-file", text(&token)])).success();
    coordinator.stop();
    let in_plain_text = recorder.record();
    assert!(contains(&in_plain_text, b"PRI * HTTP/2.0"), "it is recorded");

    // When it is sent over TLS, through an address that is not in the certificate
    let _coordinator = tls.start_coordinator();
    let recorder = Recorder::before(&tls.address());
    let join = read(&tls.key("join")).replace(&tls.address(), &recorder.address());
    assert_eq!(secret(&join), read(&token));
    run(&mut queens(&["jobs", "--join", &join])).success();
    let worker = tls.start_worker_by(&["--join", &join]);
    with(&tls.key("join"), &["submit", "8", "--wait"]).success();
    worker.stop();

    // Then the two recordings have nothing in common, and the token cannot be read.
    let over_tls = recorder.record();
    assert!(over_tls.len() > 4_000, "it is recorded: {} bytes", over_tls.len());
    assert!(!contains(&over_tls, secret(&join).as_bytes()));
    for said in in_plain_text.windows(10).filter(|said| said.iter().any(|&byte| byte != 0)) {
        assert!(!contains(&over_tls, said), "{said:?}");
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for args in [
        "coordinator --tls --insecure",
        "coordinator --join-file j --insecure",
        "jobs --join queens://s@h:1#0 --coordinator http://h",
        "jobs --join queens://s@h:1#0 --token-file t",
        "jobs --join queens://s@h:1#0 --join-file j",
        "jobs --join-file j --coordinator http://h",
        "jobs --join-file j --token-file t",
    ] {
        run(queens(&[]).args(args.split(' '))).usage("cannot be used");
    }
}

#[test]
fn a_token_is_required_without_tls_if_there_is_one() {
    let scratch = Scratch::new();
    let token = scratch.path("token");
    let farm = Farm::new(&format!("--insecure --token-file {}", token.display()), "");
    let anywhere = farm.address().replace("127.0.0.1", "0.0.0.0");
    let mut coordinator = Process::start(&mut farm.coordinator_at(&anywhere), farm.new_log());
    coordinator.wait_for_line("coordinator serves");

    coordinator.wait_for_line("anybody on the network can read");
    farm.client(&["jobs"]).refusal(6, &["refuses this token"]);
    farm.client(&["jobs", "--token-file", text(&token)]).success();
    assert!(!farm.key("join").exists(), "there is no join string");
}

/// Runs a client command with a join file.
pub(crate) fn with(join_file: &Path, args: &[&str]) -> Outcome {
    run(&mut queens(&[args, &["--join-file", text(join_file)]].concat()))
}

pub(crate) fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("it was written").trim().into()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// The secret in a join string.
fn secret(join: &str) -> &str {
    let rest = join.strip_prefix("queens://").expect("it is a join string");
    rest.split('@').next().expect("it has a secret")
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
