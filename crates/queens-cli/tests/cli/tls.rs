//! Tests of TLS and its join strings: which side proves what, what is never sent in plain text, and
//! the join string that allows nothing but counting.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::process::{Outcome, queens, run};
use crate::support::recorder::Recorder;
use crate::support::{Farm, Scratch, assert_private, write_private};

#[test]
fn workers_and_clients_need_only_the_join_string() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();
    let file = farm.key("join");
    let join = read(&file);
    assert_private(&file);

    // The join string comes from a file, an option and the environment. The address in it need not
    // be in the certificate.
    let recorder = Recorder::before(&farm.address());
    let recorded = join.replace(&farm.address(), &recorder.address());
    let _worker = farm.start_worker_by(&["--join", &recorded]);
    with(&file, &["submit", "10", "--wait"]).total(10);
    run(&mut queens(&["jobs", "--join", &recorded])).success();
    assert_eq!(run(queens(&["jobs", "--health"]).env("QUEENS_JOIN", &join)).success(), "serving\n");

    // Nothing that begins a connection in plain text was sent.
    let record = recorder.record();
    assert!(record.len() > 4_000, "it is recorded: {} bytes", record.len());
    for readable in [secret(&join), "PRI * HTTP/2.0"] {
        assert!(!contains(&record, readable.as_bytes()), "{readable}");
    }

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
    run(farm.coordinator_at("192.0.2.1:1").args(option)).refusal(11, &["192.0.2.1:1"]);
    assert!(!farm.key("").exists(), "no key is made before the port is bound");
    farm.start_coordinator().stop();
    let serve = |more: &[&str]| farm.serve(farm.coordinator().args(option).args(more)).stop();
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
        let paths: Vec<_> = lost.iter().map(|name| text(&farm.key(name)).to_owned()).collect();
        let refused = run(farm.coordinator().args(option));
        let lacks = format!("lacks {}: restore", paths.join(" and "));
        refused.refusal(6, &[&lacks, "--new-keys", "from a copy"]);
        assert_eq!(read(&join), reported, "nobody is told anything else");
        assert!(!farm.key(lost[0]).exists(), "nothing is made");

        serve(&["--new-keys"]);
        serve(&[]);
        write_private(&join, &reported);
    }
    fs::write(farm.key("leases"), "bad").expect("it is ours");
    run(farm.coordinator().args(option)).refusal(6, &["it must hold 32 bytes"]);
    assert_eq!(read(&join), reported, "it is written last");
}

#[test]
fn a_coordinator_for_other_hosts_needs_tls_and_a_token() {
    let farm = Farm::new("", "");
    let anywhere = farm.address().replace("127.0.0.1", "0.0.0.0");
    let _coordinator = farm.serve(&mut farm.coordinator_at(&anywhere));

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
fn plain_text_and_another_authority_are_refused() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let way_out = [&farm.url(), "this port serves TLS, and was asked in plain text", "--join-file"];
    for command in ["jobs", "jobs --health", "submit 8 --wait", "watch 1"] {
        let args: Vec<&str> = command.split(' ').collect();
        farm.client(&args).refusal(5, &way_out);
    }
    let worker = ["worker", "--give-up-after", "1s", "--log", "error"];
    farm.client(&worker).refusal(5, &["this port serves TLS, and was asked in plain text"]);

    let join = read(&farm.key("join"));
    let (head, _) = join.split_once('#').expect("it has a hash");
    let join = format!("{head}#{}", "5e".repeat(32));
    for command in [&["jobs"][..], &["jobs", "--health"], &["worker", "--log", "error"]] {
        let args = [command, &["--join", &join]].concat();
        let way_out = ["does not prove to be the coordinator", "get the join string"];
        run(&mut queens(&args)).refusal(6, &way_out);
    }
}

#[test]
fn a_join_string_is_never_used_in_plain_text() {
    // Given a coordinator without TLS at the address in a join string
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let recorder = Recorder::before(&farm.address());
    let secret = "0123456789abcdef0123456789abcdef";
    let join = format!("queens://{secret}@{}#{}", recorder.address(), "5e".repeat(32));

    for command in [&["jobs"][..], &["jobs", "--health"], &["worker", "--log", "error"]] {
        let refused = run(&mut queens(&[command, &["--join", &join]].concat()));
        refused.refusal(12, &["does not speak TLS", "--insecure"]);
    }

    for readable in [secret, "PRI * HTTP/2.0"] {
        assert!(!contains(&recorder.record(), readable.as_bytes()), "{readable}");
    }
    let tls_handshake = [22, 3, 1];
    assert!(contains(&recorder.record(), &tls_handshake), "it asked for TLS");
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
    let mut coordinator = farm.serve(&mut farm.coordinator_at(&anywhere));
    coordinator.wait_for_line("anybody on the network can read");
    let made = format!("there was no {}: it is made, with a new token", token.display());
    assert!(coordinator.said().contains(&made), "{}", coordinator.said());
    farm.client(&["jobs"]).refusal(6, &["refuses this token"]);
    farm.client(&["jobs", "--token-file", text(&token)]).success();
    assert!(!farm.key("join").exists(), "there is no join string");
}

/// A farm that writes a join string for workers into the file.
fn farm() -> (Farm, Scratch, PathBuf) {
    let scratch = Scratch::new();
    let file = scratch.path("worker-join");
    let farm = Farm::new(&format!("--tls --worker-join-file {}", text(&file)), "");
    (farm, scratch, file)
}

#[test]
fn a_workers_join_string_only_allows_counting() {
    let (farm, _scratch, file) = farm();
    let coordinator = farm.start_coordinator();
    let join = farm.key("join");
    assert_private(&file);
    assert!(coordinator.said().contains(&format!("--join-file {}", file.display())));

    let mut workers = [&file, &join].map(|file| farm.start_worker_by(&["--join-file", text(file)]));
    workers.iter_mut().for_each(|worker| worker.wait_for_line("welcomes"));
    with(&join, &["submit", "10", "--wait"]).total(10);
    for args in [&["jobs"][..], &["submit", "8"], &["cancel", "1"], &["token", "list"]] {
        with(&file, args).refusal(6, &["a worker's"]);
    }

    // Both join strings have the same owner, so these workers are no second opinion about each
    // other.
    let listed = with(&join, &["workers", "--json"]).success();
    let owners: Vec<_> = listed.lines().map(|line| crate::object(line)["owner"].clone()).collect();
    assert!(owners.len() == 2 && owners[0] == owners[1], "{listed}");

    let refused = |args: &str| run(queens(&["coordinator"]).args(args.split(' ')));
    refused("--worker-join-file w").usage("there is no join string without TLS");
    refused("--worker-join-file w --insecure").usage("cannot be used");
}

#[test]
fn a_workers_join_string_is_kept_until_it_is_revoked() {
    let (farm, _scratch, file) = farm();
    let admin = farm.key("join");
    let coordinator = farm.start_coordinator();
    let first = read(&file);
    coordinator.stop();

    // A restart writes the same string, and makes no further credential.
    let coordinator = farm.start_coordinator();
    assert_eq!(read(&file), first);
    let credentials = with(&admin, &["token", "list", "--json"]).success();
    assert_eq!(credentials.lines().count(), 2, "with the coordinator's own: {credentials}");

    with(&admin, &["token", "revoke", "1"]).success();
    let refused = farm.start_worker_by(&["--join-file", text(&file)]).wait();
    assert_eq!(refused.code(), Some(6));
    coordinator.stop();

    // A restart writes another string, and the old one stays revoked.
    let coordinator = farm.start_coordinator();
    let warning = "the worker's token in the folder of keys was revoked (token 1)";
    assert!(coordinator.said().contains(warning), "{}", coordinator.said());
    let second = read(&file);
    farm.start_worker_by(&["--join-file", text(&file)]).wait_for_line("welcomes");
    let refused = farm.start_worker_by(&["--join", &first]).wait();
    assert_eq!(refused.code(), Some(6), "{second}");
}

#[test]
fn the_farms_own_token_is_replaced_while_it_serves() {
    let farm = Farm::new("--tls", "");
    let mut coordinator = farm.start_coordinator();
    let join = farm.key("join");
    let old = read(&join);
    let listed = with(&join, &["token", "list", "--json"]).success();
    assert!(listed.contains(r#""token":"0""#) && listed.contains(r#""admin""#), "{listed}");
    // Given: a worker that reads the file, and a worker that was started with the string from the
    // file.
    let mut follows = farm.start_worker_by(&["--join-file", text(&join)]);
    let mut stays = farm.start_worker_by(&["--join", &old]);
    [&mut follows, &mut stays].into_iter().for_each(|worker| worker.wait_for_line("welcomes"));

    with(&join, &["token", "revoke", "0"]).success();

    // Then the old token is refused, and the sessions that it began have ended.
    run(&mut queens(&["jobs", "--join", &old])).refusal(6, &["refuses this token"]);
    assert_eq!(stays.wait().code(), Some(6));
    let new = read(&join);
    assert_ne!(new, old);
    let token = format!("//{}@", read(&farm.key("token")));
    assert!(new.contains(&token), "both files have the new one");
    let total = with(&join, &["submit", "10", "--wait"]).success();
    assert_eq!(
        total,
        format!("{}\n", testkit::vectors::total(10)),
        "the other worker has come back"
    );
    assert!(coordinator.is_running());

    // A restarted coordinator has the new token, which is as old as before.
    let tokens = || with(&join, &["token", "list", "--json"]).success();
    let before = tokens();
    coordinator.stop();
    let _coordinator = farm.start_coordinator();
    assert_eq!(tokens(), before);
    with(&join, &["jobs"]).success();
    run(&mut queens(&["jobs", "--join", &old])).refusal(6, &["refuses this token"]);
}

/// Runs a client command with a join file.
fn with(join_file: &Path, args: &[&str]) -> Outcome {
    run(&mut queens(&[args, &["--join-file", text(join_file)]].concat()))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("it was written").trim().into()
}

fn text(path: &Path) -> &str {
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
