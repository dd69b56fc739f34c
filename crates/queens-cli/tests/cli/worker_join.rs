//! Tests of the join string that allows nothing but counting.

use std::fs;
use std::path::PathBuf;

use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch, assert_private};
use crate::tls::{read, text, with};

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
    let total = with(&join, &["submit", "10", "--wait"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
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
    refused("--tls --worker-join-file w --join-file w").usage("name two files");
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
    let key = farm.key("worker");
    let way_out = [text(&key), "token 1", "revoked", "remove the file"];
    run(farm.coordinator().args(["--log", "error"])).refusal(6, &way_out);

    // The advice of the message works, and the old string stays revoked.
    fs::remove_file(&key).expect("it is there");
    let _coordinator = farm.start_coordinator();
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
    assert_eq!(total, format!("{}\n", vectors::total(10)), "the other worker has come back");
    assert!(coordinator.is_running());

    // A restarted coordinator has the new token.
    coordinator.stop();
    let _coordinator = farm.start_coordinator();
    with(&join, &["jobs"]).success();
    run(&mut queens(&["jobs", "--join", &old])).refusal(6, &["refuses this token"]);
}

#[test]
fn the_log_names_who_made_and_revoked_a_credential() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();
    let admin = ["token", "create", "--role", "admin", "--owner", "ann"];
    let ann = with(&farm.key("join"), &admin).success();
    let by_ann = |args: &[&str]| run(&mut queens(&[args, &["--join", ann.trim()]].concat()));
    by_ann(&["token", "create", "--role", "worker", "--owner", "lab"]).success();
    by_ann(&["token", "revoke", "2"]).success();

    let said = coordinator.said();
    for event in ["token created", "token revoked"] {
        let line = said.lines().rfind(|line| line.contains(event)).expect("it is logged");
        assert!(line.contains("lab") && line.contains("by=\"ann\""), "{line}");
    }
}
