//! The virtual cluster of deploy/slurm/lab for one test, and the folder of its jobs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Scratch;
use crate::support::ledger::Snapshot;
use crate::support::process::{self, run};

/// The ports suffice for one cluster, and the processors for one test.
static MACHINE: Mutex<()> = Mutex::new(());

/// The longest time that a test waits: far more than a slow and busy machine needs.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm");

/// A running cluster. It is stopped with all its jobs when this value is dropped.
pub(crate) struct Cluster {
    scratch: Scratch,
    _machine: MutexGuard<'static, ()>,
}

/// A job, or one task of an array, as Slurm describes it.
#[derive(Debug)]
pub(crate) struct Task {
    /// Its index in the array.
    pub(crate) index: Option<u32>,
    pub(crate) state: String,
    pub(crate) restarts: u32,
    /// The node on which it runs or ran last.
    pub(crate) node: Option<String>,
    exit_code: String,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        // A poisoned lock only means that another test failed.
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = Cluster { scratch: Scratch::new(), _machine: machine };
        fs::create_dir(cluster.path("")).expect("a new folder");
        run(&mut cluster.lab("start")).success();
        cluster
    }

    /// Submits a script of deploy/slurm, which is among the arguments of `sbatch`. Returns the
    /// job's number.
    #[track_caller]
    pub(crate) fn submit(&self, arguments: &[&str]) -> String {
        let place = |word: &&str| match word.ends_with(".sbatch") {
            true => format!("{SCRIPTS}/{word}"),
            false => (*word).into(),
        };
        let mut sbatch = self.command("sbatch");
        sbatch.arg("--parsable").args(arguments.iter().map(place));
        run(&mut sbatch).success().trim().into()
    }

    /// Occupies a node with a job that preempts the others there.
    pub(crate) fn preempt(&self, node: &str) {
        let job = ["--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=sleep 1"];
        let mut sbatch = self.command("sbatch");
        run(sbatch.args(job).arg(format!("--nodelist={node}"))).success();
    }

    /// A command that uses the cluster, in the folder of the jobs and with the program in its path.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = process::without_settings(Command::new(program), &[]);
        let queens = process::program();
        let queens = queens.parent().expect("it is in a folder");
        let path = std::env::var("PATH").expect("there is a path");
        command
            .current_dir(self.path(""))
            .env("SLURM_CONF", self.lab_folder().join("slurm.conf"))
            .env("PATH", format!("{}:{path}", queens.display()));
        command
    }

    pub(crate) fn scontrol(&self, arguments: &[&str]) -> String {
        run(self.command("scontrol").args(arguments)).success()
    }

    /// The tasks of a job by their indices. A job that is no array has one task.
    pub(crate) fn tasks(&self, job: &str) -> Vec<Task> {
        let text = self.scontrol(&["show", "job", "--oneliner", job]);
        let mut tasks: Vec<Task> = text.lines().map(Task::read).collect();
        tasks.sort_by_key(|task| task.index);
        tasks
    }

    /// Waits until the queue is empty, and no process runs in the folder of the jobs.
    pub(crate) fn wait_for_all(&self) {
        wait_for("the queue to be empty", || {
            run(self.command("squeue").arg("--noheader")).success().is_empty()
        });
        let left = processes_in(&self.path(""));
        assert!(left.is_empty(), "still running: {left:?}");
    }

    /// A path in the folder of the jobs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path("count").join(name)
    }

    /// The number of tasks of its first job that a ledger has counts of. It is 0 while there is no
    /// ledger.
    pub(crate) fn accepted(&self, ledger: &str) -> u64 {
        let ledger = Snapshot::try_read(&self.path(ledger)).ok();
        ledger.and_then(|ledger| ledger.jobs.get(&1).map(|job| job.accepted().len())).unwrap_or(0)
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn lab(&self, word: &str) -> Command {
        let mut lab = Command::new(format!("{SCRIPTS}/lab"));
        lab.arg(word).arg(self.lab_folder());
        lab
    }

    fn lab_folder(&self) -> PathBuf {
        self.scratch.path("lab")
    }

    /// Prints the queue and the logs of all jobs.
    fn show_logs(&self) {
        let _ = self.command("squeue").status();
        let files = fs::read_dir(self.path("")).into_iter().flatten().flatten();
        for path in files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "log"))
        {
            eprintln!("--- {}\n{}", path.display(), fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            self.show_logs();
        }
        // A panic here could be a second one.
        let _ = self.lab("stop").status();
    }
}

impl Task {
    fn read(line: &str) -> Task {
        let find = |name: &str| {
            let mut args = line.split_whitespace();
            args.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let known =
            |name: &str| find(name).unwrap_or_else(|| panic!("no {name} in {line}")).to_owned();
        Task {
            index: find("ArrayTaskId").and_then(|index| index.parse().ok()),
            state: known("JobState"),
            restarts: known("Restarts").parse().expect("a number"),
            node: find("NodeList").filter(|node| *node != "(null)").map(str::to_owned),
            exit_code: known("ExitCode"),
        }
    }

    pub(crate) fn is_completed(&self) -> bool {
        self.state == "COMPLETED" && self.exit_code == "0:0"
    }
}

/// The processes whose current folder is below this one, as lines with their commands.
fn processes_in(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("there are processes").flatten();
    let inside = processes.filter(|process| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|current| current.starts_with(folder))
    });
    let args = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default();
    inside.map(|process| args(process.path()).replace('\0', " ")).collect()
}

/// Polls until `met`.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(200));
    }
}
