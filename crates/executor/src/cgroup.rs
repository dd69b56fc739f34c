//! The memory that Linux's control groups allow this process.
//!
//! A process is in one group of each hierarchy, and the limits of all groups above that one hold as well.
//! Both versions of control groups are read, because a machine may have both mounted. A container may see
//! only a part of a hierarchy:
//!
//! ```text
//!   hierarchy                  / ─── docker ─── 4f2e ─── batch      /proc/self/cgroup:    /docker/4f2e/batch
//!   mounted at /sys/fs/cgroup                   4f2e ─── batch      /proc/self/mountinfo: /docker/4f2e
//!   read                       /sys/fs/cgroup/batch/memory.max, /sys/fs/cgroup/memory.max
//! ```

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The names of a version's files.
struct Files {
    /// Limits in bytes. Beyond `memory.high` a process is not killed, but slowed down.
    limits: &'static [&'static str],
    /// Counters by name, of which `oom_kill` is the number of processes killed for lack of memory. Version 2 counts
    /// those of the groups below, too.
    events: &'static str,
}

const V1: &Files = &Files { limits: &["memory.limit_in_bytes"], events: "memory.oom_control" };
const V2: &Files = &Files { limits: &["memory.max", "memory.high"], events: "memory.events" };

/// Version 1 says "no limit" by the largest multiple of a page.
const NO_LIMIT: u64 = 1 << 62;

/// Processes that the system has killed for lack of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryKills {
    /// How many, since the control group is there; more than 0.
    pub processes: u64,
    /// The memory that the control group may use, in bytes.
    pub limit: u64,
}

/// The least limit of memory, in bytes, of the groups that this process is in; `None` if there is no limit.
/// Files are looked up below `root`, which is `/` except in tests.
pub(super) fn memory_limit(root: &Path) -> Option<u64> {
    let groups = hierarchies(root).into_iter().flatten();
    groups.filter_map(|group| group.limit).min()
}

/// What was killed in the groups of this process, up to the highest that has a limit: the most that one of them
/// tells. `None` if none tells anything. Groups above are left out, because they may be the whole machine.
pub(super) fn memory_kills(root: &Path) -> Option<MemoryKills> {
    let kills = hierarchies(root).into_iter().filter_map(|mut groups| {
        let is_limited = |group: &Group| group.limit.is_some_and(|limit| limit < NO_LIMIT);
        groups.truncate(groups.iter().rposition(is_limited)? + 1);
        let limit = groups.iter().filter_map(|group| group.limit).min()?;
        let kills = |group: &Group| {
            let events = fs::read_to_string(root.join(&group.events)).ok()?;
            events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok())
        };
        let processes = groups.iter().filter_map(kills).max()?;
        (processes > 0).then_some(MemoryKills { processes, limit })
    });
    kills.max_by_key(|kills| kills.processes)
}

/// A group that this process is in.
struct Group {
    /// The most memory that it may use, in bytes, if that is said.
    limit: Option<u64>,
    /// The file with its events.
    events: PathBuf,
}

/// The groups that this process is in, of each hierarchy the innermost first.
fn hierarchies(root: &Path) -> Vec<Vec<Group>> {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let groups = read(&root.join("proc/self/cgroup"));
    let mounts = read(&root.join("proc/self/mountinfo"));
    let hierarchies = mounts.lines().filter_map(Mount::read).map(|mount| {
        let group = mount.group(&groups).unwrap_or(Path::new(""));
        let folders = group.ancestors().map(|group| mount.point.join(group));
        let groups = folders.map(|folder| {
            // A file that does not exist, or that says "max", sets no limit.
            let limit = |file| read(&root.join(folder.join(file))).trim().parse::<u64>().ok();
            let limit = mount.files.limits.iter().filter_map(limit).min();
            Group { limit, events: folder.join(mount.files.events) }
        });
        groups.collect()
    });
    hierarchies.collect()
}

/// A mounted hierarchy that may limit memory.
struct Mount<'a> {
    /// The group that is visible at `point`.
    top: &'a Path,
    /// Where it is mounted, without the leading slash.
    point: &'a Path,
    /// The controller whose groups it has; empty in version 2, which has one hierarchy for all.
    controller: &'a str,
    files: &'static Files,
}

impl<'a> Mount<'a> {
    /// Reads a line of `/proc/self/mountinfo`, whose format is in proc_pid_mountinfo(5).
    fn read(line: &'a str) -> Option<Mount<'a>> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (top, point) = (Path::new(place.next()?), Path::new(place.next()?));
        let point = point.strip_prefix("/").ok()?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let (controller, files) = match name {
            "cgroup2" => ("", V2),
            "cgroup" if options.split(',').any(|option| option == "memory") => ("memory", V1),
            _ => return None,
        };
        Some(Mount { top, point, controller, files })
    }

    /// The group of this process as a path below the visible one, from the lines of `/proc/self/cgroup`.
    /// `None` if it is not visible here.
    fn group(&self, groups: &'a str) -> Option<&'a Path> {
        let group = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, group) = (fields.next()?, fields.next()?);
            controllers.split(',').any(|name| name == self.controller).then_some(group)
        })?;
        let group = Path::new(group).strip_prefix(self.top).ok()?;
        // "/../x" is a group outside of what this process may see.
        group.components().all(|part| part != Component::ParentDir).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const MIB: u64 = 1 << 20;
    /// As on a machine of one hierarchy.
    const UNIFIED: &str = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
    /// As on a machine where version 2 only knows the processes.
    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                          32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                          35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    /// The limit of a process on a machine with these files.
    fn limit(mounts: &str, groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        memory_limit(machine(mounts, groups, files).path())
    }

    fn kills(mounts: &str, groups: &str, files: &[(&str, &str)]) -> Option<(u64, u64)> {
        let kills = memory_kills(machine(mounts, groups, files).path())?;
        Some((kills.processes, kills.limit))
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
    fn where_both_versions_are_mounted_the_one_that_limits_memory_counts() {
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
        // Without a namespace the group has a path that is not below the mount, as Docker mounts version 1.
        let inside = "1 1 0:32 /docker/4f2e /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let groups = "4:memory:/docker/4f2e/batch";
        let files = [
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "314572800"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200"),
        ];
        assert_eq!(limit(inside, groups, &files), Some(200 * MIB));
        assert_eq!(limit(inside, groups, &files[..1]), Some(300 * MIB));
        // With a namespace its own group is at the top, and others are outside.
        let max = [("sys/fs/cgroup/memory.max", "314572800")];
        for group in ["0::/", "0::/../neighbour"] {
            assert_eq!(limit(UNIFIED, group, &max), Some(300 * MIB), "{group}");
        }
    }

    #[test]
    fn what_was_killed_in_a_group_with_a_limit_is_told() {
        let events = "low 0\nhigh 0\nmax 97\noom 4\noom_kill 3\noom_group_kill 0";
        let own = "sys/fs/cgroup/batch/job";
        let (limit, counters) = (format!("{own}/memory.max"), format!("{own}/memory.events"));
        let group = "0::/batch/job";
        let limited = [(limit.as_str(), "314572800"), (&counters, events)];
        assert_eq!(kills(UNIFIED, group, &limited), Some((3, 300 * MIB)));
        // The group above has the limit, and counts what was killed below it.
        let above = [
            ("sys/fs/cgroup/batch/memory.max", "209715200"),
            ("sys/fs/cgroup/batch/memory.events", "oom 5\noom_kill 5"),
            (&counters, events),
        ];
        assert_eq!(kills(UNIFIED, group, &above), Some((5, 200 * MIB)));
        assert_eq!(kills(UNIFIED, group, &above[1..]), None, "no limit");
        let none = [(limit.as_str(), "314572800"), (&counters, "oom 0\noom_kill 0")];
        assert_eq!(kills(UNIFIED, group, &none), None);
    }

    #[test]
    fn the_first_version_tells_what_was_killed_too() {
        let groups = "4:memory:/docker/4f2e\n0::/";
        let folder = "sys/fs/cgroup/memory/docker/4f2e";
        let (limit, control) =
            (format!("{folder}/memory.limit_in_bytes"), format!("{folder}/memory.oom_control"));
        let events = "oom_kill_disable 0\nunder_oom 0\noom_kill 2";
        let limited = [(limit.as_str(), "104857600"), (&control, events)];
        assert_eq!(kills(HYBRID, groups, &limited), Some((2, 100 * MIB)));
        let unlimited = [(limit.as_str(), "9223372036854771712"), (&control, events)];
        assert_eq!(kills(HYBRID, groups, &unlimited), None);
        // It is told by the group of the process only, although the limit is that of a group above.
        let above = ("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "209715200");
        let nested = [above, unlimited[0], unlimited[1]];
        assert_eq!(kills(HYBRID, groups, &nested), Some((2, 200 * MIB)));
    }

    #[test]
    fn without_control_groups_there_is_no_limit() {
        assert_eq!(limit("", "", &[]), None);
        assert_eq!(limit("not a line of that file", "neither", &[]), None);
    }
}
