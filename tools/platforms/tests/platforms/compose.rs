//! Tests the farm that docker-compose.yml starts.

use std::path::Path;
use std::process::Command;

use crate::client::{self, submit, total, wait_until_in_the_middle_of};
use crate::docker::{
    COMMIT, USER, compose, crash, docker, docker_succeeds, inspect, owner_and_mode, run, wait_for,
};
use crate::farm::Farm;
use crate::process;

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn the_two_commands_of_the_readme_print_the_total() {
    let farm = Farm::up(4);

    let output = farm.compose(&["run", "--rm", "queens", "submit", "16", "--wait"]);

    assert_eq!(output, format!("{}\n", testkit::vectors::total(16)));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn the_image_knows_its_commit() {
    let farm = Farm::up(1);

    let version = farm.compose(&["run", "--rm", "queens", "--version"]);

    assert!(version.contains(COMMIT), "{version}");
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn the_coordinator_has_limits_of_memory_and_processes() {
    let farm = Farm::up(1);

    let limits = inspect(&farm.coordinator(), "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}");

    assert_eq!(limits, "2147483648 2048");
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn totals_are_exact_if_a_worker_and_the_coordinator_are_killed() {
    let farm = Farm::up(3);
    // Two ways to cut the same board give two jobs that share nothing.
    let [first, second] = [3, 4].map(|rows| submit(&farm.coordinator(), LONG, rows));

    wait_until_in_the_middle_of(&farm.coordinator(), &first);
    docker(&["kill", &farm.containers("worker")[0]]);

    wait_until_in_the_middle_of(&farm.coordinator(), &second);
    let coordinator = farm.coordinator();
    docker(&["kill", &coordinator]);
    // Docker treats a kill by hand as intended, and does not restart the container.
    docker(&["start", &coordinator]);
    farm.wait_until_healthy();

    assert_eq!(total(&farm.coordinator(), &first), testkit::vectors::total(LONG));
    assert_eq!(total(&farm.coordinator(), &second), testkit::vectors::total(LONG));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn a_stopped_farm_ends_cleanly_and_resumes_when_started() {
    let farm = Farm::up(3);
    let job = submit(&farm.coordinator(), LONG, 4);
    wait_until_in_the_middle_of(&farm.coordinator(), &job);

    farm.compose(&["stop"]);

    // Docker kills a container after its grace period. The code would then be 137.
    for container in farm.all_containers() {
        assert_eq!(inspect(&container, "{{.State.Status}} {{.State.ExitCode}}"), "exited 0");
    }

    farm.compose(&["start"]);
    farm.wait_until_healthy();
    assert_eq!(total(&farm.coordinator(), &job), testkit::vectors::total(LONG));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn a_process_that_dies_is_started_again() {
    let farm = Farm::up(1);

    for container in farm.all_containers() {
        crash(&container);

        wait_for("the container to be started again", || {
            inspect(&container, "{{.RestartCount}} {{.State.Running}}") == "1 true"
        });
    }

    // Both work again.
    farm.wait_until_healthy();
    let output = farm.compose(&["run", "--rm", "queens", "submit", "10", "--wait"]);
    assert_eq!(output, format!("{}\n", testkit::vectors::total(10)));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn containers_have_no_privilege_that_they_do_not_need() {
    let farm = Farm::up(1);

    for container in farm.all_containers() {
        let users = docker(&["top", &container, "-eo", "uid,pid"]);
        for process in users.lines().skip(1) {
            assert!(process.starts_with(&USER.to_string()), "{users}");
        }
        assert_eq!(inspect(&container, "{{.HostConfig.ReadonlyRootfs}}"), "true");
        assert_eq!(inspect(&container, "{{.HostConfig.CapDrop}}"), "[ALL]");
        assert_eq!(inspect(&container, "{{.HostConfig.SecurityOpt}}"), "[no-new-privileges:true]");
    }

    for join in ["/run/queens/admin/join", "/run/queens/workers/join"] {
        assert_eq!(owner_and_mode(&farm.coordinator(), join), (USER, 0o600));
    }
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn workers_have_a_credential_that_only_allows_counting() {
    let farm = Farm::up(1);
    let worker = farm.containers("worker").remove(0);
    let command = |args: &[&str]| {
        process::run(Command::new("docker").args(["exec", &worker, "queens"]).args(args))
    };

    command(&["submit", "8"]).refusal(6, &["a worker's"]);
    // The credential of clients is not in the container.
    command(&["jobs", "--join-file", "/run/queens/admin/join"]).refusal(5, &["does not exist"]);
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn a_command_leaves_a_killed_coordinator_dead() {
    let farm = Farm::up(1);
    let coordinator = farm.coordinator();
    docker(&["kill", &coordinator]);

    let status = process::run(&mut farm.compose_command(&["run", "--rm", "queens", "jobs", "1"]));

    assert_eq!(status.code, Some(5), "{}", status.stderr);
    assert!(status.stderr.contains("no coordinator answers"), "{}", status.stderr);
    assert_eq!(inspect(&coordinator, "{{.State.Running}}"), "false");
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn each_worker_takes_one_processor() {
    let farm = Farm::up(2);
    farm.wait_for_workers(2);

    assert_eq!(threads(&farm), [1; 2]);
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn workers_keep_to_narrow_limits_and_survive() {
    let limits = &[("QUEENS_WORKER_CPUS", "0.5"), ("QUEENS_WORKER_MEMORY", "256m")];
    let farm = Farm::up_with(3, limits);
    farm.wait_for_workers(3);

    assert_eq!(threads(&farm), [1; 3]);
    let board = LIMITED.to_string();
    let output = farm.compose(&["run", "--rm", "queens", "submit", &board, "--wait"]);
    assert_eq!(output, format!("{}\n", testkit::vectors::total(LIMITED)));
    for worker in farm.containers("worker") {
        assert_eq!(inspect(&worker, "{{.State.OOMKilled}} {{.RestartCount}}"), "false 0");
    }
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn the_monitoring_profile_starts_a_prometheus_that_scrapes() {
    // Any free port is used, because this machine may have a Prometheus of its own.
    let settings = &[("COMPOSE_PROFILES", "monitoring"), ("QUEENS_PROMETHEUS_PORT", "0")];
    let farm = Farm::up_with(2, settings);
    let prometheus = farm.containers("prometheus").remove(0);
    let ask = |query: &str| {
        let args = ["promtool", "query", "instant", "http://localhost:9090", query];
        docker(&[&["exec", &prometheus], &args[..]].concat())
    };
    wait_for("Prometheus to start", || {
        let args = ["promtool", "query", "instant", "http://localhost:9090", "1"];
        docker_succeeds(&[&["exec", &prometheus], &args[..]].concat())
    });
    wait_for("Prometheus to read the farm", || {
        ask("queens_workers == 2").contains("queens_workers")
    });
    let port = inspect(&prometheus, "{{(index .NetworkSettings.Ports \"9090/tcp\" 0).HostIp}}");
    assert_eq!(port, "127.0.0.1", "its pages need no login");
    assert_eq!(owner_and_mode(&farm.coordinator(), "/run/queens/monitor/token"), (USER, 0o600));

    // The alerts exist: one becomes pending when the coordinator is killed.
    docker(&["kill", &farm.coordinator()]);
    wait_for("an alert", || ask("ALERTS{alertname=\"QueensCoordinatorDown\"}").contains("ALERTS"));
}

/// Checks the file only: the machines of the tests have no graphics processor, so nothing is
/// started.
#[test]
#[ignore = "needs the compose tool: .ci/nightly containers"]
fn the_file_for_graphics_processors_is_read() {
    let mut command = compose(Path::new("docker-compose.yml"), "queens-gpu");
    let config = run(command.args(["--file", "docker-compose.gpu.yml", "config"]));

    assert!(config.contains("driver: nvidia"), "{config}");
}

/// The threads of each connected worker.
fn threads(farm: &Farm) -> Vec<u64> {
    let workers = client::workers(&farm.coordinator());
    workers.iter().map(|worker| worker["threads"].as_u64().expect("a number")).collect()
}

/// A board that takes half a minute of one processor by `rows`.
const LONG: u32 = 18;

/// A board that takes some seconds of half a processor by `colours`.
const LIMITED: u32 = 19;
