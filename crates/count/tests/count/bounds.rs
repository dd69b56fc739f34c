//! Compares counts with the bounds and multiples that `board` predicts.

use board::squares::Square;
use board::{Given, Method, PlanIndex, Problem, most_per_task, symmetry};
use queens_count::{Backend, Kernel, count};

#[test]
fn no_task_counts_more_than_its_bound() {
    let mut counted = 0;
    for n in 0..=8 {
        let given = Given::new(n, &[]).expect("an empty board");
        let rows = (0..=n.min(5)).map(|rows| Method::Rows { rows });
        let prefixes = (0..=n).map(|rows| Method::Prefixes { rows });
        let methods = || rows.clone().chain(prefixes.clone()).chain([Method::Colours]);
        let total = methods().map(|method| (Problem::Total { n }, method));
        let others =
            [Problem::Toroidal { n }, Problem::Superqueens { n }, Problem::Completions(given)];
        let others = rows.clone().flat_map(|method| others.map(|problem| (problem, method)));
        for (problem, method) in total.chain(others).filter(|(problem, m)| m.cuts(*problem)) {
            let index = PlanIndex::new(problem, method).expect("it is cut so");
            let most = most_per_task(problem, method).expect("it is cut so");
            let mut kernel =
                Kernel::new(Backend::Portable, problem, method).expect("there is such a kernel");
            for task in 0..index.len() {
                let count = kernel.count_range(&index, task..task + 1).expect("it is a task");
                assert!(u128::from(count) <= most, "{problem} by {method}: {count} of {most}");
                counted += 1;
            }
        }
    }
    assert!(counted > 500, "{counted}");
}

#[test]
fn totals_are_the_multiples_that_symmetry_demands() {
    for n in 2..=12 {
        let problem = Problem::Superqueens { n };
        let (counted, divisor) = (count(problem), symmetry::divisor(&problem));
        assert_eq!(counted.map(|count| count % u128::from(divisor)), Ok(0), "N = {n}");
    }
    let mut divisors = Vec::new();
    for n in 2..=7 {
        let squares = || (0..n).flat_map(|row| (0..n).map(move |column| Square { column, row }));
        for (a, b) in squares().flat_map(|a| squares().map(move |b| (a, b))) {
            let queens = if a == b { vec![a] } else { vec![a, b] };
            let Ok(given) = Given::new(n, &queens) else { continue };
            let problem = Problem::Completions(given);
            let divisor = symmetry::divisor(&problem);
            let count = count(problem).expect("it counts");
            assert_eq!(count % u128::from(divisor), 0, "{given:?}: {count}");
            divisors.push(divisor);
        }
    }
    assert!([1, 2, 4].iter().all(|divisor| divisors.contains(divisor)));
}
