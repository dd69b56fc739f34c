//! Tests of what a coordinator reports to probes and to systemd.

use std::os::unix::net::UnixDatagram;

use crate::support::process::{PATIENCE, Process, run};
use crate::support::{Farm, Scratch};

#[test]
fn a_probe_asks_for_liveness_or_readiness() {
    let farm = Farm::new("", "");
    for service in ["liveness", "readiness"] {
        farm.client(&["status", "--health", service]).refusal(5, &["no coordinator answers"]);
    }
    let _coordinator = farm.start_coordinator();
    for service in ["liveness", "readiness"] {
        let answer = farm.client(&["status", "--health", service]).success();
        assert_eq!(answer, "serving\n", "{service}");
    }
    let json = farm.client(&["status", "--health", "--json"]).success();
    assert_eq!(json, "{\"status\":\"serving\"}\n");
    farm.client(&["status", "--health", "happiness"]).usage("--health");
}

#[test]
fn systemd_is_notified_of_readiness_and_stopping() {
    let scratch = Scratch::new();
    let socket = scratch.path("notify");
    let systemd = UnixDatagram::bind(&socket).expect("a socket can be made");
    systemd.set_read_timeout(Some(PATIENCE)).expect("it is ours");
    let reported = |wanted: &str| {
        let mut message = [0; 1024];
        let mut all = Vec::new();
        while !all.iter().any(|line| line == wanted) {
            let length = systemd.recv(&mut message).expect(wanted);
            let text = String::from_utf8_lossy(&message[..length]);
            all.extend(text.lines().map(String::from));
        }
        all
    };
    let farm = Farm::new("", "");
    let mut command = farm.coordinator();
    let coordinator = Process::start(command.env("NOTIFY_SOCKET", &socket), farm.new_log());

    // The coordinator can be used as soon as READY=1 arrives.
    let all = reported("READY=1");
    farm.client(&["jobs"]).success();
    assert!(all.contains(&"STATUS=reading the ledger".into()), "{all:?}");
    assert!(all.contains(&format!("STATUS=serving on {}", farm.address())), "{all:?}");
    assert!(!all.contains(&"STOPPING=1".into()), "{all:?}");

    coordinator.stop();
    reported("STOPPING=1");
}

#[test]
fn a_second_coordinator_leaves_the_files_of_the_first() {
    let scratch = Scratch::new();
    let join = scratch.path("join");
    let farm = Farm::new(&format!("--tls --join-file {}", join.display()), "");
    let _coordinator = farm.start_coordinator();
    let read = || std::fs::read_to_string(&join).expect("it is there");
    let before = read();

    let late = run(&mut farm.coordinator_at("127.0.0.1:0"));

    assert_eq!(late.code, Some(7), "{}", late.stderr);
    assert_eq!(read(), before);
    let missing = Farm::new("--tls", "").with_ledger(scratch.path("nowhere").join("farm.db"));
    let refused = run(&mut missing.coordinator());
    refused.refusal(10, &["there is no folder", "nowhere"]);
    assert!(!scratch.path("nowhere").exists(), "it is not made by mistake");
}
