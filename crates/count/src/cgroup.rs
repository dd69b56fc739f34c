//! Reads the memory limits that Linux's control groups set for this process.
//!
//! A process is in one group of each hierarchy. The limits of that group and of all groups above it
//! hold. Both versions of control groups are read, because a machine may have both mounted. A
//! container may see only a part of a hierarchy:
//!
//! ```text
//!   hierarchy                  / ─── docker ─── 4f2e ─── batch      /proc/self/cgroup:    /docker/4f2e/batch
//!   mounted at /sys/fs/cgroup                   4f2e ─── batch      /proc/self/mountinfo: /docker/4f2e
//!   read                       /sys/fs/cgroup/batch/memory.max, /sys/fs/cgroup/memory.max
//! ```

use std::fs;
use std::path::{Component, Path};

/// The lowest memory limit of the groups that this process is in, in bytes. `None` if there is no
/// limit. Files are looked up below `root`, which is `/` except in tests.
pub(super) fn memory_limit(root: &Path) -> Option<u64> {
    let groups = read(&root.join("proc/self/cgroup"));
    let mounts = read(&root.join("proc/self/mountinfo"));
    mounts.lines().filter_map(|mount| limit(root, mount, &groups)).min()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The lowest limit that a hierarchy sets. `mount` is a line of `/proc/self/mountinfo`, whose format
/// is in proc_pid_mountinfo(5). `None` if it is no hierarchy that limits memory.
fn limit(root: &Path, mount: &str, groups: &str) -> Option<u64> {
    let (place, kind) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    // The group that is visible, and where it is mounted.
    let (top, point) = (Path::new(place.next()?), Path::new(place.next()?));
    let point = root.join(point.strip_prefix("/").ok()?);
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    // The controller whose groups it has, and the files that have limits in bytes. Version 2 has one
    // hierarchy for all controllers. Beyond `memory.high` a process is not killed, but slowed down.
    let (controller, files): (_, &[&str]) = match name {
        "cgroup2" => ("", &["memory.max", "memory.high"]),
        "cgroup" if options.split(',').any(|option| option == "memory") => {
            ("memory", &["memory.limit_in_bytes"])
        }
        _ => return None,
    };
    let group = own_group(groups, controller, top).unwrap_or(Path::new(""));
    let folders = group.ancestors().map(|group| point.join(group));
    let files = folders.flat_map(|folder| files.iter().map(move |file| folder.join(file)));
    // A file that does not exist, or that says "max", sets no limit.
    files.filter_map(|file| read(&file).trim().parse().ok()).min()
}

/// The group of this process as a path below the visible group `top`, from the lines of
/// `/proc/self/cgroup`. `None` if the group is not visible here.
fn own_group<'a>(groups: &'a str, controller: &str, top: &Path) -> Option<&'a Path> {
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(group)
    })?;
    let group = Path::new(group).strip_prefix(top).ok()?;
    // "/../x" is a group that this process cannot see.
    group.components().all(|part| part != Component::ParentDir).then_some(group)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    const MIB: u64 = 1 << 20;
    /// The mounts of a machine with one hierarchy.
    const UNIFIED: &str = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
    /// The mounts of a machine that uses version 2 only to track processes.
    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                          32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                          35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    /// The limit of a process on a machine with these files.
    fn limit(mounts: &str, groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        memory_limit(machine(mounts, groups, files).path())
    }

    fn machine(mounts: &str, groups: &str, files: &[(&str, &str)]) -> TempDir {
        let root: TempDir = tempfile::tempdir().expect("a temporary directory");
        let proc = [("proc/self/mountinfo", mounts), ("proc/self/cgroup", groups)];
        for (name, text) in proc.iter().chain(files) {
            let path: PathBuf = root.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, format!("{text}\n")).expect("it can be written");
        }
        root
    }

    #[test]
    fn the_least_limit_of_all_groups_above_holds() {
        let groups = "0::/system.slice/queens.service/worker";
        let slice = "sys/fs/cgroup/system.slice";
        let files = |own: &'static str, service: &'static str, above: &'static str| {
            let folders = ["/queens.service/worker", "/queens.service", ""];
            let names = folders.map(|folder| format!("{slice}{folder}/memory.max"));
            let files: Vec<(String, &str)> = names.into_iter().zip([own, service, above]).collect();
            files
        };
        for (own, service, above, least) in [
            ("max", "314572800", "max", Some(300 * MIB)),
            ("104857600", "314572800", "max", Some(100 * MIB)),
            ("max", "314572800", "209715200", Some(200 * MIB)),
            ("max", "max", "max", None),
        ] {
            let files = files(own, service, above);
            let files: Vec<(&str, &str)> =
                files.iter().map(|(name, limit)| (name.as_str(), *limit)).collect();
            assert_eq!(limit(UNIFIED, groups, &files), least);
        }
        let high = [("sys/fs/cgroup/system.slice/memory.high", "52428800")];
        assert_eq!(limit(UNIFIED, groups, &high), Some(50 * MIB));
    }

    #[test]
    fn of_two_mounted_versions_the_one_that_limits_memory_counts() {
        let groups = "4:memory:/slurm/job_7/step_0\n1:cpu,cpuacct:/elsewhere\n0::/";
        let files = [
            (
                "sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes",
                "9223372036854771712",
            ),
            ("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "524288000"),
            ("sys/fs/cgroup/memory/elsewhere/memory.limit_in_bytes", "1048576"),
        ];
        assert_eq!(limit(HYBRID, groups, &files), Some(500 * MIB));
    }

    #[test]
    fn a_container_reads_what_it_sees_of_its_groups() {
        // Without a namespace, the group has a path that is not below the mount. Docker mounts
        // version 1 like this.
        let inside = "1 1 0:32 /docker/4f2e /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let groups = "4:memory:/docker/4f2e/batch";
        let files = [
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "314572800"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200"),
        ];
        assert_eq!(limit(inside, groups, &files), Some(200 * MIB));
        assert_eq!(limit(inside, groups, &files[..1]), Some(300 * MIB));
        // With a namespace, the process's own group is at the top, and other groups are outside.
        let max = [("sys/fs/cgroup/memory.max", "314572800")];
        for group in ["0::/", "0::/../neighbour"] {
            assert_eq!(limit(UNIFIED, group, &max), Some(300 * MIB), "{group}");
        }
    }

    #[test]
    fn without_control_groups_there_is_no_limit() {
        assert_eq!(limit("", "", &[]), None);
        assert_eq!(limit("not a line of that file", "neither", &[]), None);
    }
}
