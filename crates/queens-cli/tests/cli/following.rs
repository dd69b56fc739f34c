//! Tests of coordinators that publish their address, and of workers and clients that follow them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::ledger::Snapshot;
use crate::support::log::{self, Entry};
use crate::support::process::{Outcome, Process, queens, run, wait_until};
use crate::support::{Farm, Port, Scratch, write_private};

/// A board that takes some seconds to count.
const LONG: u32 = 16;

#[test]
fn workers_follow_a_coordinator_to_another_port_without_loss() {
    // Given a worker in the middle of a job
    let (_scratch, file) = join_file();
    let options =
        format!("--tls --join-file {} --lease-ms 600000 --lease-ttl-ms 3600000", text(&file));
    let farm = Farm::new(&options, "--report-ms 50");
    let mut worker = farm.start_worker_by(&["--join-file", text(&file)]);
    worker.wait_for_line("does not exist");
    let coordinator = start_at(&farm, "127.0.0.1:0");
    let first = read(&file);
    let submit = ["submit", &LONG.to_string(), "--rows", "5"];
    let job: u64 = at(&file, &submit).success().trim().parse().expect("the job's number");
    let accepted = |snapshot: &Snapshot| snapshot.jobs[&job].accepted().len();
    wait_until("a part of the job to be accepted", || accepted(&farm.snapshot()) > 5_000);

    // When the coordinator is killed and comes back on another port, while the worker continues
    coordinator.kill();
    let before = farm.snapshot();
    assert_eq!(before.running(), 1, "it is in the middle");
    std::thread::sleep(Duration::from_millis(500));
    let _coordinator = start_at(&farm, "127.0.0.1:0");
    assert_ne!(read(&file), first);

    // Then the total is exact. Counts made meanwhile are accepted under their old lease, and their
    // tasks are not leased again. Tasks of an old lease that had not arrived yet are leased again.
    let total = at(&file, &["watch", &job.to_string()]).success();
    assert_eq!(total, format!("{}\n", vectors::total(LONG)));
    let after = farm.snapshot();
    assert!(after.jobs[&job].is_tiled(), "every task is accepted once");
    let rows = after.jobs[&job].rows.values();
    let by_old: Vec<_> = rows.filter(|row| row.lease >> 40 == before.epoch).collect();
    let counted: u64 = by_old.iter().map(|row| row.range.len()).sum();
    assert!(counted > accepted(&before), "a part was counted meanwhile");
    for line in log::read(worker.log()) {
        let Entry::Lease { range, epoch, .. } = line.entry else { continue };
        let is_again = by_old.iter().any(|row| row.range.intersect(range).is_some());
        assert!(epoch == before.epoch || !is_again, "{range} again");
    }
}

#[test]
fn a_worker_waits_for_the_join_file_with_one_warning() {
    let scratch = Scratch::new();
    let join = scratch.path("join");
    let farm = Farm::new(&format!("--tls --join-file {}", text(&join)), "");
    let mut worker = farm.start_worker_by(&["--join-file", text(&join)]);
    worker.wait_for_line("does not exist");
    at(&join, &["jobs"]).refusal(5, &["the address in", text(&join), "does not exist"]);
    // This is long enough for several attempts.
    std::thread::sleep(Duration::from_secs(1));

    let _coordinator = farm.start_coordinator();

    worker.wait_for_line("welcomes");
    let warnings = worker.said().matches(r#""WARN""#).count();
    assert_eq!(warnings, 1, "{}", worker.said());
}

#[test]
fn every_address_is_served() {
    let farm = Farm::new("--listen 127.0.0.2:0", "");
    let coordinator = start_at(&farm, "127.0.0.1:0");
    let served = addresses(&coordinator);
    assert_eq!(served.len(), 2, "{served:?}");
    for address in &served {
        run(&mut queens(&["jobs", "--coordinator", &address.to_string()])).success();
    }
}

#[test]
fn a_port_or_a_host_is_enough_to_listen_and_to_connect() {
    let farm = Farm::new("", "");
    let port = Port::reserve();
    let number = port.address().rsplit_once(':').expect("it has a port").1.to_owned();
    for listen in [number.clone(), format!("localhost:{number}")] {
        let coordinator = start_at(&farm, &listen);
        assert_eq!(
            addresses(&coordinator),
            [port.address().parse().expect("it is one")],
            "{listen}"
        );
        run(&mut queens(&["jobs", "--coordinator", &port.address()])).success();
        coordinator.stop();
    }
    // This is a loopback address that nothing else uses.
    let refused = run(&mut queens(&["jobs", "--coordinator", "127.0.0.3"]));
    refused.refusal(5, &["no coordinator answers", "127.0.0.3:7410"]);
}

#[test]
fn the_join_string_has_the_advertised_address() {
    let (_scratch, file) = join_file();
    let farm = Farm::new(&format!("--tls --join-file {}", text(&file)), "");
    let advertise = |address: &str| {
        let mut command = farm.coordinator_at("127.0.0.1:0");
        let mut coordinator =
            Process::start(command.args(["--advertise", address]), farm.new_log());
        coordinator.wait_for_line("coordinator serves");
        let reported = (read(&file), addresses(&coordinator)[0].port());
        coordinator.stop();
        reported
    };
    let (reported, port) = advertise("head-node");
    assert!(reported.contains(&format!("@head-node:{port}#")), "{reported}");
    let (reported, port) = advertise("2001:db8::1");
    assert!(reported.contains(&format!("@[2001:db8::1]:{port}#")), "{reported}");
    let (reported, _) = advertise("head-node:99");
    assert!(reported.contains("@head-node:99#"), "{reported}");
    for nonsense in ["head node", "h:", "h:0", "h:1:2", "[h]x"] {
        run(farm.coordinator().args(["--advertise", nonsense])).usage("--advertise");
    }
}

#[test]
fn one_public_address_makes_all_addresses_need_a_token() {
    let farm = Farm::new("--listen 0.0.0.0:0", "");
    let coordinator = start_at(&farm, "127.0.0.1:0");
    let served = addresses(&coordinator);
    let at_loopback = format!("http://{}", served[0]);
    run(&mut queens(&["jobs", "--coordinator", &at_loopback])).refusal(5, &["--join-file"]);
    let join = read(&farm.key("join"));
    assert!(join.contains(&format!(":{}#", served[1].port())), "others reach the second: {join}");
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
