//! A kernel keeps to the memory that it is given: every byte that it asks for is counted, touched or
//! not. A test of its own process, because the allocator counts for all threads.

use std::ops::Range;

use board::halves::{Class, HalvesPlan};
use board::{Method, Problem, Tasks};
use peak_alloc::PeakAlloc;
use queens_count::{
    Backend, ClassKernel, Kernel, SubtotalKernel, class_memory_needed, memory_needed,
};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What is counted, and the bytes that it took at most.
fn measured<T>(count: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATOR.current_usage() as u64;
    ALLOCATOR.reset_peak_usage();
    let counted = count();
    (counted, ALLOCATOR.peak_usage() as u64 - before)
}

/// What a kernel counts, and the bytes that it took at most.
fn count(memory: u64, n: u32, tasks: &Tasks) -> (u64, u64) {
    measured(|| {
        let (problem, method) = (Problem::Total { n }, Method::Halves);
        let kernel = Kernel::of(memory, Backend::detect(), problem, method);
        let mut kernel = kernel.expect("there is such a kernel");
        kernel.count(tasks.as_slice()).expect("tasks are good")
    })
}

#[test]
fn a_kernel_takes_no_more_than_it_is_given_and_counts_the_same_in_parts() {
    // The last of the most even splits: it leaves no half-board out.
    for (n, ordinal) in [(16, 1259), (19, 226_790), (20, 16_001)] {
        agree(n, ordinal..ordinal + 1, memory_needed(Problem::Total { n }, Method::Halves).most);
    }
    // With room for all lists that tasks beside the centre share, and for one.
    let need = memory_needed(Problem::Total { n: 19 }, Method::Halves);
    assert!(need.least < need.most * 3 / 4, "{need:?}");
    agree(19, 90_000..91_000, need.most);
    agree(19, 90_000..90_100, need.least);
    // With room for all quarters, and without.
    let need = memory_needed(Problem::Total { n: 22 }, Method::Halves);
    assert!(need.least < need.most / 4, "{need:?}");
    agree(22, 106_952..106_953, need.most);
    agree(22, 106_952..106_953, need.least);
    let need = memory_needed(Problem::Total { n: 24 }, Method::Halves);
    assert!(need.least < need.most / 2 && need.most < 1 << 30, "{need:?}");
    agree(24, 213_905..213_906, need.least);
    for (n, ordinal) in [(16, 1259), (19, 226_790), (20, 16_001), (22, 106_952)] {
        classes_agree(n, ordinal);
    }
}

/// A class whose upper half has queens on all diagonals has most upper quarters.
fn classes_agree(n: u32, ordinal: u64) {
    let class = Class::of_halves(0b111, 0).expect("no diagonal is in both");
    let mut tasks = Tasks::new();
    let plan = HalvesPlan::new(n).expect("the size is in range");
    plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has the task");
    let (task, weight) = tasks.get(0);
    let need = class_memory_needed(n);
    for memory in [need.most, need.least] {
        let (subtotals, taken) = measured(|| {
            let kernel = SubtotalKernel::new(memory, Backend::detect(), n);
            kernel.expect("there is such a kernel").count(task, weight).expect("it is a task")
        });
        assert!(taken <= memory, "N = {n}: {taken} bytes taken, {memory} given");
        let (of_class, taken) = measured(|| {
            let kernel = ClassKernel::new(memory, Backend::detect(), n, class);
            kernel.expect("there is such a kernel").count(task, weight).expect("it is a task")
        });
        assert!(taken <= memory, "N = {n}: {taken} bytes taken for a class, {memory} given");
        assert_eq!(of_class, subtotals[class.number()], "N = {n}");
        assert_eq!(subtotals.iter().sum::<u64>(), count(u64::MAX, n, &tasks).0, "N = {n}");
    }
}

fn agree(n: u32, ordinals: Range<u64>, memory: u64) {
    let plan = HalvesPlan::new(n).expect("the size is in range");
    let mut tasks = Tasks::new();
    plan.fill(ordinals, &mut tasks).expect("the plan has the range");
    let (counted, taken) = count(memory, n, &tasks);
    assert!(taken <= memory, "N = {n}: {taken} bytes taken, {memory} given");
    assert!(taken > memory / 8, "N = {n}: of {memory} bytes only {taken} are taken");
    let (whole, _) = count(u64::MAX, n, &tasks);
    assert_eq!(counted, whole, "N = {n}");
    assert!(counted > 0);
}
