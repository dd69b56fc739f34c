//! Tests of coordinators that publish their address, and of workers and clients that follow them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::ledger::Snapshot;
use crate::support::process::{Outcome, Process, queens, run, wait_until};
use crate::support::{Farm, Port, Scratch, write_private};

/// A board that takes some seconds to count.
const LONG: u32 = 16;

#[test]
fn workers_follow_a_coordinator_to_another_port_without_loss() {
    // Given a worker in the middle of a job
    let (_scratch, file) = join_file();
    let options = "--lease-ms 600000 --lease-ttl-ms 3600000 --grace-ms 1000";
    let options = format!("--tls --join-file {} {options}", text(&file));
    let farm = Farm::new(&options, "--report-ms 50");
    let mut worker = farm.start_worker_by(&["--join-file", text(&file)]);
    worker.wait_for_line("does not exist");
    let coordinator = start_at(&farm, "127.0.0.1:0");
    let first = read(&file);
    let submit = ["submit", &LONG.to_string(), "--rows", "5"];
    let job: u64 = at(&file, &submit).success().trim().parse().expect("the job's number");
    let accepted = |snapshot: &Snapshot| snapshot.jobs[&job].accepted().len();
    wait_until("a part of the job to be accepted", || accepted(&farm.snapshot()) > 1_000);

    // When the coordinator is killed and comes back on another port, while the worker continues
    coordinator.kill();
    let before = farm.snapshot();
    assert_eq!(before.running(), 1, "it is in the middle");
    std::thread::sleep(Duration::from_millis(500));
    let _coordinator = start_at(&farm, "127.0.0.1:0");
    assert_ne!(read(&file), first);

    // Then the total is exact, and counts made meanwhile are accepted under their old lease.
    let total = at(&file, &["watch", &job.to_string()]).success();
    assert_eq!(total, format!("{}\n", testkit::vectors::total(LONG)));
    let after = farm.snapshot();
    assert!(after.jobs[&job].is_tiled(), "every task is accepted once");
    let rows = after.jobs[&job].rows.values();
    let by_old = rows.filter(|row| row.lease >> 40 == before.epoch);
    let counted: u64 = by_old.map(|row| row.range.len()).sum();
    assert!(counted > accepted(&before), "a part was counted meanwhile");
}

#[test]
fn a_port_or_a_host_is_enough_to_listen() {
    let farm = Farm::new("", "");
    let port = Port::reserve();
    let address = port.address().parse().expect("it is one");
    let number = port.address().rsplit_once(':').expect("it has a port").1.to_owned();
    for listen in [number.clone(), format!("localhost:{number}")] {
        let coordinator = start_at(&farm, &listen);
        assert_eq!(addresses(&coordinator), [address], "{listen}");
        run(&mut queens(&["jobs", "--coordinator", &port.address()])).success();
        coordinator.stop();
    }
}

#[test]
fn the_join_string_has_the_advertised_address() {
    let (_scratch, file) = join_file();
    let farm = Farm::new(&format!("--tls --join-file {}", text(&file)), "");
    for (address, shown) in [("head-node", "head-node"), ("2001:db8::1", "[2001:db8::1]")] {
        let mut command = farm.coordinator_at("127.0.0.1:0");
        command.args(["--advertise", address]);
        let mut coordinator = Process::start(&mut command, farm.new_log());
        coordinator.wait_for_line("coordinator serves");
        let expected = format!("@{shown}:{}#", addresses(&coordinator)[0].port());
        assert!(read(&file).contains(&expected), "{address}: {}", read(&file));
        coordinator.stop();
    }
    for nonsense in ["head node", "h:", "h:0", "h:1:2", "[h]x"] {
        run(farm.coordinator().args(["--advertise", nonsense])).usage("--advertise");
    }
    let plain = Farm::new("", "");
    let refused = run(plain.coordinator().args(["--advertise", "head-node"]));
    refused.usage("there is no join string without TLS");
    plain.serve(plain.coordinator().env("QUEENS_ADVERTISE", "head-node")).stop();
}

#[test]
fn one_public_address_makes_all_addresses_need_a_token() {
    let farm = Farm::new("--listen 0.0.0.0:0", "");
    let coordinator = start_at(&farm, "127.0.0.1:0");
    let [inner, outer] = addresses(&coordinator)[..] else { panic!("{}", coordinator.said()) };
    let at_loopback = format!("http://{inner}");
    run(&mut queens(&["jobs", "--coordinator", &at_loopback])).refusal(5, &["--join-file"]);
    let join = read(&farm.key("join"));
    assert!(join.contains(&format!(":{}#", outer.port())), "others reach the second: {join}");
    at(&farm.key("join"), &["jobs"]).success();
}

#[test]
fn a_file_without_a_join_string_is_refused() {
    let (_scratch, file) = join_file();
    write_private(&file, "head-node:7410");
    at(&file, &["jobs"]).refusal(6, &["it holds no join string", text(&file)]);
}

/// A path for a join file, and the folder that holds it.
fn join_file() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let file = scratch.path("join");
    (scratch, file)
}

/// Starts the coordinator at an address, and waits until it serves.
fn start_at(farm: &Farm, address: &str) -> Process {
    let mut coordinator = Process::start(&mut farm.coordinator_at(address), farm.new_log());
    coordinator.wait_for_line("coordinator serves");
    coordinator
}

/// The addresses in the log of a coordinator that serves.
fn addresses(coordinator: &Process) -> Vec<SocketAddr> {
    let said = coordinator.said();
    let named = said.split("addresses=\"").nth(1).expect("the log names them");
    let named = named.split('"').next().expect("a first part");
    named.split(", ").map(|address| address.parse().expect("an address")).collect()
}

/// Runs a client command that finds the coordinator by a join file.
fn at(file: &Path, args: &[&str]) -> Outcome {
    run(&mut queens(&[args, &["--join-file", text(file)]].concat()))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("it was written").trim().into()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
