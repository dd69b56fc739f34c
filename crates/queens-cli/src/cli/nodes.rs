//! `queens plan --on`: an estimate for given nodes, from rates that `queens bench` measured there.
//!
//! A plan of size N is sampled on this machine. The ratio of the two machines is that of their times
//! for a whole board by the same method. Its size n is the one of the file that is nearest to N.
//!
//! ```text
//!   seconds there(N) = seconds here(N) * board_seconds there(n) / board_seconds here(n)
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use executor::Estimated;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, usage};
use crate::progress::clock;
use crate::table::dash;

/// The nodes of one type on the command line: the file that `queens bench --json` wrote on one of
/// them, and their number.
#[derive(Clone, Debug)]
pub(super) struct Named {
    file: PathBuf,
    nodes: u64,
}

/// Reads FILE=NODES.
pub(super) fn named(text: &str) -> anyhow::Result<Named> {
    let (file, nodes) = text.rsplit_once('=').unwrap_or((text, ""));
    match nodes.parse() {
        Ok(nodes) if nodes > 0 && !file.is_empty() => Ok(Named { file: file.into(), nodes }),
        _ => anyhow::bail!("give a file and how many such nodes there are, 1 or more: FILE=NODES"),
    }
}

/// A line of `queens bench --json`.
#[derive(Clone, Debug, Deserialize)]
struct Rate {
    n: u32,
    backend: String,
    method: String,
    threads: u64,
    board_seconds: Option<f64>,
    device: Option<IgnoredAny>,
}

/// Nodes of one type. All of their devices count a plan, or all of their threads if they have no
/// device that can.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeType {
    name: String,
    nodes: u64,
    /// Number of threads or devices of a node.
    units: u64,
    are_devices: bool,
    /// The size of a board, and the seconds that a unit takes for all of it. `None`: a unit is a
    /// thread of this machine.
    pub(super) measured: Option<(u32, f64)>,
    /// The power of a node.
    watts: Option<f64>,
}

impl NodeType {
    /// So many threads like those of this machine.
    pub(super) fn here(name: String, threads: u64) -> NodeType {
        NodeType { name, nodes: threads, units: 1, are_devices: false, measured: None, watts: None }
    }

    /// The nodes that are named, for a plan of size `n` by `method`.
    pub(super) fn read(named: &Named, n: u32, method: &str) -> Result<NodeType, Failure> {
        let Named { file, nodes } = named;
        let shown = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::Usage(format!(
                "cannot read the rates in {shown} ({error}); write them on such a node: queens bench \
                 --json >FILE"
            ))
        })?;
        let lines = serde_json::Deserializer::from_str(&text).into_iter();
        let rates: Vec<Rate> = lines.collect::<Result<_, _>>().map_err(|error| {
            Failure::Usage(format!(
                "{shown} is not what `queens bench --json` writes ({error}); write it anew on such a \
                 node"
            ))
        })?;
        NodeType::of(file, *nodes, &rates, n, method).ok_or_else(|| {
            Failure::Usage(format!(
                "{shown} has no rate of {method}; write it anew with a larger --sample-ms or another --n, or plan by \
                 another --method"
            ))
        })
    }

    fn of(file: &Path, nodes: u64, rates: &[Rate], n: u32, method: &str) -> Option<NodeType> {
        let of_method = rates.iter().filter(|rate| rate.method == method);
        let timed =
            of_method.filter_map(|rate| Some((rate, rate.board_seconds.filter(|it| *it > 0.0)?)));
        let mut rates: Vec<(&Rate, f64)> = timed.collect();
        let sizes = rates.iter().map(|(rate, _)| rate.n);
        let nearest = sizes.min_by_key(|size| (size.abs_diff(n), u32::MAX - size))?;
        rates.retain(|(rate, _)| rate.n == nearest);
        // A later line of a device stands for earlier ones.
        let of_devices = rates.iter().filter(|(rate, _)| rate.device.is_some());
        let devices: BTreeMap<&str, f64> =
            of_devices.map(|(rate, seconds)| (&*rate.backend, *seconds)).collect();
        let (units, seconds) = if devices.is_empty() {
            // A node counts by its fastest loop.
            let (rate, seconds) = rates.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
            (rate.threads, *seconds)
        } else {
            let boards_per_second: f64 = devices.values().map(|seconds| 1.0 / seconds).sum();
            (devices.len() as u64, devices.len() as f64 / boards_per_second)
        };
        let (are_devices, measured) = (!devices.is_empty(), Some((nearest, seconds)));
        let name = file.file_name()?.to_string_lossy().into_owned();
        (units > 0).then_some(NodeType { name, nodes, units, are_devices, measured, watts: None })
    }
}

/// Gives each type the watts of a node, if there are as many.
pub(super) fn with_watts(types: &mut [NodeType], watts: &[f64]) -> Result<(), Failure> {
    if !watts.is_empty() && watts.len() != types.len() {
        return usage(format!(
            "--watts has {} numbers for {} types of nodes; give one for each --on, in their order, and one for --cores",
            watts.len(),
            types.len()
        ));
    }
    types.iter_mut().zip(watts).for_each(|(of, watts)| of.watts = Some(*watts));
    Ok(())
}

/// An estimate for a plan on nodes, all of which count until it is done.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct OnNodes {
    nodes: Vec<OfType>,
    wall_seconds: f64,
}

/// The share of the nodes of one type. Devices have no longest task, because they count batches.
#[derive(Debug, PartialEq, Serialize)]
struct OfType {
    name: String,
    nodes: u64,
    threads: u64,
    devices: u64,
    core_hours: f64,
    gpu_hours: f64,
    longest_task_seconds: Option<f64>,
    kwh: Option<f64>,
}

impl OnNodes {
    /// Divides a plan between the nodes, so that all are done at the same time. A thread of this machine takes
    /// what `here` says for the plan, and `board_seconds` for the boards that were measured elsewhere, by their size.
    /// There are nodes.
    pub(super) fn new(
        types: &[NodeType],
        here: &Estimated,
        board_seconds: &BTreeMap<u32, f64>,
    ) -> OnNodes {
        let times_as_long =
            |of: &NodeType| of.measured.map_or(1.0, |(n, seconds)| seconds / board_seconds[&n]);
        let plans_per_second: f64 = types
            .iter()
            .map(|of| (of.nodes * of.units) as f64 / (times_as_long(of) * here.core_seconds.value))
            .sum();
        let slowest =
            types.iter().filter(|of| !of.are_devices).map(times_as_long).fold(0.0, f64::max);
        let wall_seconds = (1.0 / plans_per_second).max(slowest * here.longest_task_seconds);
        let of_type = |of: &NodeType| {
            let units = of.nodes * of.units;
            let (threads, devices) = if of.are_devices { (0, units) } else { (units, 0) };
            let hours = 1.0 / plans_per_second / 3600.0;
            OfType {
                name: of.name.clone(),
                nodes: of.nodes,
                threads,
                devices,
                core_hours: hours * threads as f64,
                gpu_hours: hours * devices as f64,
                longest_task_seconds: (!of.are_devices)
                    .then(|| times_as_long(of) * here.longest_task_seconds),
                kwh: of.watts.map(|watts| watts * of.nodes as f64 * wall_seconds / 3.6e6),
            }
        };
        OnNodes { nodes: types.iter().map(of_type).collect(), wall_seconds }
    }

    /// The table, and below it the wall time.
    pub(super) fn text(&self) -> String {
        let head =
            "nodes  of type              threads or GPUs           hours  longest task     energy";
        let rows = self.nodes.iter().map(|of| {
            let (units, hours) = match of.devices {
                0 => (format!("{} threads", of.threads), format!("{:.1} core-h", of.core_hours)),
                devices => (format!("{devices} GPUs"), format!("{:.1} GPU-h", of.gpu_hours)),
            };
            let longest = of.longest_task_seconds.map_or_else(dash, |it| format!("{it:.1} s"));
            let energy = of.kwh.map_or_else(dash, |kwh| format!("{kwh:.1} kWh"));
            let OfType { name, nodes, .. } = of;
            format!("{nodes:>5}  {name:<18} {units:>16} {hours:>15} {longest:>13} {energy:>10}")
        });
        let wall = format!("wall      {} on all of them together", clock(self.wall_seconds));
        std::iter::once(head.to_string()).chain(rows).chain([wall]).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use executor::Estimate;

    use super::*;

    fn node(lines: &str, nodes: u64, n: u32) -> Option<NodeType> {
        let rates = serde_json::Deserializer::from_str(lines).into_iter();
        let rates: Vec<Rate> = rates.collect::<Result<_, _>>().expect("lines of a bench");
        NodeType::of(Path::new("a/node.json"), nodes, &rates, n, "colours")
    }

    const NODE: &str = r#"
        {"n": 24, "backend": "avx2", "method": "colours", "threads": 8, "board_seconds": 400.0, "device": null}
        {"n": 24, "backend": "avx512", "method": "colours", "threads": 8, "board_seconds": 200.0, "device": null}
        {"n": 24, "backend": "avx512", "method": "rows", "threads": 8, "board_seconds": 50.0, "device": null}
        {"n": 16, "backend": "avx512", "method": "colours", "threads": 8, "board_seconds": 1.0, "device": null}
        {"n": 27, "backend": "avx512", "method": "colours", "threads": 8, "board_seconds": null, "device": null}"#;
    const DEVICES: &str = r#"
        {"n": 24, "backend": "avx2", "method": "colours", "threads": 1, "board_seconds": 400.0, "device": null}
        {"n": 24, "backend": "cuda:0", "method": "colours", "threads": 1, "board_seconds": 2.0, "device": {}}
        {"n": 24, "backend": "cuda:1", "method": "colours", "threads": 1, "board_seconds": 6.0, "device": {}}"#;

    /// A thread of this machine takes 100 s for the board that the nodes measured, and 3,600 s for the plan.
    fn on(types: &[NodeType]) -> OnNodes {
        let here = Estimated {
            total: None,
            is_exact: false,
            core_seconds: Estimate { value: 3_600.0, error: 0.0 },
            longest_task_seconds: 30.0,
            tasks_counted: 1,
            parts_per_draw: NonZeroU32::MIN,
        };
        OnNodes::new(types, &here, &BTreeMap::from([(24, 100.0)]))
    }

    #[test]
    fn a_node_counts_by_its_fastest_loop_of_the_method_at_the_nearest_n() {
        let node = node(NODE, 3, 26).expect("it has rates");
        assert_eq!((node.units, node.measured, node.are_devices), (8, Some((24, 200.0)), false));
        // It is half as fast as this machine: 7,200 core-seconds in 24 threads.
        let on = on(&[node]);
        assert_eq!((on.nodes[0].core_hours, on.wall_seconds), (2.0, 300.0));
        assert_eq!(on.nodes[0].longest_task_seconds, Some(60.0));
    }

    #[test]
    fn a_node_with_devices_counts_by_all_of_them() {
        let node = node(DEVICES, 1, 24).expect("it has rates");
        // 1/2 + 1/6 boards a second by two devices.
        assert_eq!((node.units, node.measured, node.are_devices), (2, Some((24, 3.0)), true));
        let on = on(&[node]);
        assert!((on.wall_seconds - 54.0).abs() < 1e-9 && on.nodes[0].core_hours == 0.0, "{on:?}");
        assert!((on.nodes[0].gpu_hours - 0.03).abs() < 1e-9, "{on:?}");
    }

    #[test]
    fn types_of_nodes_share_a_plan_by_their_speed() {
        let mut types = [node(NODE, 1, 24).expect("rates"), NodeType::here("here".into(), 4)];
        with_watts(&mut types, &[500.0, 10.0]).expect("one for each");
        // 8 threads at half the speed of a thread here, and 4 of this machine.
        let on = on(&types);
        assert_eq!(on.wall_seconds, 450.0);
        let hours: Vec<f64> = on.nodes.iter().map(|of| of.core_hours).collect();
        assert_eq!(hours, [1.0, 0.5]);
        let kwh: Vec<_> = on.nodes.iter().map(|of| of.kwh).collect();
        assert_eq!(kwh, [Some(0.0625), Some(0.005)]);
    }

    #[test]
    fn no_plan_is_done_before_its_longest_task() {
        let on = on(&[NodeType::here("here".into(), 1_000_000)]);
        assert_eq!(on.wall_seconds, 30.0);
        assert!((on.nodes[0].core_hours - 1.0).abs() < 1e-9, "{on:?}");
    }
}
