//! Properties that hold for all random inputs, compared with naive models.

mod agents;
mod rows;
mod sets;
mod total;

use std::collections::BTreeSet;

use farm::{CheckedCount, Fingerprint, Method, Plan, Problem, Range};

fn ordinals(range: Range) -> std::ops::Range<u64> {
    range.start()..range.end()
}

/// The range `[0, tasks)`, divided at `cuts`.
fn split(tasks: u64, cuts: &[u64]) -> Vec<Range> {
    let mut ends: BTreeSet<u64> = cuts.iter().map(|cut| cut % tasks).collect();
    ends.extend([0, tasks]);
    let ends: Vec<u64> = ends.into_iter().collect();
    ends.windows(2).filter_map(|pair| Range::new(pair[0], pair[1])).collect()
}

/// The range in pieces of at most `most` tasks.
fn pieces(range: Range, most: u64) -> Vec<Range> {
    let starts = ordinals(range).step_by(most as usize);
    starts.filter_map(|start| Range::new(start, (start + most).min(range.end()))).collect()
}

/// Permutes the items. The permutation depends only on `order`.
fn shuffle<T>(items: &mut [T], mut order: u64) {
    for index in (1..items.len()).rev() {
        order =
            order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(index, (order >> 33) as usize % (index + 1));
    }
}

fn plan(tasks: u64) -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks }
}
/// The checked count of a range whose first task has the whole count.
fn checked_count(range: Range, count: u64) -> CheckedCount {
    let plan = Fingerprint([1; 32]);
    CheckedCount::EMPTY.with(plan, range.start(), count).expect("it is one task")
}
