//! Memory nodes: on a machine with several of them (NUMA), a thread and its tables stay on one.
//!
//! A thread reads its own node's memory faster than that of others. Linux gives a thread memory of the node on which
//! it first touches it, and each thread makes the tables of its kernel itself. So it suffices that a thread stays on
//! the processors of one node.
//!
//! ```text
//!   node 0 cpus: 0 1 2 3      node 1 cpus: 4 5 6 7      5 threads
//!   threads 0, 1              threads 2, 3              thread 4: wherever the system runs it
//! ```
//!
//! Each node gets the threads that its share of the processors stands for, rounded down. The rest is left to the
//! system, so that several processes with a thread each do not crowd one node. Only processors that this process may
//! use count. On a machine with one node, nothing is done.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

/// A memory node with processors that this process may use, and the counting threads that stay there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number, as the system has it.
    pub number: u32,
    /// Its processors that this process may use, in ascending order.
    pub processors: Vec<usize>,
    /// How many threads stay on these.
    pub threads: usize,
}

/// In the words of `numactl --hardware`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} cpus:", self.number)?;
        self.processors.iter().try_for_each(|processor| write!(f, " {processor}"))
    }
}

/// The nodes on which `threads` counting threads are to stay; none if there are fewer than two, or if threads
/// cannot be bound to processors here.
pub(super) fn nodes_for(threads: usize) -> Vec<Node> {
    let allowed = allowed_processors();
    if bind(&allowed).is_err() {
        return Vec::new();
    }
    share(nodes(Path::new("/"), &allowed), threads)
}

/// The node of the thread with this index, if it has one.
pub(super) fn node_of(nodes: &[Node], index: usize) -> Option<&Node> {
    let homes = nodes.iter().flat_map(|node| std::iter::repeat_n(node, node.threads));
    homes.into_iter().nth(index)
}

/// The nodes of the machine, without threads; only those with processors in `allowed`. Files are looked up below
/// `root`, which is `/` except in tests.
fn nodes(root: &Path, allowed: &BTreeSet<usize>) -> Vec<Node> {
    let folder = root.join("sys/devices/system/node");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut nodes: Vec<Node> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let listed = fs::read_to_string(entry.path().join("cpulist")).ok()?;
            let processors: Vec<usize> =
                processor_list(&listed)?.intersection(allowed).copied().collect();
            (!processors.is_empty()).then_some(Node { number, processors, threads: 0 })
        })
        .collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// Reads a list such as `0-3,8`, whose format is in cpuset(7). `None` if it is no such list.
fn processor_list(text: &str) -> Option<BTreeSet<usize>> {
    let parts = text.trim().split(',').filter(|part| !part.is_empty());
    let ranges = parts.map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.collect::<Option<Vec<_>>>().map(|ranges| ranges.into_iter().flatten().collect())
}

/// Divides `threads` threads among the nodes, if there are several.
fn share(mut nodes: Vec<Node>, threads: usize) -> Vec<Node> {
    let all: usize = nodes.iter().map(|node| node.processors.len()).sum();
    for node in &mut nodes {
        node.threads = threads * node.processors.len() / all;
    }
    if nodes.len() < 2 { Vec::new() } else { nodes }
}

/// The processors that this thread may run on: those of its affinity, which a batch system or a control group may
/// have narrowed.
#[cfg(target_os = "linux")]
fn allowed_processors() -> BTreeSet<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return BTreeSet::new() };
    (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect()
}

/// Has this thread run on these processors only.
#[cfg(target_os = "linux")]
pub(super) fn bind<'a>(processors: impl IntoIterator<Item = &'a usize>) -> std::io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut wanted = CpuSet::new();
    processors.into_iter().for_each(|&processor| wanted.set(processor));
    Ok(sched_setaffinity(None, &wanted)?)
}

#[cfg(not(target_os = "linux"))]
fn allowed_processors() -> BTreeSet<usize> {
    BTreeSet::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn bind<'a>(_: impl IntoIterator<Item = &'a usize>) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The processors of each node of a machine with these lists, of which the process may use `allowed`.
    fn of_machine(lists: &[(&str, &str)], allowed: &str) -> Vec<(u32, Vec<usize>)> {
        let root = tempfile::tempdir().expect("a temporary directory");
        let folder = root.path().join("sys/devices/system/node");
        for (node, list) in lists {
            fs::create_dir_all(folder.join(node)).expect("it can be made");
            fs::write(folder.join(node).join("cpulist"), format!("{list}\n")).expect("it can");
        }
        fs::create_dir_all(folder.join("power")).expect("it can be made");
        let allowed = processor_list(allowed).expect("it is a list");
        let nodes = nodes(root.path(), &allowed);
        nodes.into_iter().map(|node| (node.number, node.processors)).collect()
    }

    fn threads(processors: &[usize], threads: usize) -> Vec<usize> {
        let node = |(number, &of): (u32, &usize)| Node {
            number,
            processors: (0..of).collect(),
            threads: 0,
        };
        let nodes: Vec<Node> = (0..).zip(processors).map(node).collect();
        share(nodes, threads).iter().map(|node| node.threads).collect()
    }

    #[test]
    fn lists_of_processors_are_read() {
        let read = |text| processor_list(text).map(|list| list.into_iter().collect::<Vec<_>>());
        assert_eq!(read("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(read("5"), Some(vec![5]));
        assert_eq!(read("\n"), Some(vec![]), "a node that is memory alone");
        assert_eq!([read("0-"), read("a"), read("1 2")], [None, None, None]);
    }

    #[test]
    fn nodes_have_the_processors_that_this_process_may_use() {
        let machine = [("node10", "8-11"), ("node0", "0-3,12-15"), ("node1", "4-7"), ("node2", "")];
        let all = of_machine(&machine, "0-15");
        assert_eq!(
            all.iter().map(|(node, of)| (*node, of.len())).collect::<Vec<_>>(),
            [(0, 8), (1, 4), (10, 4)],
            "memory alone is no home"
        );
        assert_eq!(of_machine(&machine, "2-5"), [(0, vec![2, 3]), (1, vec![4, 5])]);
        assert_eq!(of_machine(&machine, "13"), [(0, vec![13])]);
        assert_eq!(of_machine(&[], "0-3"), [], "a system without such files");
    }

    #[test]
    fn threads_are_shared_by_processors_and_the_rest_is_left_to_the_system() {
        assert_eq!(threads(&[4, 4], 8), [4, 4]);
        assert_eq!(threads(&[4, 4], 5), [2, 2]);
        assert_eq!(threads(&[8, 4], 6), [4, 2]);
        assert_eq!(threads(&[4, 4], 16), [8, 8], "more threads than processors");
        assert_eq!(
            threads(&[4, 4], 1),
            [0, 0],
            "processes with one thread must not crowd one node"
        );
        assert!(threads(&[8], 8).is_empty(), "one node");
        assert!(threads(&[], 8).is_empty(), "none is known");
    }

    #[test]
    fn each_thread_has_the_node_of_its_index() {
        let node = |number, threads| Node { number, processors: vec![0], threads };
        let nodes = [node(0, 2), node(1, 1)];
        let of = |index| node_of(&nodes, index).map(|node| node.number);
        assert_eq!([of(0), of(1), of(2), of(3)], [Some(0), Some(0), Some(1), None]);
        let node = Node { number: 1, processors: vec![4, 5, 12], threads: 2 };
        assert_eq!(node.to_string(), "node 1 cpus: 4 5 12");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_bound_thread_may_run_nowhere_else() {
        let all = allowed_processors();
        let last = *all.last().expect("a thread runs somewhere");
        let bound = std::thread::spawn(move || {
            bind(&[last]).expect("it may run there");
            allowed_processors()
        });
        assert_eq!(bound.join().expect("it does not panic"), BTreeSet::from([last]));
        assert_eq!(allowed_processors(), all, "other threads are left alone");
    }
}
