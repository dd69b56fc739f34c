//! The tasks of `halves` against the definition of their orbits, and against closed forms.

use std::collections::BTreeSet;

use board::halves::{HalvesError, HalvesPlan};
use board::{Prefix, Tasks, full_mask};
use proptest::prelude::*;

fn all(n: u32) -> Tasks {
    let plan = HalvesPlan::new(n).expect("the size is in range");
    let mut tasks = Tasks::new();
    plan.fill(0..plan.len(), &mut tasks);
    tasks
}

/// The sum of the weights is the number of splits.
fn splits(n: u32) -> u64 {
    let choose =
        |from: u64, chosen: u64| (0..chosen).fold(1, |ways, i| ways * (from - i) / (i + 1));
    let half = u64::from(n / 2);
    if n.is_multiple_of(2) { choose(2 * half, half) } else { u64::from(n) * choose(2 * half, half) }
}

fn reversed(n: u32, mask: u32) -> u32 {
    mask.reverse_bits() >> (u32::BITS - n)
}

/// The centre row's square (none if `n` is even) and split, their images under complement and
/// reversal.
fn orbit(n: u32, centre: u32, split: u32) -> BTreeSet<(u32, u32)> {
    let complement = |centre: u32, split: u32| (centre, full_mask(n) & !(split | centre));
    let mirror = (reversed(n, centre), reversed(n, split));
    [(centre, split), complement(centre, split), mirror, complement(mirror.0, mirror.1)].into()
}

#[test]
fn every_split_is_in_the_orbit_of_exactly_one_task() {
    for n in 4..=13 {
        let tasks = all(n);
        let mut seen = BTreeSet::new();
        for i in 0..tasks.len() {
            let (Prefix { left, down, right }, weight) = tasks.get(i);
            assert_eq!(left, right);
            assert_eq!(left.count_ones(), n % 2);
            assert_eq!(down.count_ones(), n / 2);
            assert_eq!(down & left, 0);
            let orbit = orbit(n, left, down);
            assert_eq!(orbit.first(), Some(&(left, down)), "the least is canonical, N = {n}");
            assert_eq!(orbit.len(), usize::from(weight));
            for split in orbit {
                assert!(seen.insert(split), "N = {n}: {split:?} is in two orbits");
            }
        }
        assert_eq!(seen.len() as u64, splits(n));
    }
}

#[test]
fn weights_add_up_to_the_number_of_splits() {
    for n in 4..=20 {
        let sum: u64 = all(n).weight.iter().map(|&weight| u64::from(weight)).sum();
        assert_eq!(sum, splits(n), "N = {n}");
    }
}

#[test]
fn tasks_of_an_odd_board_share_the_centre_column_with_their_neighbours() {
    for n in [5, 11, 15] {
        assert!(all(n).left.is_sorted());
    }
}

#[test]
fn the_last_task_of_the_largest_boards_is_a_split() {
    for n in [28, 29] {
        let plan = HalvesPlan::new(n).expect("the size is in range");
        assert!(plan.len() >= splits(n).div_ceil(4) && !plan.is_empty());
        let mut tasks = Tasks::new();
        plan.fill(plan.len() - 1..plan.len(), &mut tasks);
        assert_eq!(tasks.down[0].count_ones(), n / 2);
        assert!(tasks.down[0] <= full_mask(n));
    }
}

#[test]
fn boards_out_of_range_are_refused_with_the_range() {
    for n in [0, 3, 30] {
        let error = HalvesPlan::new(n).expect_err("is refused");
        assert_eq!(error, HalvesError::BoardOutOfRange { n });
        assert!(error.to_string().contains("from 4 to 29"));
    }
}

proptest! {
    #[test]
    fn any_range_is_a_slice_of_the_whole(n in 4..=14u32, a in any::<u64>(), b in any::<u64>()) {
        let plan = HalvesPlan::new(n).expect("the size is in range");
        let (a, b) = (a % (plan.len() + 1), b % (plan.len() + 1));
        let range = a.min(b)..a.max(b);
        let mut part = Tasks::new();
        plan.fill(range.clone(), &mut part);
        let whole = all(n);
        prop_assert_eq!(part.as_slice(), whole.slice(range.start as usize..range.end as usize));
    }
}
