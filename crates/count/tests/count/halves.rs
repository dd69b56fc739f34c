//! Compares every backend of `halves` with the known totals, the definition, and a search by rows.

use board::halves::{Shares, Slice, Split};
use board::{Method, PlanIndex, Prefix, Problem, Task};
use queens_count::{Backend, CountError, Kernel, Variant, memory_needed};

fn kernel(backend: Backend, n: u32) -> Kernel {
    Kernel::new(backend, n, Method::Halves).expect("there is such a kernel")
}

fn but_the_reference() -> impl Iterator<Item = Backend> {
    Backend::available().filter(|backend| *backend != Backend::Reference)
}

fn plan(n: u32) -> PlanIndex {
    PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range")
}

fn tasks(n: u32, ordinals: impl Iterator<Item = u64>) -> Vec<Task> {
    let task = |ordinal| plan(n).tasks(ordinal..ordinal + 1).expect("the plan has it");
    ordinals.flat_map(task).collect()
}

/// Q(n), counted by `backend`.
fn total(backend: Backend, n: u32) -> u128 {
    let tasks = tasks(n, 0..plan(n).len());
    let mut kernel = kernel(backend, n);
    tasks.chunks(1).map(|task| u128::from(kernel.count(task).expect("tasks are good"))).sum()
}

#[test]
fn every_backend_counts_the_known_totals() {
    for backend in Backend::available() {
        for n in 4..=11 {
            assert_eq!(total(backend, n), vectors::total(n), "{backend}, N = {n}");
        }
    }
}

#[test]
fn every_backend_but_the_reference_counts_boards_of_12_to_14() {
    for backend in but_the_reference() {
        for n in 12..=14 {
            assert_eq!(total(backend, n), vectors::total(n), "{backend}, N = {n}");
        }
    }
}

#[test]
fn the_fastest_backend_counts_boards_of_16() {
    assert_eq!(total(Backend::detect(), 16), vectors::total(16));
}

/// How often a board counts if its halves have these numbers.
fn times(shares: &Shares, upper: u32, lower: u32) -> u64 {
    let ties = shares.upper.tie(upper).zip(shares.lower.tie(lower));
    ties.map_or(0, |(upper, lower)| shares.times[usize::from(upper)][usize::from(lower)])
}

/// The count of one task, found by a search row by row for all its boards.
fn searched(n: u32, Task { record: task, weight }: Task) -> u64 {
    let split = Split::unpack(n, task).expect("it is a task");
    let search = Search { n, task, shares: Shares::new(n, split) };
    u64::from(weight) * search.boards(0, Prefix::EMPTY, 0, 0)
}

struct Search {
    n: u32,
    task: Prefix,
    shares: Shares,
}

impl Search {
    /// The shares of all boards below `prefix`, in which `row` rows are placed. `upper` and `lower`
    /// are the halves' numbers so far.
    fn boards(&self, row: u32, prefix: Prefix, upper: u32, lower: u32) -> u64 {
        let Search { n, task, shares } = self;
        let half = n / 2;
        if row == *n {
            return times(shares, upper, lower);
        }
        let columns = match row {
            _ if row < half => task.down,
            _ if row == half && n % 2 == 1 => task.left,
            _ => !(task.down | task.left),
        };
        let mut sum = 0;
        let free = prefix.free(*n) & columns;
        for column in (0..*n).filter(|column| free >> column & 1 == 1) {
            let looked_at = shares.columns >> column & 1;
            let (mut upper, mut lower) = (upper, lower);
            // The edge's row is the highest bit.
            if row < half {
                upper |= looked_at << (half - 1 - row);
            } else if row >= n - half {
                lower |= looked_at << (row - (n - half));
            }
            sum += self.boards(row + 1, prefix.place(*n, 1 << column), upper, lower);
        }
        sum
    }
}

#[test]
fn the_reference_agrees_with_a_search() {
    for n in 4..=11 {
        let tasks = tasks(n, 0..plan(n).len());
        let mut reference = kernel(Backend::Reference, n);
        for task in tasks {
            let found = reference.count(&[task]);
            assert_eq!(found, Ok(searched(n, task)), "N = {n}, {task:?}");
        }
    }
}

/// Ordinals from all over a plan, in no order (multiples of an odd number close to its golden
/// section).
fn scattered(n: u32, count: u64) -> impl Iterator<Item = u64> {
    let len = plan(n).len();
    let stride = (len as f64 * 0.618) as u64 | 1;
    (1..=count).map(move |i| i * stride % len)
}

#[test]
#[ignore = "takes a quarter of a minute: CI runs it"]
fn backends_agree_on_boards_whose_quarters_are_not_all_kept() {
    for n in [22, 23] {
        let tasks = tasks(n, scattered(n, 1));
        let counts: Vec<u64> = but_the_reference()
            .map(|backend| kernel(backend, n).count(&tasks).expect("is a task"))
            .collect();
        assert!(counts[0] > 0 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    }
}

/// Every task of a split, whole or of one slice on either side. In the first order, neighbours have
/// the upper slice in common. The second order is different.
fn sliced(n: u32, task: Prefix) -> Vec<Split> {
    let split = Split::unpack(n, task).expect("it is a task");
    let slices = || [1, 2, 4].into_iter().flat_map(Slice::modulo);
    let pairs = |of: fn(Slice, Slice) -> (Slice, Slice)| {
        slices().flat_map(move |a| slices().map(move |b| of(a, b)))
    };
    let pairs = pairs(|a, b| (a, b)).chain(pairs(|a, b| (b, a)));
    pairs.map(|(upper, lower)| Split { upper, lower, ..split }).collect()
}

#[test]
fn slices_count_what_the_reference_says_and_add_up_to_the_split() {
    let mut slices_with_boards = 0;
    for n in [8, 9, 12, 13, 22] {
        let tasks = tasks(n, scattered(n, if n < 22 { 3 } else { 1 }));
        for Task { record, .. } in tasks {
            let count = |kernel: &mut Kernel, split: Split| {
                let task = Task { record: split.pack(), weight: 1 };
                kernel.count(&[task]).expect("it is a task")
            };
            let small = |variant: Variant| n < 22 || variant == Backend::detect().into();
            let variants = || Backend::available().map(Variant::from).chain([Variant::Search]);
            let mut expected = Vec::new();
            for variant in variants().filter(|variant| small(*variant)) {
                let kernel = Kernel::new(variant, n, Method::Halves);
                let mut kernel = kernel.expect("there is such a kernel");
                let counts: Vec<u64> =
                    sliced(n, record).into_iter().map(|split| count(&mut kernel, split)).collect();
                if expected.is_empty() {
                    expected.clone_from(&counts);
                }
                assert_eq!(counts, expected, "{variant}, N = {n}, {record:?}");
            }
            // Each row has the whole list, then both slices modulo 2, then the four slices modulo
            // 4.
            for row in expected.chunks(7) {
                assert_eq!(row[0], row[1..3].iter().sum::<u64>());
                assert_eq!(row[0], row[3..].iter().sum::<u64>());
                slices_with_boards += row[3..].iter().filter(|count| **count > 0).count();
            }
        }
    }
    assert!(slices_with_boards > 100, "{slices_with_boards}");
}

#[test]
fn tasks_of_another_board_are_refused() {
    let good = tasks(9, 0..1)[0];
    let task = good.record;
    let bad = [
        Prefix::EMPTY,
        Prefix { left: 0, right: 0, ..task },
        Prefix { right: 0, ..task },
        Prefix { left: task.left | 7 << 29, ..task },
        Prefix { down: task.down | 1 << 29, ..task },
        Prefix { left: task.left << 1, ..task },
        Prefix { down: task.down | 1 << 8, ..task },
        Prefix { down: task.down ^ 1 << 1 ^ 1 << 9, ..task },
        Prefix { left: 1 << 9, right: 1 << 9, ..task },
        Prefix { left: 1 << 1, right: 1 << 1, ..task },
    ];
    for backend in Backend::available() {
        for record in bad {
            let refusal = kernel(backend, 9).count(&[good, Task { record, ..good }]);
            let expected = CountError::BadTask(1);
            assert_eq!(refusal, Err(expected), "{record:?}");
        }
    }
}

#[test]
fn records_outside_of_the_plan_count_like_the_reference() {
    for n in [8, 9] {
        let centres = if n % 2 == 1 { (0..n).map(|column| 1 << column).collect() } else { vec![0] };
        let splits = (0..1_u32 << n).filter(|split| split.count_ones() == n / 2);
        for (centre, split) in splits.flat_map(|split| centres.iter().map(move |c| (*c, split))) {
            if split & centre != 0 {
                continue;
            }
            let record = Prefix { left: centre, down: split, right: centre };
            let tasks = [Task { record, weight: 1 }];
            let expected = kernel(Backend::Reference, n).count(&tasks);
            for backend in but_the_reference() {
                let found = kernel(backend, n).count(&tasks);
                assert_eq!(found, expected, "{backend}, N = {n}: {split:b} below {centre:b}");
            }
        }
    }
}

#[test]
fn the_memory_of_a_board_is_known() {
    assert!(
        memory_needed(Problem::Total { n: 24 }, Method::Halves).most < 1 << 30,
        "a gigabyte a thread"
    );
    assert_eq!(memory_needed(Problem::Total { n: 32 }, Method::Ring { width: 2 }).most, 0);
}
