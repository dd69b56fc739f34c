//! Compares counts of toroidal boards, superqueens and completions with known counts, and every
//! search with the rules, square by square.

use board::squares::parse_squares;
use board::{Given, Method, PlanIndex, Prefix, Problem, Square, Task};
use proptest::prelude::*;
use queens_count::{Backend, CountError, Kernel};

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

#[test]
fn every_search_agrees_with_the_rules() {
    for n in 0..=9 {
        for problem in [Problem::Toroidal { n }, Problem::Superqueens { n }] {
            let expected = count(Backend::Reference, problem, 0);
            for rows in 0..=n.min(5) {
                for backend in Backend::available() {
                    assert_eq!(count(backend, problem, rows), expected, "{problem}, M = {rows}");
                }
            }
        }
    }
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

#[test]
fn queens_that_close_a_whole_row_have_no_completion() {
    let completions = |n, squares: &str| {
        let queens = parse_squares(squares).expect("they are squares");
        let problem = Problem::Completions(Given::new(n, &queens).expect("they stand so"));
        [Backend::Reference, Backend::Portable].map(|backend| count(backend, problem, 0))
    };
    assert_eq!(completions(4, "a1"), [0, 0]);
    assert_eq!(completions(4, "b1,d2,a3,c4"), [1, 1]);
    assert_eq!(completions(0, ""), [1, 1]);
    assert_eq!(completions(8, ""), [92, 92]);
}

/// All but ten of 64 rows are filled, so masks of 64 bits are used completely.
#[test]
fn the_largest_boards_are_counted_as_the_rules_say() {
    // The queens are a knight's move apart, in two strands.
    let placement: Vec<Square> = (0..64)
        .map(|row: u32| Square { column: if row < 32 { 2 * row + 1 } else { 2 * (row - 32) }, row })
        .collect();
    board::squares::check_queens(64, &placement).expect("a known placement: 64 mod 6 is 4");
    let given: Vec<Square> = placement.iter().copied().filter(|q| q.row % 6 != 5).collect();
    let problem = Problem::Completions(Given::new(64, &given).expect("they stand so"));
    let found = count(Backend::Portable, problem, 2);
    assert_eq!(found, count(Backend::Reference, problem, 1));
    assert!(found >= 1);
}

#[test]
fn a_task_of_another_problem_is_refused() {
    let problem = Problem::Toroidal { n: 7 };
    let method = Method::Rows { rows: 1 };
    let mut kernel =
        Kernel::with_memory(0, Backend::detect(), problem, method).expect("there is such a kernel");
    for record in [
        Prefix { down: 7, ..Prefix::EMPTY },
        Prefix { down: 1 << 6, ..Prefix::EMPTY },
        Prefix { left: 1, ..Prefix::EMPTY },
    ] {
        let tasks = [Prefix::EMPTY, record].map(|record| Task { record, weight: 1 });
        let refused = Err(CountError::BadTask(1));
        assert_eq!(kernel.count(&tasks), refused);
    }
}
