//! Tests that a process never takes more of the machine than it may use by default.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::process::{behind, queens, run};

const MIB: u64 = 1 << 20;
/// A plan whose memory is not estimated from a sample.
const PLAN: [&str; 7] = ["plan", "20", "--method", "halves", "--seconds", "0", "--json"];

fn planned(command: &mut Command) -> Value {
    crate::object(&run(command).success())
}

#[test]
fn a_slurm_job_takes_its_processors_and_half_of_its_memory() {
    let mut command = queens(&PLAN);
    command.env("SLURM_MEM_PER_NODE", "400").env("SLURM_CPUS_ON_NODE", "1");
    let plan = planned(&mut command);
    assert_eq!([&plan["memory_bytes"], &plan["threads"]], [200 * MIB, 1]);
    assert_eq!(planned(command.env("QUEENS_MEMORY", "25%"))["memory_bytes"], 100 * MIB);
}

#[test]
fn a_process_with_one_processor_has_one_thread() {
    let allowed = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.and_then(|list| list.trim().split(['-', ',']).next());
    let bound = ["taskset", "--cpu-list", first.expect("it is there")];
    assert_eq!(planned(&mut behind(&bound, &queens(&PLAN)))["threads"], 1);
}

/// A control group of this machine that contains another one. Both are removed with this value.
struct Group(PathBuf);

impl Group {
    fn with_limit(bytes: u64) -> Group {
        let (top, file) = match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            true => ("/sys/fs/cgroup", "memory.max"),
            false => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        let group = Group(Path::new(top).join(format!("queens-test-{}", std::process::id())));
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
    run(&mut group.command(&["count", "18", "--method", "halves"])).total(18);
}
