//! Compares the counts of the first OpenCL device with the processor's kernels, task by task. With
//! PoCL, the device is the processor itself. Without a device, the tests print that they were left
//! out.

use std::ops::{Range, RangeInclusive};

use board::{Method, PlanIndex, Problem, Task};
use count::{Backend, Kernel};
use gpu::{Counter, Device, Driver};

/// The first device of OpenCL.
fn device() -> Option<Device> {
    let device = Device::of(Driver::OpenCl).into_iter().next();
    if device.is_none() {
        eprintln!("left out: this machine has no OpenCL device, such as PoCL's");
    }
    device
}

fn tasks(n: u32, range: Range<u64>) -> Vec<Task> {
    let plan = PlanIndex::new(Problem::Total { n }, Method::Colours).expect("the size is in range");
    plan.tasks(range).expect("the plan has the range")
}

fn len(n: u32) -> u64 {
    PlanIndex::new(Problem::Total { n }, Method::Colours).expect("the size is in range").len()
}

/// Counts all tasks on the device, and compares each with the processor's count.
fn check(device: &Device, n: u32, range: Range<u64>) -> u64 {
    let tasks = tasks(n, range.clone());
    let mut kernel = Kernel::new(Backend::detect(), n, Method::Colours).expect("it is available");
    let mut expected = Vec::new();
    kernel.count_each(&tasks, |count| expected.push(count)).expect("they are tasks");
    let mut counter = Counter::new(device, n).expect("the device opens");
    let mut counts = Vec::new();
    counter.count_each(&tasks, |count| counts.push(count)).expect("the device counts");
    assert_eq!(counts, expected, "N = {n}, tasks {range:?}");
    counts.iter().sum()
}

fn check_boards(sizes: RangeInclusive<u32>) {
    let Some(device) = device() else { return };
    for n in sizes {
        let total = check(&device, n, 0..len(n));
        assert_eq!(u128::from(total), testkit::vectors::total(n), "N = {n}");
    }
}

#[test]
fn every_task_of_small_boards() {
    check_boards(4..=9);
}

#[test]
#[ignore = "takes a minute by PoCL: .ci/run runs it"]
fn every_task_of_boards_up_to_16() {
    check_boards(10..=16);
}

#[test]
#[ignore = "takes a minute by PoCL: .ci/run runs it"]
fn tasks_of_larger_boards() {
    let Some(device) = device() else { return };
    // From all over the plans: the first tasks have few black queens, so all levels are long.
    for (n, some) in [(17, 12), (18, 12), (19, 8), (20, 6), (21, 4), (22, 3), (23, 3), (24, 2)] {
        for part in 0..some {
            let at = (len(n) - 1) / (some - 1) * part;
            check(&device, n, at..at + 1);
        }
    }
    // One with few black queens, and one from the middle.
    for (n, at) in [(25, 3), (26, 5), (27, 3), (28, 5)] {
        check(&device, n, at..at + 1);
    }
    for (n, at) in [(25, len(25) / 3), (26, len(26) / 2)] {
        check(&device, n, at..at + 1);
    }
}

#[test]
#[ignore = "takes minutes by PoCL: .ci/nightly runs it"]
fn nightly_usual_tasks_of_the_largest_boards() {
    let Some(device) = device() else { return };
    check(&device, 27, len(27) / 2..len(27) / 2 + 1);
    check(&device, 28, len(28) - 1..len(28));
}
