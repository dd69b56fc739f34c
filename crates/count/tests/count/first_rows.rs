//! Compares counts of toroidal boards, superqueens and completions with known counts, and
//! completions with the rules.

use board::{Given, Method, PlanIndex, Problem, Square};
use proptest::prelude::*;
use queens_count::{Backend, Kernel};

fn count(backend: Backend, problem: Problem, rows: u32) -> u64 {
    let plan =
        PlanIndex::new(problem, Method::Rows { rows }).expect("the problem has so many rows");
    let tasks = plan.tasks(0..plan.len()).expect("the plan has the range");
    let mut kernel = Kernel::with_memory(0, backend, problem, Method::Rows { rows })
        .expect("there is such a kernel");
    kernel.count(&tasks).expect("tasks are good")
}

#[test]
fn known_counts_of_the_torus_and_of_superqueens() {
    for n in 1..=17 {
        let found = count(Backend::Portable, Problem::Toroidal { n }, 3.min(n));
        assert_eq!(u128::from(found), vectors::toroidal(n), "torus, N = {n}");
    }
    for n in 10..=14 {
        for rows in [1, 2, 3] {
            let found = count(Backend::Portable, Problem::Superqueens { n }, rows);
            assert_eq!(u128::from(found), vectors::superqueens(n), "superqueens, N = {n}");
        }
    }
    assert_eq!(
        (0..10).map(|n| count(Backend::Portable, Problem::Superqueens { n }, 0)).sum::<u64>(),
        2
    );
}

/// All placements on a small board, found by the rules.
fn all_placements(n: u32) -> Vec<Vec<Square>> {
    let mut found = vec![Vec::<Square>::new()];
    for row in 0..n {
        let grow = |queens: &Vec<Square>| {
            let free = |square: Square| {
                !queens.iter().any(|&queen| Problem::Total { n }.attack(queen, square))
            };
            let squares = (0..n).map(|column| Square { column, row }).filter(|&s| free(s));
            squares.map(|square| [&queens[..], &[square]].concat()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(grow).collect();
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn completions_are_the_placements_that_have_the_queens(
        n in 4..=9_u32, choice in any::<prop::sample::Index>(), kept in any::<u16>(), rows in 0..=3_u32,
    ) {
        let placements = all_placements(n);
        prop_assume!(!placements.is_empty());
        let queens: Vec<Square> = choice.get(&placements).iter().copied()
            .filter(|queen| kept >> queen.row & 1 == 1).collect();
        let has = |placement: &&Vec<Square>| queens.iter().all(|queen| placement.contains(queen));
        let expected = placements.iter().filter(has).count() as u64;
        let problem = Problem::Completions(Given::new(n, &queens).expect("they stand so"));
        let rows = rows.min(n - queens.len() as u32);
        for backend in Backend::available() {
            prop_assert_eq!(count(backend, problem, rows), expected, "{:?}, {}", problem, backend);
        }
    }
}
