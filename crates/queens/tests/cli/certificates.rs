//! Certificates: written in one run or in several, in parts, and opened by somebody who was not there.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Scratch;
use crate::support::process::{Outcome, Process, queens, run, wait_until};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verify/corpus/certificates");

fn certificate(words: &[&str]) -> Outcome {
    run(&mut queens(&[&["certificate"], words].concat()))
}

fn json(outcome: Outcome) -> Value {
    serde_json::from_str(&outcome.success()).expect("it is JSON")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

#[test]
fn what_is_written_is_opened_by_whoever_likes() {
    let scratch = Scratch::new();
    let path = scratch.path("q12");
    let path = text(&path);
    let written = json(certificate(&["write", "12", path, "--json"]));
    assert_eq!(written["total"], vectors::total(12).to_string());
    assert_eq!(written["shard"], "1/1");

    let open = |words: &[&str]| json(certificate(&[&["open", path, "--json"], words].concat()));
    let opened = open(&["--beacon", "7"]);
    for field in ["n", "total", "name"] {
        assert_eq!(opened[field], written[field]);
    }
    assert_eq!((&opened["opened"], &opened["tasks"]), (&written["tasks"], &written["tasks"]));
    assert_eq!((&opened["beacon"], &opened["fewer_wrong_than"]), (&"7".into(), &80.into()));
    assert_eq!(opened["backend"], "portable");
    assert_eq!(open(&["--shard", "1/3", "--backend", "reference"])["of_shard"], "1/3");
    let some = open(&["--share", "0.25"]);
    assert!(some["opened"].as_u64() < opened["opened"].as_u64(), "{some}");
    assert_ne!(some["beacon"], open(&["--share", "0.25"])["beacon"], "nobody knows what is drawn");

    let said = certificate(&["open", path, "--beacon", "a\u{1b}"]).success();
    let name = opened["name"].as_str().expect("it has one");
    for words in [
        &format!("total     {}\nname      {name}", vectors::total(12)),
        "fewer than 80 of",
        "a\\u{1b}",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // Written again, it is only read.
    let again = certificate(&["write", "12", path]).success();
    assert!(again.contains(name), "{again}");
}

#[test]
fn a_certificate_that_was_killed_or_stopped_goes_on() {
    let scratch = Scratch::new();
    let (path, other) = (scratch.path("q15"), scratch.path("other"));
    let write = ["certificate", "write", "15", text(&path), "--threads", "1"];
    let lines = || fs::read_to_string(&path).unwrap_or_default().lines().count();
    for _ in 0..2 {
        let before = lines();
        let writing = Process::start(&mut queens(&write), scratch.path("log"));
        wait_until("some tasks to be written", || lines() > before.max(1));
        writing.kill();
    }
    let stopped = certificate(&["write", "15", text(&path), "--time-limit", "0s"]);
    stopped.refusal(75, &["of 12902 tasks", "keeps them", "the same command"]);
    certificate(&["open", text(&path)]).refusal(13, &["q15", "of 12902 tasks", "counts the rest"]);

    let said = certificate(&["write", "15", text(&path)]).success();

    assert!(said.starts_with(&format!("total     {}\n", vectors::total(15))), "{said}");
    certificate(&["write", "15", text(&other)]).success();
    assert_eq!(fs::read(&path).ok(), fs::read(&other).ok());
}

#[test]
fn who_waits_for_a_file_can_be_stopped() {
    let scratch = Scratch::new();
    let fifo = scratch.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo(1) runs");
    assert!(made.success());
    let words = ["certificate", "open", text(&fifo)];
    let mut opening = Process::start(&mut queens(&words), scratch.path("log"));
    // It can be opened once somebody waits to read it, and nothing is ever written.
    let _writer = fs::OpenOptions::new().write(true).open(&fifo).expect("it is read");
    opening.signal("TERM");
    assert_eq!(opening.wait().code(), Some(130), "{}", opening.said());
    assert!(opening.said().contains("interrupted while"), "{}", opening.said());
}

#[test]
fn parts_from_an_array_make_the_whole() {
    let scratch = Scratch::new();
    let (pattern, whole) = (scratch.path("q11-{shard}"), scratch.path("q11.zst"));
    let mut parts = Vec::new();
    for index in 1..=3 {
        let words = ["certificate", "write", "11", text(&pattern), "--shard", "auto/3"];
        let said = run(queens(&words).env("PBS_ARRAY_INDEX", index.to_string())).success();
        assert!(said.starts_with(&format!("part      {index}/3 of total N=11")), "{said}");
        parts.push(scratch.path(&format!("q11-{index}-of-3")));
    }
    let parts: Vec<&str> = parts.iter().map(|path| text(path)).collect();
    let join = |parts: &[&str]| certificate(&[&["join", "--into", text(&whole)], parts].concat());
    join(&parts[1..]).refusal(13, &["part 1/3 is missing", "--shard"]);

    let said = join(&parts).success();

    assert!(said.starts_with(&format!("total     {}\n", vectors::total(11))), "{said}");
    let opened = certificate(&["open", text(&whole)]).success();
    assert!(opened.starts_with(said.trim_end()), "{opened}");
    let part = json(certificate(&["open", parts[1], "--json"]));
    assert_eq!((&part["shard"], &part["total"]), (&"2/3".into(), &Value::Null));
    join(&parts).refusal(10, &["q11.zst", "exists"]);
}

#[test]
fn what_does_not_hold_is_told_and_nothing_is_overwritten() {
    let bad = |name: &str| format!("{CORPUS}/bad/{name}.certificate");
    let drawn = ["open", &bad("a-subtotal-moved"), "--beacon", "corpus"];
    certificate(&drawn).refusal(16, &["a-subtotal-moved", "the subtotal of class 10 of task 48"]);
    certificate(&["open", &bad("root")]).refusal(16, &["does not hold", "Merkle root"]);
    certificate(&["open", &bad("total")]).refusal(16, &["line 165", "states the total 353"]);
    certificate(&["open", "/none"])
        .refusal(2, &["cannot read the certificate /none", "name a file"]);

    let scratch = Scratch::new();
    let (new, text_file) = (scratch.path("new"), scratch.path("text"));
    fs::write(&text_file, "a text\n").expect("it can be written");
    certificate(&["write", "9", text(&text_file)]).refusal(16, &["line 1", "begin"]);
    assert_eq!(fs::read(&text_file).ok().as_deref(), Some(&b"a text\n"[..]));
    let writer = fs::File::create(&new).expect("it can be made");
    writer.lock().expect("nobody else has it");
    certificate(&["write", "9", text(&new)]).refusal(7, &["another process", "wait for it"]);
    drop(writer);
    fs::remove_file(&new).expect("it is there");
    let good = format!("{CORPUS}/good/whole-9.certificate");
    certificate(&["write", "10", &good])
        .refusal(8, &["is about total N=9", "not total N=10", "another file"]);
    certificate(&["join", &good, &good, "--into", text(&new)]).refusal(2, &["both", "leave one"]);
    certificate(&["write", "9", "q9.zst"]).refusal(2, &["leave out .zst", "join"]);
    certificate(&["write", "3", text(&new)]).refusal(3, &["halves"]);
    certificate(&["write", "30", text(&new)]).refusal(3, &["4 to 29"]);
    certificate(&["write", "28", text(&new), "--memory", "1MiB"]).refusal(3, &["--memory"]);
    certificate(&["write", "9", "/none/q9"]).refusal(10, &["/none/q9"]);
    for command in [&["certificate", "open"][..], &["verify"]] {
        // As from a variable of a shell that is not set: everybody would know what is drawn.
        run(&mut queens(&[command, &[&good, "--beacon", ""]].concat())).usage("--beacon");
    }
    certificate(&["open", &good, "--share", "2"]).refusal(2, &["between 0 and 1"]);
    assert!(!new.exists());
}
