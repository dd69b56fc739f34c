//! Checks that the benchmark of the farm measures what it reports, not how fast anything is.

use std::process::Command;

#[test]
#[ignore = "measures for seconds: CI runs it"]
fn the_farm_is_measured_over_tls_beside_plain_text() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let bench = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["farm", "--tls", "--connections", "3", "--seconds", "1", "--folder"])
        .arg(scratch.path())
        .output()
        .expect("it can be started");
    let text = String::from_utf8(bench.stdout).expect("it prints text");
    assert!(bench.status.success(), "{}", String::from_utf8_lossy(&bench.stderr));

    for over in ["plain text", "TLS"] {
        let beginning = format!("          3  {over} ");
        let line = text.lines().find(|line| line.starts_with(&beginning)).expect("a line");
        let results = line.split_whitespace().rev().nth(1).map(str::parse::<f64>);
        assert!(results.is_some_and(|number| number.is_ok_and(|number| number > 0.0)), "{text}");
    }
}

#[test]
#[ignore = "measures for seconds: CI runs it"]
fn clients_and_readers_are_measured() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let bench = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["api", "--seconds", "1", "--commands", "3", "--folder"])
        .arg(scratch.path())
        .output()
        .expect("it can be started");
    let text = String::from_utf8(bench.stdout).expect("it prints text");
    assert!(bench.status.success(), "{}", String::from_utf8_lossy(&bench.stderr));
    for begins in ["requests/s", "1000 idle streams", "/metrics", "a viewer", "queens submit"] {
        let line = text.lines().find(|line| line.starts_with(begins));
        let line = line.unwrap_or_else(|| panic!("{begins}: {text}"));
        assert!(line.contains(|sign: char| ('1'..='9').contains(&sign)), "{line}");
    }
}
