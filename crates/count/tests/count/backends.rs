//! Compares every backend with the known totals, by every method.

use board::{Method, PlanIndex, Problem};
use queens_count::{Backend, Kernel};

/// Compares the sum of all tasks with the known total.
fn total_is_known(backend: Backend, n: u32, method: Method) {
    /// This exceeds the number of tasks that the vector backends take at once, and is no multiple
    /// of a group of `ring`.
    const BLOCK: u64 = 4_999;
    let problem = Problem::Total { n };
    let index = PlanIndex::new(problem, method).expect("the board can be cut so");
    let mut kernel = Kernel::new(backend, n, method).expect("there is such a kernel");
    let mut sum = 0;
    for start in (0..index.len()).step_by(BLOCK as usize) {
        let tasks = index.tasks(start..index.len().min(start + BLOCK));
        let tasks = tasks.expect("the plan has the range");
        sum += u128::from(kernel.count(&tasks).expect("tasks are good"));
    }
    assert_eq!(sum, vectors::total(n), "{backend}, N = {n} by {method}");
}

#[test]
fn every_backend_counts_the_known_totals_by_every_method() {
    for backend in Backend::available() {
        let largest = if backend == Backend::Reference { 11 } else { 13 };
        for n in 0..=largest {
            let rows = (0..=n).map(|rows| Method::Rows { rows });
            let rings = (1..=2).map(|width| Method::Ring { width });
            let methods = rows.chain(rings).chain([Method::Halves]);
            for method in methods.filter(|method| method.suits(n)) {
                total_is_known(backend, n, method);
            }
        }
    }
}

#[test]
fn the_fastest_backend_counts_boards_of_15_and_16() {
    let rows = Method::Rows { rows: 4 };
    for (n, method) in [(15, rows), (16, rows), (16, Method::Halves)] {
        total_is_known(Backend::detect(), n, method);
    }
}
