//! Tests of what a coordinator reports to probes and to systemd.

use std::os::unix::net::UnixDatagram;

use crate::support::process::{PATIENCE, Process};
use crate::support::{Farm, Scratch};

#[test]
fn systemd_and_probes_are_told_of_readiness_and_stopping() {
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

    // Probes ask for liveness or readiness.
    for service in ["liveness", "readiness"] {
        let answer = farm.client(&["jobs", "--health", service]).success();
        assert_eq!(answer, "serving\n", "{service}");
    }
    let json = farm.client(&["jobs", "--health", "--json"]).success();
    assert_eq!(json, "{\"status\":\"serving\"}\n");
    farm.client(&["jobs", "--health", "happiness"]).usage("--health");

    coordinator.stop();
    reported("STOPPING=1");
}
