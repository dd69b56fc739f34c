//! Tests that a kernel stays within its memory. Every byte that it allocates is counted, used or
//! not. The test has its own process, because the allocator counts for all threads.

use std::ops::Range;

use board::{Method, PlanIndex, Problem, Task};
use peak_alloc::PeakAlloc;
use queens_count::{Backend, Kernel, memory_needed};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The count of a kernel, and the largest number of bytes that it allocated.
fn count(memory: u64, n: u32, tasks: &[Task]) -> (u64, u64) {
    let before = ALLOCATOR.current_usage() as u64;
    ALLOCATOR.reset_peak_usage();
    let mut kernel =
        Kernel::with_memory(memory, Backend::detect(), Problem::Total { n }, Method::Halves)
            .expect("there is such a kernel");
    let counted = kernel.count(tasks).expect("tasks are good");
    (counted, ALLOCATOR.peak_usage() as u64 - before)
}

#[test]
fn a_kernel_stays_within_its_memory_and_counts_parts_alike() {
    // The last of the most even splits leaves no half-board out.
    for (n, ordinal) in [(16, 1259), (19, 226_790), (20, 16_001)] {
        agree(n, ordinal..ordinal + 1, memory_needed(Problem::Total { n }, Method::Halves).most);
    }
    // There is room for all lists that tasks beside the centre share, and then for one list.
    let need = memory_needed(Problem::Total { n: 19 }, Method::Halves);
    assert!(need.least < need.most * 3 / 4, "{need:?}");
    agree(19, 90_000..91_000, need.most);
    agree(19, 90_000..90_100, need.least);
    // There is room for all quarters, and then there is not.
    let need = memory_needed(Problem::Total { n: 22 }, Method::Halves);
    assert!(need.least < need.most / 4, "{need:?}");
    agree(22, 106_952..106_953, need.most);
    agree(22, 106_952..106_953, need.least);
    let need = memory_needed(Problem::Total { n: 24 }, Method::Halves);
    assert!(need.least < need.most / 2 && need.most < 1 << 30, "{need:?}");
    agree(24, 213_905..213_906, need.least);
    assert_eq!(memory_needed(Problem::Total { n: 32 }, Method::Ring { width: 2 }).most, 0);
}

fn agree(n: u32, ordinals: Range<u64>, memory: u64) {
    let plan = PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
    let tasks = plan.tasks(ordinals).expect("the plan has the range");
    let (counted, taken) = count(memory, n, &tasks);
    assert!(taken <= memory, "N = {n}: {taken} bytes taken, {memory} given");
    assert!(taken > memory / 8, "N = {n}: of {memory} bytes only {taken} are taken");
    let (whole, _) = count(u64::MAX, n, &tasks);
    assert_eq!(counted, whole, "N = {n}");
    assert!(counted > 0);
}
