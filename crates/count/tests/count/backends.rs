//! Compares every backend with the known totals, and with the reference if no total is known.

use std::ops::RangeInclusive;

use board::{Method, PlanIndex, Prefix, Problem, Task};
use proptest::prelude::*;
use queens_count::{Backend, CountError, Kernel};

use super::{Random, total};

fn rows_plan(n: u32, rows: u32) -> PlanIndex {
    PlanIndex::new(Problem::Total { n }, Method::Rows { rows }).expect("it is within the limit")
}

fn totals_are_known(backend: Backend, n: u32, rows: impl Iterator<Item = u32>) {
    for rows in rows {
        let found = total(backend, n, Method::Rows { rows });
        assert_eq!(found, vectors::total(n), "{backend}, N = {n}, M = {rows}");
    }
}

#[test]
fn every_backend_counts_the_known_totals_from_every_row() {
    for backend in Backend::available() {
        for n in 0..=11 {
            totals_are_known(backend, n, 0..=n);
        }
    }
}

#[test]
fn fast_backends_count_12_and_13_from_every_row() {
    for backend in but_the_reference() {
        totals_are_known(backend, 12, 0..=12);
        totals_are_known(backend, 13, 0..=13);
    }
}

#[test]
fn reference_counts_boards_of_12_and_13() {
    totals_are_known(Backend::Reference, 12, [0, 6, 12].into_iter());
    totals_are_known(Backend::Reference, 13, [4].into_iter());
}

#[test]
fn the_fastest_backend_counts_boards_of_15_and_16() {
    for n in 15..=16 {
        totals_are_known(Backend::detect(), n, [4].into_iter());
    }
}

fn but_the_reference() -> impl Iterator<Item = Backend> {
    Backend::available().filter(|backend| *backend != Backend::Reference)
}

#[test]
fn backends_agree_on_every_prefix_of_small_boards() {
    for (n, rows) in (0..=8).flat_map(|n| (0..=n).map(move |rows| (n, rows))) {
        let plan = rows_plan(n, rows);
        let tasks = plan.tasks(0..plan.len()).expect("the plan has the range");
        let mut reference = Kernel::new(Backend::Reference, n, Method::Rows { rows })
            .expect("there is such a kernel");
        for backend in but_the_reference() {
            let mut kernel =
                Kernel::new(backend, n, Method::Rows { rows }).expect("there is such a kernel");
            for task in tasks.chunks(1) {
                assert_eq!(kernel.count(task), reference.count(task), "{backend}: {task:?}");
            }
        }
    }
}

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    /// A mask with `ones` of the lowest `n` bits set.
    fn mask(&mut self, n: u32, ones: u32) -> u32 {
        let mut mask = 0_u32;
        while mask.count_ones() < ones {
            mask |= 1 << self.below(n);
        }
        mask
    }

    /// Random masks. Not all of them belong to a board, but each has a count.
    fn masks(&mut self, n: u32, rows: u32) -> Prefix {
        let attacked = 1 + self.below(n / 2);
        Prefix {
            left: self.mask(n, attacked),
            down: self.mask(n, rows),
            right: self.mask(n, attacked),
        }
    }

    /// Queens on random free squares, row by row. If no square is free, random masks are returned
    /// instead.
    fn prefix(&mut self, n: u32, rows: u32) -> Prefix {
        let mut prefix = Prefix::EMPTY;
        for _ in 0..rows {
            let free = prefix.free(n);
            if free == 0 {
                return self.masks(n, rows);
            }
            let mut bit = 0;
            while bit & free == 0 {
                bit = 1 << self.below(n);
            }
            prefix = prefix.place(n, bit);
        }
        prefix
    }
}

/// Compares counts of `blocks` blocks of random tasks on boards of `sizes`, with at most
/// `rows_left` rows left.
fn backends_agree(seed: u64, blocks: u32, sizes: RangeInclusive<u32>, rows_left: u32) {
    let mut random = Random(seed);
    let mut blocks_with_completions = 0;
    for block in 0..blocks {
        let n = sizes.start() + random.below(sizes.end() - sizes.start() + 1);
        let rows = n - random.below(rows_left + 1);
        let mut tasks = Vec::new();
        for _ in 0..random.below(200) {
            let record = match random.below(2) {
                0 => random.masks(n, rows),
                _ => random.prefix(n, rows),
            };
            tasks.push(Task { record, weight: 1 << random.below(4) });
        }
        let count = |backend| {
            Kernel::new(backend, n, Method::Rows { rows })
                .expect("there is such a kernel")
                .count(&tasks)
        };
        let expected = count(Backend::Reference);
        for backend in but_the_reference() {
            let replay = format!("seed {seed}, block {block}: {backend}, N = {n}, M = {rows}");
            assert_eq!(count(backend), expected, "{replay}");
        }
        blocks_with_completions += u32::from(expected != Ok(0));
    }
    assert!(
        blocks_with_completions > blocks / 2,
        "seed {seed}: only {blocks_with_completions} blocks counted anything"
    );
}

#[test]
fn backends_agree_on_100_000_random_prefixes() {
    backends_agree(0x5eed, 1000, 8..=20, 7);
}

#[test]
fn backends_agree_on_the_widest_boards() {
    backends_agree(0xb0a2d, 50, 30..=32, 6);
}

#[test]
fn tasks_that_are_no_state_of_the_board_are_refused() {
    let good = Prefix::EMPTY.place(8, 1 << 3);
    let bad = [
        Prefix::EMPTY,
        good.place(8, 1),
        Prefix { left: 1 << 8, ..good },
        Prefix { right: 1 << 31, ..good },
        Prefix { down: 1 << 8, ..good },
    ];
    let method = Method::Rows { rows: 1 };
    for backend in Backend::available() {
        for task in bad {
            let tasks = [good, task].map(|record| Task { record, weight: 2 });
            let error = Kernel::new(backend, 8, method)
                .expect("there is such a kernel")
                .count(&tasks)
                .expect_err("is refused");
            assert_eq!(error, CountError::BadTask(1), "{task:?}");
        }
    }
}

#[test]
fn weights_of_all_kinds_are_applied_task_by_task() {
    let plan = rows_plan(9, 2);
    let mut tasks = plan.tasks(0..plan.len()).expect("the plan has the range");
    for (i, task) in tasks.iter_mut().enumerate() {
        task.weight = [0, 1, 2, 8, 255, 255][i % 6];
    }
    for backend in Backend::available() {
        let mut kernel =
            Kernel::new(backend, 9, Method::Rows { rows: 2 }).expect("there is such a kernel");
        let whole = kernel.count(&tasks).expect("tasks are good");
        let one_by_one: u64 = tasks
            .iter()
            .map(|task| {
                let single = [Task { weight: 1, ..*task }];
                let completions = kernel.count(&single).expect("the task is good");
                u64::from(task.weight) * completions
            })
            .sum();
        assert_eq!(whole, one_by_one, "{backend}");
    }
}

proptest! {
    #[test]
    fn a_block_split_anywhere_has_the_same_sum(
        n in 6..=11u32,
        rows in 0..=6u32,
        at in any::<u64>(),
        cut in any::<usize>(),
    ) {
        let plan = rows_plan(n, rows);
        let start = at % plan.len();
        let tasks = plan.tasks(start..plan.len().min(start + 1500)).expect("the plan has the range");
        let cut = cut % (tasks.len() + 1);
        for backend in Backend::available() {
            let mut kernel = Kernel::new(backend, n, Method::Rows { rows }).expect("there is such a kernel");
            let mut count = |tasks: &[Task]| kernel.count(tasks).expect("tasks are good");
            let whole = count(&tasks);
            prop_assert_eq!(count(&tasks[..cut]) + count(&tasks[cut..]), whole);
        }
    }
}
