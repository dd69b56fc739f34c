//! Tests that a process takes no more processors than it may use, and hardly any memory.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use count::Backend;
use serde_json::Value;

use crate::support::process::{Process, behind, queens, run, wait_until};
use crate::support::{Farm, Scratch};

const MIB: u64 = 1 << 20;
const PLAN: [&str; 4] = ["plan", "20", "--seconds=0", "--json"];

fn planned(command: &mut Command) -> Value {
    crate::object(&run(command).success())
}

#[test]
fn a_slurm_job_takes_its_processors() {
    let mut command = queens(&PLAN);
    assert_eq!(planned(command.env("SLURM_CPUS_ON_NODE", "1"))["threads"], 1);
}

#[test]
fn a_process_with_one_processor_has_one_thread() {
    let allowed = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.and_then(|list| list.trim().split(['-', ',']).next());
    let bound = ["taskset", "--cpu-list", first.expect("it is there")];
    assert_eq!(planned(&mut behind(&bound, &queens(&PLAN)))["threads"], 1);
}

/// Counts a large board on many threads of the processor for a minute.
fn large() -> [&'static str; 6] {
    ["count", "30", "--threads=64", "--time-limit=60s", "--backend", Backend::detect().name()]
}

/// The most memory that a count of a large board has had, in bytes. It must have counted until its
/// time was over.
fn peak_of(count: &mut Command) -> u64 {
    let mut child = count.stderr(Stdio::piped()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it is a child").is_none() {
        // The file has no such line when the process is about to end.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = kib.map_or(peak, |kib| 1024 * kib);
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = child.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the time limit is over"), "{}: {said}", output.status);
    peak
}

#[test]
#[ignore = "takes a minute of all processors"]
fn many_threads_count_a_large_board_in_little_memory() {
    let peak = peak_of(&mut queens(&large()));
    println!("{} MiB", peak / MIB);
    assert!((1..300_000_000).contains(&peak), "{peak} bytes");
}

/// A control group of this machine. It is removed with this value.
struct Group(PathBuf);

impl Group {
    fn with_limit(bytes: u64) -> Group {
        let (top, file) = match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            true => ("/sys/fs/cgroup", "memory.max"),
            false => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        let group = Group(Path::new(top).join(format!("queens-test-{}", std::process::id())));
        fs::create_dir_all(&group.0).expect("root can make control groups");
        fs::write(group.0.join(file), bytes.to_string()).expect("memory can be limited");
        group
    }

    /// The command, run within the group.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ >"$0"/cgroup.procs && exec "$@""#]);
        command.arg(&self.0).arg(env!("CARGO_BIN_EXE_queens")).args(args);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "takes a minute, and needs root and a machine whose control groups can limit memory"]
fn a_large_board_is_counted_in_a_control_group_with_half_a_gibibyte() {
    let group = Group::with_limit(512 * MIB);
    peak_of(&mut group.command(&large()));
}

/// The nice values of the threads of a process.
fn nice_values(process: u32) -> BTreeSet<i64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    // The fields after the name, which is in parentheses, begin with the third one.
    let nice = |stat: String| stat.rsplit(')').next()?.split_whitespace().nth(16)?.parse().ok();
    stats.filter_map(nice).collect()
}

#[test]
fn a_worker_gives_way_to_other_programs_unless_it_has_the_processors() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let usual = nice_values(std::process::id()).into_iter().next().expect("it has a thread");
    for (options, variable, added) in [
        (&[][..], None, 19),
        (&["--nice", "5"], None, 5),
        (&["--nice", "0"], None, 0),
        (&[], Some(("QUEENS_NICE", "7")), 7),
        (&[], Some(("SLURM_JOB_ID", "12")), 0),
        (&[], Some(("PBS_JOBID", "12")), 0),
        (&["--nice", "3"], Some(("LSB_JOBID", "12")), 3),
    ] {
        let url = farm.url();
        let (mut command, log) = farm.worker(&[&["--coordinator", &url], options].concat());
        command.envs(variable);
        let mut worker = Process::start(&mut command, log);
        worker.wait_for_line("welcomes this worker");
        // The thread that talks to the coordinator keeps the usual value.
        let expected = [usual, (usual + added).min(19)].into();
        assert_eq!(nice_values(worker.id()), expected, "{options:?} {variable:?}");
        worker.stop();
    }
}

/// `command` with this limit of a resource, such as `-n 64` for the open files.
fn limited(limit: &str, command: &Command) -> Command {
    behind(&["bash", "-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")], command)
}

/// An exit code, and a part of what is said.
type Ending = (i32, &'static str);

/// How a command ends. One that serves, as it says, is asked to stop then.
fn ending(command: &mut Command, log: PathBuf) -> (Option<i32>, String) {
    let mut process = Process::start(command, log);
    let mut is_asked = false;
    wait_until("the command to end or to serve", || {
        let serves = !is_asked && process.said().contains("coordinator serves");
        if serves {
            process.signal("TERM");
            is_asked = true;
        }
        !process.is_running()
    });
    (process.wait().code(), process.said())
}

#[test]
fn a_resource_that_runs_out_has_one_exit_code_and_one_sentence_in_every_command() {
    const OTHER: &str = "4713";
    const FEW: Ending = (75, "this process may open no further file");
    const THREAD: Ending = (75, "the system refuses a thread");
    const MEMORY: Ending = (75, "the system refuses memory");
    // The standard library says this before a command ends.
    const ALLOCATION: Ending = (75, "memory allocation of");
    // So does the C library, if it is what gets no memory.
    const LIBRARY: Ending =
        (75, "Fatal glibc error: failed to register TLS destructor: out of memory");
    const SIZE: Ending = (10, "a limit keeps files from growing (`ulimit -f`)");
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    // Everybody may use the folder: a limit of processes does not hold for root.
    let scratch = Scratch::new();
    fs::set_permissions(scratch.path(""), PermissionsExt::from_mode(0o1777)).expect("it is ours");
    let file = |name: &str| scratch.path(name).display().to_string();
    let [counted, bundle] = ["counted.db", "bundle"].map(file);
    run(&mut queens(&["count", "8", "--ledger", &counted])).success();
    run(&mut queens(&["export", "1", &bundle, "--ledger", &counted])).success();
    for path in [&counted, &bundle] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o666)).expect("it is ours");
    }
    let url = farm.url();
    let commands = |id: usize| {
        let [new, served, out] = ["new", "served", "out"].map(|name| file(&format!("{name}-{id}")));
        let worker = ["worker", "--threads=2", "--exit-when-idle=100ms", "--give-up-after=1s"];
        [
            queens(&["count", "10", "--threads=2"]),
            queens(&["count", "10", "--threads=2", "--ledger", &new]),
            queens(&["verify", &bundle, "--threads=2"]),
            queens(&["export", "1", &out, "--ledger", &counted]),
            queens(&["coordinator", "--listen=0", "--tls", "--ledger", &served]),
            queens(&[&worker[..], &["--coordinator", &url]].concat()),
        ]
    };
    let is_root = fs::metadata("/proc/self").expect("it is Linux").uid() == 0;
    let (user, group) = (format!("--reuid={OTHER}"), format!("--regid={OTHER}"));
    let mut seen = BTreeSet::new();
    let limits: [(&str, &[u32], &[Ending]); 5] = [
        ("-n", &[4, 6, 8, 9, 10, 12, 14, 16], &[FEW]),
        ("-f", &[8], &[SIZE]),
        ("-u", &[1, 2, 4], &[THREAD]),
        ("-v", &[50_000, 70_000, 90_000, 120_000], &[MEMORY, ALLOCATION, LIBRARY, THREAD]),
        ("-s", &[64, 96], &[]),
    ];
    let mut id = 0;
    for (limit, values, expected) in limits {
        for value in values {
            id += 1;
            for command in commands(id) {
                let mut command = limited(&format!("{limit} {value}"), &command);
                if limit == "-u" && is_root {
                    let front = ["setpriv", &user, &group, "--clear-groups"];
                    command = behind(&front, &command);
                }
                let (code, said) = ending(command.current_dir("/"), farm.new_log());
                let is_expected =
                    |(wanted, sentence): &&Ending| code == Some(*wanted) && said.contains(sentence);
                // A program that does not fit into the memory is not even loaded.
                let is_loaded = !said.contains("error while loading shared libraries");
                if code != Some(0) && is_loaded {
                    let found = expected.iter().find(is_expected);
                    let (_, sentence) = found.unwrap_or_else(|| {
                        panic!("{command:?} ended with {code:?}: {said}");
                    });
                    seen.insert(*sentence);
                }
            }
        }
    }
    for (_, sentence) in [FEW, THREAD, SIZE] {
        assert!(seen.contains(sentence), "{sentence}: {seen:?}");
    }
}

#[test]
fn servers_raise_the_limit_of_open_files_as_far_as_they_may() {
    let farm = Farm::new("", "");
    let mut coordinator =
        Process::start(&mut limited("-Sn 64", &farm.coordinator()), farm.new_log());
    coordinator.wait_for_line("coordinator serves");
    let url = farm.url();
    let (command, log) = farm.worker(&["--coordinator", &url]);
    let mut worker = Process::start(&mut limited("-Sn 64", &command), log);
    worker.wait_for_line("welcomes this worker");
    for process in [&coordinator, &worker] {
        let limits = fs::read_to_string(format!("/proc/{}/limits", process.id()));
        let limits = limits.expect("it runs");
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let [soft, hard] = line.expect("Linux has it").split_whitespace().collect::<Vec<_>>()[..2]
        else {
            panic!("{limits}");
        };
        assert_eq!(soft, hard);
    }
}

/// Connections that show no credential and come again when they are closed, about 200 a second. It
/// ends with this value.
struct Strangers {
    are_over: Arc<AtomicBool>,
    came: Arc<AtomicUsize>,
}

impl Strangers {
    fn at(address: String) -> Strangers {
        let strangers = Strangers { are_over: Arc::default(), came: Arc::default() };
        let (are_over, came) = (strangers.are_over.clone(), strangers.came.clone());
        std::thread::spawn(move || {
            let mut open = VecDeque::new();
            while !are_over.load(Ordering::Relaxed) {
                open.extend(TcpStream::connect(&address));
                if open.len() > 400 {
                    open.pop_front();
                }
                came.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        strangers
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.are_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn strangers_do_not_shut_out_who_has_a_credential_where_files_are_few() {
    const WARNING: &str = "connections without a credential are closed first";
    // Its places follow the limit that it has at the start. Later, files run out before places.
    for later in [None, Some("100")] {
        // Given a coordinator with few files, and some hundred strangers
        let scratch = Scratch::new();
        let token = scratch.path("token");
        let farm = Farm::new("", "");
        let mut command = farm.coordinator();
        command.arg("--token-file").arg(&token);
        let mut coordinator = Process::start(&mut limited("-n 256", &command), farm.new_log());
        coordinator.wait_for_line("coordinator serves");
        if let Some(files) = later {
            let process = coordinator.id().to_string();
            let limit = format!("--nofile={files}");
            let lowered = Command::new("prlimit").args(["--pid", &process, &limit]).status();
            assert!(lowered.expect("prlimit(1) runs").success());
        }
        let strangers = Strangers::at(farm.url().trim_start_matches("http://").into());
        wait_until("strangers", || strangers.came.load(Ordering::Relaxed) > 300);

        // When a client with a credential comes
        let answers = [(); 6].map(|()| {
            let begun = Instant::now();
            let args = ["jobs", "--coordinator", &farm.url(), "--token-file"];
            (run(queens(&args).arg(&token)).code, begun.elapsed())
        });

        // Then it is served at once, as a rule: on a busy machine one may come too late
        let is_quick = |(code, time): &&(Option<i32>, Duration)| {
            *code == Some(0) && *time < Duration::from_secs(2)
        };
        assert!(answers.iter().filter(is_quick).count() >= 4, "{later:?}: {answers:?}");
        let said = coordinator.said();
        let warnings = usize::from(later.is_some());
        assert_eq!(said.matches(WARNING).count(), warnings, "once a minute: {said}");
    }
}
