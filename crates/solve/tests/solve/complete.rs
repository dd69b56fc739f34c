//! Tests completions, by comparison with lists of all placements where that is possible.

use std::collections::BTreeSet;

use board::squares::{Square, SquaresError, check_queens, parse_squares};
use proptest::prelude::*;
use queens_solve::{
    Completion, Construction, Effort, Opening, Placement, Rules, Start, complete_until,
    complete_within, random_placement, solutions,
};

/// The placement with these columns, after a check.
fn checked(columns: Vec<u32>) -> Placement {
    Placement::new(columns).expect("it is one")
}

fn given(n: u32, queens: &[Square]) -> Start {
    Start::new(n, queens).expect("they do not attack each other")
}

fn start(
    n: u32,
    queens: &[Square],
    rules: Rules,
    blocked: &[Square],
) -> Result<Start, SquaresError> {
    Start::with_rules(n, rules, queens)?.blocking(blocked)
}

/// Some of a placement's queens, chosen by a stride that reaches all of them.
fn some(placement: &Placement, count: usize, stride: usize) -> Vec<Square> {
    let squares: Vec<Square> = placement.squares().collect();
    let picked = (0..count).map(|i| squares[i * stride % squares.len()]);
    picked.collect::<BTreeSet<_>>().into_iter().collect()
}

fn assert_completed(given: &Start, completion: Completion) {
    let Completion::Found(placement) = completion else { panic!("{completion:?}") };
    assert_eq!(checked(placement.columns().to_vec()), placement);
    assert!(given.admits(&placement));
}

/// Whether it can be completed, which is compared with the list of all placements.
fn is_completed_if_possible(start: &Start, seed: u64) -> bool {
    let exists = solutions(start.clone()).next().is_some();
    match complete_until(start, seed, || false) {
        Completion::Impossible => assert!(!exists, "{start:?}"),
        found => {
            assert!(exists, "{start:?}");
            assert_completed(start, found);
        }
    }
    exists
}

#[test]
fn one_or_two_queens_are_completed_if_and_only_if_possible() {
    for n in 0..=8_u32 {
        let squares: Vec<Square> =
            (0..n * n).map(|i| Square { column: i % n, row: i / n }).collect();
        let pairs = squares.iter().flat_map(|&a| squares.iter().map(move |&b| vec![a, b]));
        let fewer = [vec![]].into_iter().chain(squares.iter().map(|&a| vec![a]));
        let mut answers = [0; 2];
        for queens in fewer.chain(pairs).filter(|queens| check_queens(n, queens).is_ok()) {
            answers[usize::from(is_completed_if_possible(&given(n, &queens), 0))] += 1;
        }
        assert!(n < 4 || answers.iter().all(|&count| count > 0), "N = {n}: {answers:?}");
    }
}

proptest! {
    #[test]
    fn random_queens_are_completed_if_and_only_if_possible(
        n in 4..=8_u32,
        candidates in prop::collection::vec((0..8_u32, 0..8_u32), 0..8),
        seed in any::<u64>(),
    ) {
        let mut queens = Vec::new();
        for (column, row) in candidates {
            queens.push(Square { column, row });
            if check_queens(n, &queens).is_err() {
                queens.pop();
            }
        }
        is_completed_if_possible(&given(n, &queens), seed);
    }

    #[test]
    fn a_part_of_a_random_placement_is_completed(
        n in 9..200_u32,
        count in 0..200_usize,
        stride in 0..200_usize,
        seed in any::<u64>(),
    ) {
        let whole = random_placement(n, seed).expect("it has one");
        let given = given(n, &some(&whole, count, stride));
        assert_completed(&given, complete_until(&given, seed, || false));
    }
}

#[test]
fn a_hundred_queens_on_a_board_of_ten_thousand_are_completed() {
    let by_chance = |seed| random_placement(10_000, seed).expect("it has one");
    let constructed = Construction::new(10_000).expect("it has a placement");
    let images = checked(constructed.columns().collect()).orbit();
    for whole in images.into_iter().chain((0..4).map(by_chance)) {
        let given = given(10_000, &some(&whole, 100, 7_919));
        assert_completed(&given, complete_until(&given, 0, || false));
    }
}

#[test]
fn a_board_that_is_full_or_lacks_one_queen_is_completed() {
    let whole = random_placement(1_000, 5).expect("it has one");
    for count in [999, 1_000] {
        let given = given(1_000, &some(&whole, count, 7));
        assert_eq!(complete_until(&given, 0, || false), Completion::Found(whole.clone()));
    }
}

#[test]
fn the_smallest_boards() {
    for (n, seed) in [(0, 1), (1, 2)] {
        assert_completed(&given(n, &[]), complete_until(&given(n, &[]), seed, || false));
        let random = random_placement(n, seed).expect("it has one");
        assert_eq!(checked(random.columns().to_vec()), random);
    }
    for n in [2, 3] {
        assert_eq!(complete_until(&given(n, &[]), 0, || false), Completion::Impossible);
        assert_eq!(random_placement(n, 0), None);
    }
}

#[test]
fn a_row_that_is_attacked_everywhere_ends_the_search_at_once() {
    let n = 300;
    let mut queens: Vec<Square> = Vec::new();
    for square in (0..n).map(|column| Square { column, row: 0 }) {
        if queens.iter().any(|&queen| check_queens(n, &[queen, square]).is_err()) {
            continue;
        }
        let others = (1..n).flat_map(|row| (0..n).map(move |column| Square { column, row }));
        let mut attackers = others.filter(|&other| check_queens(n, &[other, square]).is_err());
        let stands = |&queen: &Square| check_queens(n, &[&queens[..], &[queen]].concat()).is_ok();
        let attacker = attackers.find(stands).expect("a square in its column at least");
        queens.push(attacker);
    }
    assert!(queens.iter().all(|queen| queen.row > 0));
    assert_eq!(complete_until(&given(n, &queens), 0, || false), Completion::Impossible);
}

#[test]
fn different_seeds_give_different_placements() {
    let [first, again, other] = [1, 1, 2].map(|seed| random_placement(500, seed));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn a_search_stops_on_request() {
    let given = given(100_000, &[]);
    assert_eq!(complete_until(&given, 0, || true), Completion::Undecided);
}

#[test]
fn blocked_squares_and_other_rules_are_completed_or_refused() {
    let mut completed = [0, 0];
    for n in 1..=11 {
        for rules in [Rules::Plain, Rules::Torus, Rules::Superqueens] {
            let squares = (0..n).flat_map(|row| (0..n).map(move |column| Square { column, row }));
            let squares: Vec<Square> = squares.collect();
            let corner = [&[][..], &squares[..1]];
            // Every third square is blocked, or the lower half of the board without its left third.
            let third: Vec<Square> = squares.iter().copied().step_by(3).skip(1).collect();
            let half: Vec<Square> =
                squares.iter().copied().filter(|it| it.row * 2 < n && it.column > n / 3).collect();
            for (given, blocked) in
                corner.into_iter().flat_map(|given| [(given, &third), (given, &half)])
            {
                let blocked: Vec<Square> =
                    blocked.iter().copied().filter(|square| !given.contains(square)).collect();
                let start = start(n, given, rules, &blocked).expect("one queen at most");
                completed[usize::from(is_completed_if_possible(&start, 1))] += 1;
            }
        }
    }
    assert!(completed.iter().all(|&boards| boards > 20), "{completed:?}");
}

#[test]
fn superqueens_are_placed_on_boards_of_hundreds_of_rows() {
    for (n, rules) in [
        (10, Rules::Superqueens),
        (25, Rules::Torus),
        (70, Rules::Superqueens),
        (300, Rules::Superqueens),
    ] {
        let blocked = [Square { column: 0, row: 0 }, Square { column: 3, row: 2 }];
        let start = start(n, &[], rules, &blocked).expect("nothing is given");
        assert_completed(&start, complete_until(&start, 3, || false));
    }
}

#[test]
fn a_random_opening_has_more_conflicts_and_is_repaired() {
    let start = Start::new(500, &[]).expect("nothing is given");
    let conflicts = [Opening::Few, Opening::Random].map(|opening| {
        let (completion, effort) = complete_within(&start, opening, 7, || false);
        assert_completed(&start, completion);
        let Effort { conflicts, attempts, .. } = effort;
        assert!(attempts >= 1);
        conflicts
    });
    assert!(conflicts[1] > 10 * conflicts[0].max(1), "{conflicts:?}");
}

#[test]
fn an_invalid_start_is_refused_with_the_reason() {
    let squares = |text| parse_squares(text).expect("they are squares");
    let refused = |given, rules, blocked| {
        let start = start(7, &squares(given), rules, &squares(blocked));
        start.expect_err("it cannot stand").to_string()
    };
    assert_eq!(refused("a1", Rules::Plain, "c3,a1"), "the queen on a1 stands on a blocked square");
    assert_eq!(refused("a1", Rules::Plain, "h1"), "h1 is off the board of size 7");
    assert_eq!(refused("i1", Rules::Plain, ""), "i1 is off the board of size 7");
    assert!(refused("a1,a1", Rules::Plain, "").contains("a1"));
    assert_eq!(refused("a1,d4", Rules::Plain, ""), "the queens on a1 and d4 attack each other");
    assert!(refused("a2,g1", Rules::Torus, "").contains("attack each other"));
    assert!(refused("a1,b3", Rules::Superqueens, "").contains("a1 and b3 attack each other"));
}
