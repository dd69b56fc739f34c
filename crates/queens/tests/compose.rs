//! The farm as docker-compose.yml brings it up, with real containers, kills and volumes.
//!
//! Needs a Docker engine, the compose tool and the image's base images (deploy/README.md), so a
//! plain `cargo test` leaves these tests out:
//!
//! ```text
//! cargo test -p queens --test compose -- --ignored
//! ```

#[path = "compose/farm.rs"]
mod farm;

use farm::{Farm, crash, docker, inspect, owner_and_mode, wait_for};

#[test]
#[ignore = "needs Docker and the base images: deploy/README.md"]
fn the_two_commands_of_the_readme_print_the_total() {
    let farm = Farm::up(4);

    let output = farm.compose(&["run", "--rm", "queens", "submit", "16", "--wait"]);

    assert_eq!(output, format!("{}\n", vectors::total(16)));
}

#[test]
#[ignore = "needs Docker and the base images: deploy/README.md"]
fn totals_are_exact_although_a_worker_and_the_coordinator_are_killed() {
    let farm = Farm::up(3);
    // Two ways to cut the same board: two jobs that share nothing.
    let [first, second] = [3, 4].map(|rows| farm.submit(LONG, rows));

    farm.wait_until_in_the_middle_of(&first);
    docker(&["kill", &farm.containers("worker")[0]]);

    farm.wait_until_in_the_middle_of(&second);
    let coordinator = farm.coordinator();
    docker(&["kill", &coordinator]);
    // Docker takes a kill by hand for a wish and leaves the container alone.
    docker(&["start", &coordinator]);
    farm.wait_until_healthy();

    assert_eq!(farm.total(&first), vectors::total(LONG));
    assert_eq!(farm.total(&second), vectors::total(LONG));
}

#[test]
#[ignore = "needs Docker and the base images: deploy/README.md"]
fn a_farm_stopped_in_the_middle_ends_cleanly_and_goes_on_when_it_is_started() {
    let farm = Farm::up(3);
    let job = farm.submit(LONG, 4);
    farm.wait_until_in_the_middle_of(&job);

    farm.compose(&["stop"]);

    // Docker kills what outlives its grace period: that would be 137.
    for container in farm.all_containers() {
        assert_eq!(inspect(&container, "{{.State.Status}} {{.State.ExitCode}}"), "exited 0");
    }

    farm.compose(&["start"]);
    farm.wait_until_healthy();
    assert_eq!(farm.total(&job), vectors::total(LONG));
}

#[test]
#[ignore = "needs Docker and the base images: deploy/README.md"]
fn a_process_that_dies_is_started_again() {
    let farm = Farm::up(1);

    for container in farm.all_containers() {
        crash(&container);

        wait_for("the container to be started again", || {
            inspect(&container, "{{.RestartCount}} {{.State.Running}}") == "1 true"
        });
    }

    // And both are of use again.
    farm.wait_until_healthy();
    let output = farm.compose(&["run", "--rm", "queens", "submit", "10", "--wait"]);
    assert_eq!(output, format!("{}\n", vectors::total(10)));
}

#[test]
#[ignore = "needs Docker and the base images: deploy/README.md"]
fn the_containers_hold_no_power_that_they_do_not_need() {
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

    let (owner, mode) = owner_and_mode(&farm.coordinator(), "/run/queens/join");
    assert_eq!((owner, mode), (USER, 0o600));
}

/// The image's user, by number.
const USER: u32 = 65532;

/// A board that takes half a minute of one processor.
const LONG: u32 = 18;
