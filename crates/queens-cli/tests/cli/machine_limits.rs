//! Tests that a process never takes more of the machine than it may use by default.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::support::process::{queens, run};

const MIB: u64 = 1 << 20;
/// A plan whose memory is not estimated from a sample.
const PLAN: [&str; 5] = ["plan", "20", "--seconds", "0", "--json"];

fn planned(command: &mut Command) -> Value {
    let planned = run(command).success();
    serde_json::from_str(&planned).unwrap_or_else(|error| panic!("{error}: {planned}"))
}

#[test]
fn a_slurm_job_takes_its_processors_and_half_of_its_memory() {
    let plan = |variables: &[(&str, &str)]| {
        let unset = ["SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_PER_TASK"];
        let mut command = queens(&PLAN);
        unset.into_iter().for_each(|name| {
            command.env_remove(name);
        });
        let json = planned(command.envs(variables.iter().copied()));
        (json["memory_bytes"].as_u64(), json["threads"].as_u64())
    };
    let one_processor = ("SLURM_CPUS_ON_NODE", "1");
    let memory = ("SLURM_MEM_PER_NODE", "400");
    assert_eq!(plan(&[memory, one_processor]), (Some(200 * MIB), Some(1)));
    let memory = ("SLURM_MEM_PER_CPU", "300");
    assert_eq!(plan(&[memory, one_processor]), (Some(150 * MIB), Some(1)));
    let share = [memory, one_processor, ("QUEENS_MEMORY", "25%")];
    assert_eq!(plan(&share), (Some(75 * MIB), Some(1)));
}

#[test]
fn a_process_with_one_processor_has_one_thread() {
    let allowed = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first: String =
        allowed.expect("it is there").trim().chars().take_while(char::is_ascii_digit).collect();
    let mut bound = Command::new("taskset");
    bound.args(["--cpu-list", &first, env!("CARGO_BIN_EXE_queens")]).args(PLAN);
    assert_eq!(planned(&mut bound)["threads"], 1);
}

/// A control group of this machine that contains another one. Both are removed with this value.
struct Group(PathBuf);

impl Group {
    fn with_limit(bytes: u64) -> Group {
        let (top, file) = match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            true => ("/sys/fs/cgroup", "memory.max"),
            false => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), GROUPS.fetch_add(1, Ordering::Relaxed));
        let group = Group(Path::new(top).join(format!("queens-test-{process}-{number}")));
        fs::create_dir_all(group.inner()).expect("root can make control groups");
        fs::write(group.0.join(file), bytes.to_string()).expect("memory can be limited");
        group
    }

    fn inner(&self) -> PathBuf {
        self.0.join("inner")
    }

    /// The command, run within the inner group.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ >"$0"/cgroup.procs && exec "$@""#]);
        command.arg(self.inner()).arg(env!("CARGO_BIN_EXE_queens")).args(args);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.inner());
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "needs root and a machine whose control groups can limit memory"]
fn a_process_stays_within_the_limit_of_its_control_group() {
    let group = Group::with_limit(300 * MIB);

    let planned = planned(&mut group.command(&PLAN));

    assert_eq!(planned["memory_bytes"], 150 * MIB);
    // N = 18 on as many threads as fit, with all of the memory, is not killed.
    let counted = run(&mut group.command(&["count", "18", "--method", "halves"]));
    assert_eq!(counted.success(), format!("{}\n", vectors::total(18)));
}
