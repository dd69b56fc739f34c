//! Compares counts of toroidal boards, superqueens and completions with known counts, and
//! completions with the rules.

use std::ops::RangeInclusive;

use board::{Given, Method, MethodChoice, PlanIndex, Problem, Square};
use proptest::prelude::*;
use queens_count::{Backend, Kernel, Variant};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

fn count(backend: Backend, problem: Problem, rows: u32) -> u64 {
    count_by(backend.into(), problem, Method::Rows { rows })
}

fn count_by(variant: Variant, problem: Problem, method: Method) -> u64 {
    let plan = PlanIndex::new(problem, method).expect("the method cuts the problem");
    let mut kernel = Kernel::new(variant, problem, method).expect("there is such a kernel");
    kernel.count_range(&plan, 0..plan.len()).expect("tasks are good")
}

/// The variants that count tasks of `colours` on this processor.
fn variants() -> impl Iterator<Item = Variant> {
    Backend::available()
        .flat_map(|backend| [Variant::Straight(backend), Variant::Mirrored(backend)])
}

#[test]
fn known_counts_of_the_torus_and_of_superqueens() {
    for n in 1..=17 {
        let found = count(Backend::Portable, Problem::Toroidal { n }, 3.min(n));
        assert_eq!(u128::from(found), testkit::vectors::toroidal(n), "torus, N = {n}");
    }
    for n in 10..=14 {
        for rows in [1, 2, 3] {
            let found = count(Backend::Portable, Problem::Superqueens { n }, rows);
            assert_eq!(u128::from(found), testkit::vectors::superqueens(n), "superqueens, N = {n}");
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
        for variant in variants() {
            let found = count_by(variant, problem, Method::Colours);
            prop_assert_eq!(found, expected, "{:?} by colours, {}", problem, variant);
        }
    }
}

/// A problem with at most `most` queens at random squares of a board of size `n`.
fn random_given(n: u32, most: usize, random: &mut impl Rng) -> Problem {
    let mut queens: Vec<Square> = Vec::new();
    for _ in 0..most {
        let square = Square { column: random.random_range(0..n), row: random.random_range(0..n) };
        let free = |queen: &Square| {
            queen.row != square.row && !Problem::Total { n }.attack(*queen, square)
        };
        if queens.iter().all(free) {
            queens.push(square);
        }
    }
    Problem::Completions(Given::new(n, &queens).expect("they stand so"))
}

fn colours_counts_like_rows(sizes: RangeInclusive<u32>, boards: u64, most: usize) {
    for (n, seed) in sizes.flat_map(|n| (0..boards).map(move |seed| (n, seed))) {
        let problem = random_given(n, most, &mut StdRng::seed_from_u64(seed));
        let rows = MethodChoice::Rows { rows: None }.for_problem(problem);
        let expected = count_by(Backend::detect().into(), problem, rows);
        for variant in variants().filter(|it| !it.to_string().starts_with("reference")) {
            let found = count_by(variant, problem, Method::Colours);
            assert_eq!(found, expected, "{problem:?} by {variant}, seed {seed}");
        }
    }
}

#[test]
fn colours_counts_random_boards_like_rows() {
    colours_counts_like_rows(10..=14, 6, 5);
}

#[test]
#[ignore = "it takes some seconds in release, and minutes in debug"]
fn colours_counts_large_random_boards_like_rows() {
    colours_counts_like_rows(15..=18, 5, 4);
}
