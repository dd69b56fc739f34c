//! Tests the containers of the Kubernetes manifests without a cluster. The manifests are checked
//! against the schemas. Each container's settings (arguments, variables, user, limits, read-only
//! root, volumes, secrets, probes) are translated for the compose tool, which runs it.

mod cluster;

use std::process::Command;

use crate::client::{self, submit, total, wait_until_in_the_middle_of};
use crate::docker::{docker, wait_for};
use cluster::{Cluster, Manifests};

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn a_farm_of_containers_counts_if_its_coordinator_is_killed() {
    let manifests = Manifests::of("farm");
    let mut farm = Cluster::new();
    let pod = manifests.pod("StatefulSet", "coordinator");
    farm.add("coordinator", pod, &[]);
    let coordinator = farm.start("coordinator");
    let probe = |probe: &str| {
        let command = &pod["containers"][0][probe]["exec"]["command"];
        let args = command.as_array().expect("it is a probe by a command");
        let args: Vec<&str> = args.iter().filter_map(|word| word.as_str()).collect();
        let probed = Command::new("docker").arg("exec").arg(&coordinator).args(args).output();
        probed.expect("docker runs").status.success()
    };
    wait_for("the coordinator to start", || probe("startupProbe"));
    wait_for("the coordinator to be ready", || probe("readinessProbe"));
    assert!(probe("livenessProbe"));

    // As the README says, the secret is made in the coordinator's pod, and the workers wait for it.
    let args = ["token", "create", "--role", "worker", "--owner", "cluster"];
    let join = docker(&[&["exec", &coordinator, "queens"][..], &args].concat());
    farm.make_secret("worker-join", &[("join", &join)]);
    for name in ["worker-0", "worker-1"] {
        farm.add(name, manifests.pod("Deployment", "worker"), &[]);
        // All processors take about the same time with this backend, so the test can observe the
        // middle of the job.
        farm.set(name, "QUEENS_BACKEND", "portable");
        farm.start(name);
    }
    wait_for("the workers", || client::workers(&coordinator).len() == 2);
    let workers = client::workers(&coordinator);
    assert!(workers.iter().all(|worker| worker["machine"] == "node"), "{workers:?}");
    assert!(workers.iter().any(|worker| worker["worker"] == "worker-1"), "{workers:?}");

    let job = submit(&coordinator, LONG, 4);
    wait_until_in_the_middle_of(&coordinator, &job);
    docker(&["kill", &coordinator]);
    assert!(!probe("livenessProbe"), "a dead coordinator is not alive");
    docker(&["start", &coordinator]);
    wait_for("the coordinator to start again", || probe("readinessProbe"));
    assert_eq!(total(&coordinator, &job), vectors::total(LONG));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn the_containers_of_the_shards_make_the_total() {
    let manifests = Manifests::of("shards");
    let (job, pod) = (manifests.find("Job", "count"), manifests.pod("Job", "count"));
    // A pod cannot ask Kubernetes how many pods there are, so two places have the number.
    let args = pod["containers"][0]["args"].to_string();
    assert!(args.contains(&format!("auto/{}", job["spec"]["completions"])), "{args}");

    let mut shards = Cluster::new();
    // These are the same arguments for a smaller board in fewer shards.
    let smaller: &[(&str, &str)] = &[("22", "14"), ("auto/64", "auto/3")];
    for index in 0..3 {
        let name = format!("count-{index}");
        shards.add(&name, pod, smaller);
        shards.set(&name, "JOB_COMPLETION_INDEX", &index.to_string());
        shards.run(&name);
    }
    shards.add("merge", manifests.pod("Job", "merge"), &[]);
    assert_eq!(shards.run("merge"), format!("{}\n", vectors::total(14)));
}

#[test]
#[ignore = "needs Docker, root and the base image: .ci/nightly containers"]
fn no_container_has_a_privilege_that_it_does_not_need() {
    for folder in ["all", "shards"] {
        for pod in Manifests::of(folder).pods() {
            assert_eq!(pod["automountServiceAccountToken"], false);
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            let container = &pod["containers"][0];
            assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
            assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
            assert_eq!(container["securityContext"]["capabilities"]["drop"][0], "ALL");
            assert!(container["resources"]["limits"]["memory"].is_string(), "{container}");
        }
    }
}

/// A board that takes half a minute of one processor by `rows`.
const LONG: u32 = 18;
