//! Compares the tasks of `halves` with the symmetries of the square, and with closed forms.

use std::collections::BTreeMap;

use queens_board::halves::{SHARED_LISTS_MAX_N, Shares, Slice, Split};
use queens_board::{Method, PlanIndex, Prefix};

use super::boards::{Queens, boards, images};
use super::filled;

fn plan(n: u32) -> PlanIndex {
    super::plan(n, Method::Halves)
}

/// The record of the task that a board belongs to. `None` if that task is not in the plan.
fn record(queens: &Queens) -> Prefix {
    let (n, half) = (queens.len(), queens.len() / 2);
    let centre = if n % 2 == 1 { 1 << queens[half] } else { 0 };
    let down = queens[..half].iter().map(|column| 1 << column).sum();
    Prefix { left: centre, down, right: centre }
}

/// A half-board's number, from the columns of its queens, beginning at the edge.
fn number(columns: u32, queens: impl Iterator<Item = u32>) -> u32 {
    queens.fold(0, |number, column| number << 1 | (columns >> column & 1))
}

/// How often a board counts if its halves have these numbers.
fn times(shares: &Shares, upper: u32, lower: u32) -> u64 {
    let ties = shares.upper.tie(upper).zip(shares.lower.tie(lower));
    ties.map_or(0, |(upper, lower)| shares.times[usize::from(upper)][usize::from(lower)])
}

/// The number of times that a board counts in the sum over all tasks.
fn share(weights: &BTreeMap<(u32, u32), u8>, queens: &Queens) -> u64 {
    let (n, half) = (queens.len(), queens.len() / 2);
    let record = record(queens);
    let Some(weight) = weights.get(&(record.left, record.down)) else { return 0 };
    let split = Split::unpack(n as u32, record).expect("it is a split");
    let shares = Shares::new(n as u32, split);
    let upper = number(shares.columns, queens[..half].iter().copied());
    let lower = number(shares.columns, queens[n - half..].iter().rev().copied());
    u64::from(*weight) * times(&shares, upper, lower)
}

fn weights(n: u32) -> BTreeMap<(u32, u32), u8> {
    let tasks = filled(&plan(n), 0..plan(n).len());
    let weights: BTreeMap<_, _> =
        tasks.iter().map(|it| ((it.record.left, it.record.down), it.weight)).collect();
    assert_eq!(weights.len(), tasks.len(), "N = {n}: no task is there twice");
    weights
}

#[test]
fn the_images_of_every_board_count_eight_times() {
    for n in 4..=11 {
        let weights = weights(n);
        for queens in boards(n) {
            let sum: u64 = images(&queens).iter().map(|image| share(&weights, image)).sum();
            assert_eq!(sum, 8, "N = {n}: {queens:?}");
        }
    }
}

/// The number of orbits of splits under reversal and complement, derived from symmetry alone.
fn orbits(n: u32) -> u64 {
    let choose =
        |from: u64, chosen: u64| (0..chosen).fold(1, |ways, i| ways * (from - i) / (i + 1));
    let half = u64::from(n / 2);
    // By Burnside's lemma: a split may equal its mirror image, or that image's complement.
    let palindromes = if half.is_multiple_of(2) { choose(half, half / 2) } else { 0 };
    let central = (choose(2 * half, half) + palindromes + (1 << half)) / 4;
    let beside = if n % 2 == 1 { half * choose(2 * half - 1, half - 1) } else { 0 };
    central + beside
}

#[test]
fn there_are_as_many_tasks_as_orbits_of_splits() {
    for n in 4..=29 {
        let plan = plan(n);
        let pairs_of_slices = if n < 28 { 1 } else { 8 };
        assert_eq!(plan.len(), orbits(n) * pairs_of_slices, "N = {n}");
        assert!(!plan.is_empty());
    }
}

/// The sort key of a task. Tasks whose queen is beside the centre come first. They are ordered by
/// the number of columns on the right, these columns, those on the left, and the queen's square. On
/// larger boards, they are ordered by the square and the columns. All other tasks are ordered by
/// the size of the sides, the west and the east. On the largest boards, the slices are the last
/// key.
fn place_in_order(n: u32, task: Prefix) -> impl Ord {
    let split = Split::unpack(n, task).expect("it is a task");
    let slices = (split.upper.code(), split.lower.code());
    let half = n / 2;
    let lines = (1 << half) - 1;
    if n % 2 == 1 && split.centre != 1 << half {
        if n > SHARED_LISTS_MAX_N {
            return ((false, split.centre, 0, task.down, 0), slices);
        }
        // The columns of the upper half right of the centre.
        let right = task.down >> (half + 1);
        let left = task.down & lines;
        return ((false, right.count_ones(), right as i32, left, split.centre), slices);
    }
    let Shares { upper, .. } = Shares::new(n, split);
    let east = !(task.down >> (n - half)) & lines;
    assert!(upper.below <= east as i32 && east as i32 <= upper.above, "{task:?} is canonical");
    ((true, (upper.above as u32).count_ones(), upper.above, east, split.centre), slices)
}

#[test]
fn ordinals_are_in_order_up_to_the_largest_boards() {
    for n in [8, 9, 16, 21, 23, 24, 28, 29] {
        let plan = plan(n);
        let mut tasks = Vec::new();
        // The runs of neighbours are from all over the plan, to its end.
        let runs = 4000.min(plan.len() / 8);
        for run in 0..runs {
            let start = plan.len() / runs * run;
            tasks.extend(filled(&plan, start..start + 8));
        }
        tasks.extend(filled(&plan, plan.len() - 1..plan.len()));
        let places: Vec<_> = tasks.iter().map(|task| place_in_order(n, task.record)).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "N = {n}");
    }
}

#[test]
fn a_split_of_a_large_board_is_a_task_for_each_pair_of_slices() {
    for n in [28, 29] {
        let plan = plan(n);
        let start = plan.len() / 3 / 8 * 8;
        let tasks = filled(&plan, start..start + 8);
        let unpacked = |i: usize| Split::unpack(n, tasks[i].record).expect("it is a task");
        let whole = Split { upper: Slice::WHOLE, lower: Slice::WHOLE, ..unpacked(0) };
        let pairs =
            Slice::modulo(4).flat_map(|upper| Slice::modulo(2).map(move |lower| (upper, lower)));
        for (i, (upper, lower)) in pairs.enumerate() {
            assert_eq!(unpacked(i), Split { upper, lower, ..whole });
        }
    }
}
