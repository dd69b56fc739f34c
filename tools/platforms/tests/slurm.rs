//! Tests the scripts in deploy/slurm, as users submit them, on a cluster of three virtual nodes.
//!
//! Needs root and Debian's packages slurm-wlm and munge, so a plain `cargo test` leaves these tests
//! out:
//!
//! ```text
//! cargo build && cargo test -p platforms --test slurm -- --ignored
//! ```

#[path = "slurm/cluster.rs"]
mod cluster;
#[path = "../../../crates/queens-cli/tests/support/mod.rs"]
mod support;

use std::process::Command;

use cluster::{Cluster, SCRIPTS, Task, wait_for};
use support::process::{Process, run};

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn shards_add_up_after_requeueing_and_preemption() {
    // Given four shards on two nodes, and a merge that waits for them
    let cluster = Cluster::start();
    let n = MEDIUM.to_string();
    let parts = cluster.submit(&["--array=1-4", "shard.sbatch", &n, "--method", "rows"]);
    let merge = cluster.submit(&[&format!("--dependency=afterok:{parts}"), "merge.sbatch"]);
    let counted = |part: u32| cluster.accepted(&format!("shard-{part}-of-4.db"));
    wait_for("all shards to be in the middle", || (1..=4).all(|part| counted(part) > 0));

    // When one shard is requeued by hand, and another is preempted
    cluster.scontrol(&["requeue", &format!("{parts}_1")]);
    let last = cluster.tasks(&parts).pop().expect("there are parts");
    cluster.preempt(&last.node.expect("it runs"));
    cluster.wait_for_all();

    // Then the total is right, and no other shard was restarted.
    assert_eq!(cluster.read("total.txt"), format!("{}\n", testkit::vectors::total(MEDIUM)));
    let tasks = cluster.tasks(&parts);
    assert!(tasks.iter().all(Task::is_completed), "{tasks:?}");
    assert_eq!(restarts(&tasks), [1, 0, 0, 1], "{tasks:?}");
    assert!(cluster.tasks(&merge)[0].is_completed());
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn a_shard_resumes_after_its_time_limit_but_not_if_cancelled() {
    let cluster = Cluster::start();
    let part =
        cluster.submit(&["--array=1-1", "shard.sbatch", &LARGE.to_string(), "--method", "rows"]);
    let accepted = || cluster.accepted("shard-1-of-1.db");
    let task = || cluster.tasks(&part).remove(0);
    wait_for("counts", || accepted() > 0);

    // Slurm signals within half a minute.
    cluster.scontrol(&["update", &format!("jobid={part}"), "timelimit=1"]);
    wait_for("the end of the turn", || task().restarts == 1);
    cluster.scontrol(&["update", &format!("jobid={part}"), "timelimit=60"]);
    let before = accepted();
    wait_for("the next turn to count", || accepted() > before);

    run(cluster.command("scancel").arg(&part)).success();
    cluster.wait_for_all();
    assert_eq!((task().state.as_str(), task().restarts), ("CANCELLED", 1));
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn a_shard_waits_for_a_ledger_that_another_process_has() {
    // Given a process that has the ledger open, as on a node that was cut off
    let cluster = Cluster::start();
    let mut count = cluster.command("queens");
    count.args(["count", &LARGE.to_string(), "--shard", "1/1", "--ledger", "shard-1-of-1.db"]);
    let other = Process::start(&mut count, cluster.path("other.log"));
    wait_for("counts", || cluster.accepted("shard-1-of-1.db") > 0);

    let part = cluster.submit(&["--array=1-1", "shard.sbatch", &LARGE.to_string()]);
    let task = || cluster.tasks(&part).remove(0);
    wait_for("a turn in vain", || task().restarts == 1);
    other.kill();
    let before = cluster.accepted("shard-1-of-1.db");

    wait_for("a turn that counts", || cluster.accepted("shard-1-of-1.db") > before);
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn a_farm_is_exact_if_its_coordinator_moves() {
    // Given a farm in the middle of a count
    let cluster = Cluster::start();
    let n = MEDIUM.to_string();
    let coordinator = cluster.submit(&["coordinator.sbatch", &n, "--method", "rows"]);
    let after = format!("--dependency=after:{coordinator}");
    let workers = cluster.submit(&["--array=1-3", &after, "worker.sbatch"]);
    wait_for("the count to be in the middle", || cluster.accepted("farm.db") > 0);
    let address = cluster.read("join");

    // When a worker is preempted, and the coordinator has to move to another node
    let worker = cluster.tasks(&workers).pop().expect("there are workers");
    let here = cluster.tasks(&coordinator).remove(0).node.expect("it runs");
    cluster.preempt(&worker.node.expect("it runs"));
    cluster.scontrol(&["requeue", &coordinator]);
    cluster.scontrol(&["update", &format!("jobid={coordinator}"), &format!("excnodelist={here}")]);
    cluster.wait_for_all();

    // Then the total is right, and the workers that remained have followed the coordinator.
    assert_eq!(cluster.read("total.txt"), format!("{}\n", testkit::vectors::total(MEDIUM)));
    let second = cluster.tasks(&coordinator).remove(0);
    assert!(second.is_completed() && second.restarts == 1, "{second:?}");
    assert!(second.node != Some(here) && address != cluster.read("join"), "{second:?}");
    let workers = cluster.tasks(&workers);
    assert!(workers.iter().all(Task::is_completed), "{workers:?}");
    assert_eq!(restarts(&workers), [0, 0, 1], "{workers:?}");
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn workers_wait_in_the_queue_while_the_coordinator_does() {
    // Given a coordinator that waits in the queue again
    let cluster = Cluster::start();
    let coordinator =
        cluster.submit(&["--hold", "coordinator.sbatch", &SMALL.to_string(), "--method", "rows"]);
    std::fs::write(cluster.path("farm.job"), &coordinator).expect("a new file");

    // When workers get nodes, then they leave them because there is no coordinator.
    let workers = cluster.submit(&["--array=1-3", "worker.sbatch"]);
    let are_back = || cluster.tasks(&workers).iter().all(|worker| worker.restarts == 1);
    wait_for("the workers to be in the queue again", are_back);
    assert!(
        !cluster.path("join").exists() && !cluster.read("worker-1.log").contains("worker starts")
    );

    // When the coordinator starts, then the workers come back.
    cluster.scontrol(&["release", &coordinator]);
    cluster.wait_for_all();
    assert_eq!(cluster.read("total.txt"), format!("{}\n", testkit::vectors::total(SMALL)));
    assert!(cluster.tasks(&workers).iter().all(Task::is_completed));
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn a_farm_grows_and_shrinks_by_itself() {
    // Given a farm with work and without workers
    let cluster = Cluster::start();
    let queens = |arguments: &[&str]| {
        let mut command = cluster.command("queens");
        command.args(arguments).env("QUEENS_JOIN_FILE", "join");
        command
    };
    let serve =
        "coordinator --tls --listen 127.0.0.1:0 --ledger farm.db --join-file join".split(' ');
    let serve: Vec<&str> = serve.collect();
    let start_coordinator = || Process::start(&mut queens(&serve), cluster.path("coordinator.log"));
    let mut coordinator = start_coordinator();
    coordinator.wait_for_line("coordinator serves");
    run(&mut queens(&["submit", &MEDIUM.to_string(), "--method", "rows"])).success();
    let autoscale = |options: &[&str]| {
        let mut command = queens(&["autoscale", "slurm", "--max-nodes", "4", "--every", "1s"]);
        command.args(["--idle", "3s", "--backlog", "1", "--"]).args(options);
        command
    };
    let states = || run(cluster.command("squeue").args(["--noheader", "--format=%T"])).success();
    let count = |state: &str| states().lines().filter(|line| *line == state).count();

    // When no job can run, then autoscale ends.
    let nowhere = run(&mut autoscale(&["--partition=nowhere"]));
    assert!(nowhere.code == Some(19) && nowhere.stderr.contains("nowhere"), "{nowhere:?}");
    let unwritten = run(&mut autoscale(&["--output=/nonexistent/%j.log"]));
    assert_eq!(unwritten.code, Some(19), "{unwritten:?}");

    // When jobs can run, then the farm grows. A second process and a restart of the coordinator do
    // not disturb this.
    let first = Process::start(&mut autoscale(&[]), cluster.path("first.log"));
    wait_for("all nodes to work, and a job to wait", || {
        count("RUNNING") == 3 && count("PENDING") == 1
    });
    first.stop();
    coordinator.kill();
    let mut coordinator = start_coordinator();
    coordinator.wait_for_line("coordinator serves");
    let second = Process::start(&mut autoscale(&[]), cluster.path("second.log"));
    let job = || run(&mut queens(&["jobs", "1", "--json"])).success();
    wait_for("the total", || job().contains(r#""state":"done""#));
    let total = run(&mut queens(&["watch", "1"])).success();

    // Then the total is right, and the farm is empty again.
    assert_eq!(total, format!("{}\n", testkit::vectors::total(MEDIUM)));
    wait_for("the queue to be empty", || states().is_empty());
    second.stop();
    coordinator.stop();
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn a_sweep_counts_each_board_and_a_failure_stops_a_merge() {
    let cluster = Cluster::start();

    cluster.submit(&["--array=8-13", "sweep.sbatch", "--method", "rows"]);
    // This method has no board of this size.
    let parts = cluster.submit(&["--array=1-2", "shard.sbatch", "3", "--method", "colours"]);
    let merge = cluster.submit(&[&format!("--dependency=afterok:{parts}"), "merge.sbatch"]);
    cluster.wait_for_all();

    for n in 8..=13 {
        assert_eq!(cluster.read(&format!("q{n}.txt")), format!("{}\n", testkit::vectors::total(n)));
    }
    assert!(cluster.tasks(&parts).iter().all(|task| task.state == "FAILED"), "{parts}");
    assert_eq!(cluster.tasks(&merge)[0].state, "CANCELLED");
    assert!(!cluster.path("total.txt").exists());
}

#[test]
#[ignore = "needs root, slurm-wlm and munge: .ci/nightly slurm"]
fn the_page_about_clusters_holds_word_by_word() {
    // Given the commands of the page, one block after the other, for a smaller board
    let page = include_str!("../../../docs/CLUSTER.md");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let blocks: Vec<String> = blocks.map(|block| block.replace("22", "14")).collect();
    assert!(blocks.len() > 2, "the page has commands");
    let cluster = Cluster::start();
    let empty = "while [ -n \"$(squeue --noheader)\" ]; do sleep 1; done\n";

    // When a person types them, and waits for the jobs after each block
    let mut shell = cluster.command("bash");
    shell.args(["-euo", "pipefail", "-c", &blocks.join(empty)]).env("scripts", SCRIPTS);
    let said = run(&mut shell).success();

    // Then they print the total, once for each way to count.
    cluster.wait_for_all();
    let total = testkit::vectors::total(14).to_string();
    assert_eq!(said.lines().filter(|line| *line == total).count(), 2, "{said}");
}

/// Programs that play a cluster, in which each turn of a job ends at once and in vain.
const IN_VAIN: &str = r#"
set -u
cd "$1"
scontrol() { echo "$@" >>requeued; }
squeue() { echo RUNNING; }
srun() { return "$code"; }
queens() { return 1; }
export -f scontrol squeue srun queens
SLURM_CPUS_PER_TASK=1 SLURM_JOB_ID=7 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=9 \
  bash "$2" 12
true
"#;

/// This one needs no Slurm.
#[test]
fn no_job_comes_back_for_ever() {
    let scratch = support::Scratch::new();
    std::fs::write(scratch.path("farm.job"), "7").expect("a new file");
    let jobs = [("shard", "75"), ("sweep", "75"), ("worker", "5"), ("coordinator", "7")];
    for (script, code) in jobs {
        for (restarts, comes_back) in [("0", true), ("999", true), ("10000", false)] {
            let mut turn = Command::new("bash");
            turn.args(["-c", IN_VAIN, "-"]).arg(scratch.path(""));
            turn.arg(format!("{SCRIPTS}/{script}.sbatch"));
            run(turn.env("code", code).env("SLURM_RESTART_COUNT", restarts)).success();
            let requeued = std::fs::remove_file(scratch.path("requeued")).is_ok();
            assert_eq!(requeued, comes_back, "{script} after {restarts} restarts");
        }
    }
}

fn restarts(tasks: &[Task]) -> Vec<u32> {
    tasks.iter().map(|task| task.restarts).collect()
}

/// A board that takes a second.
const SMALL: u32 = 14;

/// A board that takes half a minute of one processor by `rows`, with the portable backend.
const MEDIUM: u32 = 18;

/// A board that takes minutes.
const LARGE: u32 = 20;
