//! Files with secrets, as engines mount them into containers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::support::process::{Outcome, queens, run};
use crate::support::{Farm, Scratch};

#[test]
fn a_secret_of_the_group_is_read_through_the_links_of_kubernetes() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let volume = Scratch::new();
    fs::create_dir(volume.path("..2026_11_22")).expect("it is ours");
    symlink("..2026_11_22", volume.path("..data")).expect("it is ours");
    symlink("..data/join", volume.path("join")).expect("it is ours");
    let file = volume.path("..2026_11_22/join");
    fs::copy(farm.key("join"), &file).expect("it can be read");
    let with_mode = |mode| {
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("it is ours");
        run(queens(&["jobs", "--join-file"]).arg(volume.path("join")))
    };

    with_mode(0o440).success();
    with_mode(0o644).refusal(6, &["other users may read it", "0440"]);
}

#[test]
#[ignore = "mounts file systems, which needs root: CI runs it"]
fn what_everybody_may_read_is_a_secret_only_where_a_container_has_it_in_memory_and_read_only() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let container = ["--mount", "--pid", "--fork", "--mount-proc"];
    let (ramdisk, read_only) = ("mount -t tmpfs tmpfs $D", "mount -o remount,bind,ro $D");

    for mode in ["444", "644"] {
        jobs_in(&farm, &container, ramdisk, mode, read_only).success();
        // One thing is missing each time: the container, read-only, memory.
        for (namespaces, mount, freeze) in [
            (&container[..1], ramdisk, read_only),
            (&container, ramdisk, ":"),
            (&container, "mount --bind $D $D", read_only),
        ] {
            let refused = jobs_in(&farm, namespaces, mount, mode, freeze);
            assert_eq!(
                refused.code,
                Some(6),
                "{namespaces:?} {mount} {freeze}: {}",
                refused.stderr
            );
            assert!(refused.stderr.contains("other users may read it"), "{}", refused.stderr);
        }
    }
}

/// Lists jobs in namespaces of their own, with a copy of the join string in a folder that is mounted so.
fn jobs_in(farm: &Farm, namespaces: &[&str], mount: &str, mode: &str, freeze: &str) -> Outcome {
    let scratch = Scratch::new();
    let script = format!(
        "set -e; {mount}; cp \"$JOIN\" $D/join; chmod {mode} $D/join; {freeze}; \
         exec \"$QUEENS\" jobs --join-file $D/join"
    );
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", &script]);
    command.env("D", scratch.path("")).env("JOIN", farm.key("join"));
    run(command.env("QUEENS", env!("CARGO_BIN_EXE_queens")))
}
