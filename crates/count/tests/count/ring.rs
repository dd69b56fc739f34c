//! Compares every backend of the method `ring` with known totals, and each task with the rules of
//! the game.

use board::ring::Preplacement;
use board::{Method, PlanIndex, Prefix, Problem, Task};
use proptest::prelude::*;
use queens_count::{Backend, CountError, Kernel};

use super::total;

fn totals_are_known(backend: Backend, sizes: std::ops::RangeInclusive<u32>) {
    for (n, width) in sizes.flat_map(|n| [(n, 1), (n, 2)]) {
        if 2 * width <= n {
            let found = total(backend, n, Method::Ring { width });
            assert_eq!(found, vectors::total(n), "{backend}, {n}, {width}");
        }
    }
}

#[test]
fn every_backend_counts_the_known_totals() {
    for backend in Backend::available() {
        totals_are_known(backend, 2..=11);
    }
}

#[test]
fn every_backend_but_the_reference_counts_boards_of_12_and_13() {
    for backend in Backend::available().filter(|backend| *backend != Backend::Reference) {
        totals_are_known(backend, 12..=13);
    }
}

/// Counts the completions of a preplacement by the rules: no queen may attack another.
struct Rules {
    n: u32,
    queens: Vec<(u32, u32)>,
}

impl Rules {
    fn completions(&mut self) -> u64 {
        let has_queen = |row: &u32| self.queens.iter().any(|queen| queen.0 == *row);
        let Some(row) = (0..self.n).find(|row| !has_queen(row)) else {
            return 1;
        };
        let mut found = 0;
        for column in 0..self.n {
            let attacks =
                |&(r, c): &(u32, u32)| c == column || r.abs_diff(row) == c.abs_diff(column);
            if !self.queens.iter().any(attacks) {
                self.queens.push((row, column));
                found += self.completions();
                self.queens.pop();
            }
        }
        found
    }
}

#[test]
fn every_backend_counts_each_task_as_the_rules_say() {
    for (n, width) in [(5, 1), (6, 1), (8, 1), (9, 1), (5, 2), (7, 2), (9, 2), (10, 2)] {
        let plan = PlanIndex::new(Problem::Total { n }, Method::Ring { width })
            .expect("the board has such a ring");
        for of_plan in plan.tasks(0..plan.len()).expect("the plan has the range") {
            let Task { record, weight } = of_plan;
            let task = Preplacement::unpack(record, n, width).expect("it is of the plan");
            let queens = task.queens(n, width).map(|queen| (queen.row, queen.column));
            let mut rules = Rules { n, queens: queens.collect() };
            let expected = u64::from(weight) * rules.completions();
            for backend in Backend::available() {
                let mut kernel = Kernel::new(backend, n, Method::Ring { width })
                    .expect("there is such a kernel");
                let found = kernel.count(&[of_plan]);
                assert_eq!(found, Ok(expected), "{backend}: {task:?} of N = {n}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn backends_agree_on_tasks_from_anywhere(
        (n, width) in prop_oneof![(12..=19u32, Just(1u32)), (15..=20u32, Just(2u32))],
        at in any::<u64>(),
    ) {
        let plan = PlanIndex::new(Problem::Total { n }, Method::Ring { width }).expect("the board has such a ring");
        let start = at % plan.len();
        // Tasks of width 1 take long on large boards.
        let most = if n > 15 && width == 1 { 1 } else { 40 };
        let tasks = plan.tasks(start..plan.len().min(start + most)).expect("the plan has the range");
        let method = Method::Ring { width };
        let count = |backend| {
            let kernel = Kernel::new(backend, n, method);
            kernel.expect("there is such a kernel").count(&tasks)
        };
        let expected = count(Backend::Portable);
        prop_assert!(expected.is_ok());
        for backend in Backend::available().filter(|backend| *backend != Backend::Reference || n < 15) {
            prop_assert_eq!(count(backend), expected, "{}, N = {}, width {}", backend, n, width);
        }
    }
}

#[test]
fn a_record_that_is_no_preplacement_is_refused() {
    let plan = PlanIndex::new(Problem::Total { n: 8 }, Method::Ring { width: 1 })
        .expect("the board has such a ring");
    let good = plan.tasks(0..2).expect("the plan has the range");
    let right = good[1].record;
    let method = Method::Ring { width: 1 };
    for backend in Backend::available() {
        let mut kernel = Kernel::new(backend, 8, method).expect("there is such a kernel");
        assert!(kernel.count(&good).is_ok());
        let mut tasks = good.clone();
        tasks[1].record.left ^= 1 << 3;
        let refused = Err(CountError::BadTask(1));
        assert_eq!(kernel.count(&tasks), refused, "a row beyond the board");
        let down = right.down & 0xffff_ff00 | right.down >> 16;
        tasks[1].record = Prefix { down, ..right };
        assert_eq!(kernel.count(&tasks), refused, "top and bottom in one column");
    }
}
