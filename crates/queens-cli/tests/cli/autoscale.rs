//! Tests `queens autoscale` with programs that stand in for Slurm's. tools/platforms/tests/slurm.rs
//! uses Slurm's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::process::{Process, queens, run, wait_until};
use crate::support::{Farm, Scratch};

/// A queue in a file: a line `JOB|STATE|COMMENT` for each job.
struct Slurm {
    scratch: Scratch,
}

impl Slurm {
    fn new(sbatch: &str) -> Slurm {
        let slurm = Slurm { scratch: Scratch::new() };
        fs::write(slurm.scratch.path("queue"), "").expect("a new file");
        slurm.install("sbatch", sbatch);
        slurm.install("squeue", "cat queue");
        slurm.install("scancel", "shift; for job; do sed -i \"/^$job|PENDING/d\" queue; done");
        slurm
    }

    fn install(&self, name: &str, script: &str) {
        let path = self.scratch.path(name);
        let folder = self.scratch.path("");
        let text = format!("#!/bin/sh\ncd '{}' || exit\n{script}\n", folder.display());
        fs::write(&path, text).expect("a new file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// The command for this farm and this queue.
    fn autoscale(&self, farm: &Farm, arguments: &[&str]) -> Command {
        let mut command = queens(&["autoscale", "slurm", "--every", "1s", "--max-nodes", "3"]);
        let path = format!("{}:/usr/bin:/bin", self.scratch.path("").display());
        command.args(arguments).env("QUEENS_COORDINATOR", farm.url()).env("PATH", path);
        command
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).unwrap_or_default()
    }

    /// The number of jobs in this state.
    fn count(&self, state: &str) -> usize {
        self.read("queue").lines().filter(|line| line.contains(state)).count()
    }

    /// Replaces `word` in the queue by another word.
    fn turn(&self, word: &str, into: &str) {
        let queue = self.read("queue").replace(word, into);
        fs::write(self.scratch.path("turned"), queue).expect("it is ours");
        fs::rename(self.scratch.path("turned"), self.scratch.path("queue")).expect("it is ours");
    }
}

/// A script that adds a waiting job, and records its arguments.
const SUBMITS: &str = r#"
echo "$@" >>submitted
echo "$QUEENS_COORDINATOR" >>told
for word; do case $word in --comment=*) comment=${word#--comment=} ;; esac; done
job=$(wc -l <submitted)
echo "$job|PENDING|$comment" >>queue
echo "$job""#;

#[test]
fn nodes_are_submitted_kept_and_withdrawn() {
    // Given a farm with work, and a queue with a job of another farm
    let (farm, slurm) = (Farm::new("", ""), Slurm::new(SUBMITS));
    let _coordinator = farm.start_coordinator();
    let start =
        |arguments: &[&str]| Process::start(&mut slurm.autoscale(&farm, arguments), farm.new_log());
    fs::write(slurm.scratch.path("queue"), "900|PENDING|queens:other\n").expect("it is ours");
    let job = farm.submit(18, 4, 0).to_string();

    // When a dry run looks at the queue, and a real run makes the farm grow
    let dry = run(&mut slurm.autoscale(&farm, &["--dry-run"])).success();
    assert!(dry.starts_with("would submit 2 jobs: "), "{dry}");
    let args = ["--time-limit", "1h", "--", "--partition=long"];
    let first = start(&args);
    wait_until("two jobs wait", || slurm.count("PENDING") == 3);
    slurm.turn("1|PENDING", "1|RUNNING");
    wait_until("a third is submitted", || slurm.read("submitted").lines().count() == 3);

    // Then a second process takes over the jobs, and withdraws the waiting ones when the work is
    // over.
    first.stop();
    let second = start(&args);
    farm.client(&["cancel", &job]).success();
    wait_until("what waited is withdrawn", || slurm.count("PENDING") == 1);
    second.stop();
    assert_eq!((slurm.count("RUNNING"), slurm.count("other")), (1, 1));
    let submitted = slurm.read("submitted");
    let first = submitted.lines().next().expect("there are some");
    for word in ["--exclusive", "--time=60", "--partition=long", "--time-limit 3540s", &farm.url()]
    {
        assert!(first.contains(word), "{word}: {first}");
    }
    assert_eq!((submitted.lines().count(), slurm.read("told")), (3, (farm.url() + "\n").repeat(3)));
}

#[test]
fn a_worker_in_a_job_of_slurm_is_known_by_its_name() {
    // Given a worker on a node, and no work except the task that it holds
    let (farm, slurm) = (Farm::new("", ""), Slurm::new(SUBMITS));
    let _coordinator = farm.start_coordinator();
    let (mut worker, log) = farm.worker(&["--coordinator", &farm.url()]);
    worker.env("SLURM_JOB_ID", "123").env("SLURMD_NODENAME", "n4");
    let _worker = Process::start(&mut worker, log);
    let workers = || farm.client(&["workers", "--json"]).success();
    wait_until("the worker", || workers().contains(r#""worker":"slurm-123-n4""#));
    farm.submit(18, 0, 0);
    wait_until("its task", || workers().contains(r#""tasks":1,"#));

    // Then the queue decides whether its node is counted as this farm's.
    let look = || run(&mut slurm.autoscale(&farm, &["--dry-run"])).success();
    assert!(look().contains("could use 0 threads; nodes at work: 0"), "{}", look());
    let ours = format!("123|RUNNING|queens:{}\n", farm.url());
    fs::write(slurm.scratch.path("queue"), ours).expect("it is ours");
    assert!(look().contains("could use 1 threads; nodes at work: 1"), "{}", look());
}

#[test]
fn several_failures_in_a_row_and_a_lack_of_slurm_end_autoscale() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(18, 4, 0);

    let refusing = Slurm::new("echo no such partition >&2; echo try another >&2; exit 1");
    let refused = run(&mut refusing.autoscale(&farm, &[]));
    assert_eq!(refused.code, Some(19), "{}", refused.stderr);
    let reason = "sbatch fails: no such partition; try another\n";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);

    // These jobs fail at once.
    let failing = Slurm::new(&SUBMITS.replace("PENDING", "FAILED"));
    let failed = run(&mut failing.autoscale(&farm, &[]));
    assert_eq!(failed.code, Some(19), "{}", failed.stderr);
    assert!(failed.stderr.contains("the last 4 jobs have failed"), "{}", failed.stderr);
    assert_eq!(failing.read("submitted").lines().count(), 4);

    let mut nowhere = failing.autoscale(&farm, &[]);
    run(nowhere.env("PATH", "/nonexistent")).refusal(19, &["squeue", "login node"]);
    run(&mut failing.autoscale(&farm, &["--time-limit", "1m"])).usage("give 2m 1s or more");
    run(&mut failing.autoscale(&farm, &["--backlog", "0"])).usage("backlog");
}

#[test]
fn autoscale_waits_for_an_absent_coordinator() {
    // Without one at the beginning, it waits some seconds.
    let refused = std::thread::spawn(|| {
        let mut alone = Slurm::new(SUBMITS).autoscale(&Farm::new("", ""), &[]);
        run(&mut alone).refusal(5, &["no coordinator answers"]);
    });
    let (farm, slurm) = (Farm::new("", ""), Slurm::new(SUBMITS));
    let coordinator = farm.start_coordinator();
    farm.submit(18, 4, 0);
    let mut scaling =
        Process::start(&mut slurm.autoscale(&farm, &["--backlog", "3"]), farm.new_log());
    wait_until("three jobs wait", || slurm.count("PENDING") == 3);

    coordinator.kill();
    slurm.turn("PENDING", "RUNNING");
    scaling.wait_for_line("no coordinator answers");
    // The farm's workers stop meanwhile.
    slurm.turn("RUNNING", "FAILED");
    let _coordinator = farm.start_coordinator();

    wait_until("others take their places", || slurm.read("submitted").lines().count() >= 6);
    scaling.stop();
    refused.join().expect("it is refused");
}
