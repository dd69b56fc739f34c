//! Compares the counts of the first OpenCL device with the processor's kernels, task by task. With
//! PoCL, the device is the processor itself. Without a device, the tests print that they were left
//! out.

use std::ops::{Range, RangeInclusive};

use board::{Method, PlanIndex, Problem, Task};
use count::{Backend, Kernel};
use gpu::{Counter, Device, Driver};

const MEMORY: u64 = 1 << 30;

/// The first device of OpenCL.
fn device() -> Option<Device> {
    let device = Device::of(Driver::OpenCl).into_iter().next();
    if device.is_none() {
        eprintln!("left out: this machine has no OpenCL device, such as PoCL's");
    }
    device
}

fn tasks(n: u32, range: Range<u64>) -> Vec<Task> {
    let plan = PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
    plan.tasks(range).expect("the plan has the range")
}

fn len(n: u32) -> u64 {
    PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range").len()
}

/// Counts all tasks on the device with `memory` bytes, and compares each with the processor's
/// count.
fn check(device: &Device, n: u32, memory: u64, range: Range<u64>) -> u64 {
    let tasks = tasks(n, range.clone());
    let mut kernel = Kernel::new(Backend::detect(), n, Method::Halves).expect("it is available");
    let mut expected = Vec::new();
    kernel.count_each(&tasks, |count| expected.push(count)).expect("they are tasks");
    let mut counter = Counter::new(device, n, memory).expect("the device opens");
    let mut counts = Vec::new();
    counter.count_each(&tasks, |count| counts.push(count)).expect("the device counts");
    assert_eq!(counts, expected, "N = {n}, tasks {range:?}");
    counts.iter().sum()
}

fn check_boards(sizes: RangeInclusive<u32>) {
    let Some(device) = device() else { return };
    for n in sizes {
        let total = check(&device, n, MEMORY, 0..len(n));
        assert_eq!(u128::from(total), vectors::total(n), "N = {n}");
    }
}

#[test]
fn every_task_of_small_boards() {
    check_boards(4..=9);
}

#[test]
#[ignore = "takes minutes by PoCL: CI runs it"]
fn every_task_of_boards_up_to_16() {
    check_boards(10..=16);
}

#[test]
#[ignore = "takes minutes by PoCL: CI runs it"]
fn tasks_of_larger_boards() {
    let Some(device) = device() else { return };
    for (n, some) in [(16, 60), (17, 60), (18, 30), (19, 40), (20, 12), (21, 20), (22, 3), (23, 4)]
    {
        for start in [1, 2].map(|third| (len(n) - some) / 3 * third) {
            check(&device, n, MEMORY, start..start + some);
        }
    }
    // The first splits of a plan are the most uneven ones, with few half-boards. From N = 28 on,
    // each of them has eight tasks.
    for (n, range) in
        [(24, 40..44), (25, 40..44), (26, 20..23), (27, 20..23), (28, 3..19), (29, 5..18)]
    {
        check(&device, n, MEMORY, range);
    }
    // Jobs without room are counted in parts. The smallest room is a million half-boards of one split.
    for (n, range) in [(18, 9_000..9_040), (21, 100_000..100_040), (24, 300_000..300_001)] {
        check(&device, n, 0, range);
    }
}
