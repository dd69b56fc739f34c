//! Compares lists of placements with known counts and the definition.

use std::collections::BTreeSet;
use std::task::Poll;

use board::squares::{Square, check_queens, parse_squares};
use board::{Given, Problem};
use proptest::prelude::*;
use queens_solve::{
    Placement, Rules, Solutions, Start, attack, complete, first_rows, random_placement, solutions,
    ways,
};

fn start(n: u32, given: &[Square]) -> Start {
    Start::new(n, given).expect("they do not attack each other")
}

fn list(n: u32, given: &[Square]) -> Vec<Placement> {
    solutions(start(n, given)).collect()
}

fn list_fundamental(n: u32, given: &[Square]) -> Vec<Placement> {
    Solutions::fundamental(start(n, given)).collect()
}

/// Whether it is a placement, by an independent check, and is read as it is written.
fn is_one(placement: &Placement) -> bool {
    let checked = Placement::new(placement.columns().to_vec()).ok();
    [checked, placement.to_string().parse().ok()].iter().all(|it| it.as_ref() == Some(placement))
}

#[test]
fn every_problem_is_listed_in_order_with_its_known_number() {
    for problem in (1..=13).flat_map(Problem::all) {
        let n = problem.n();
        let (known, rules) = match problem {
            Problem::Fundamental { .. } => (testkit::vectors::fundamental(n), Rules::Plain),
            Problem::Toroidal { .. } => (testkit::vectors::toroidal(n), Rules::Torus),
            Problem::Superqueens { .. } if n < 10 => (u128::from(n == 1), Rules::Superqueens),
            Problem::Superqueens { .. } => (testkit::vectors::superqueens(n), Rules::Superqueens),
            _ if n > 11 => continue,
            _ => (testkit::vectors::total(n), Rules::Plain),
        };
        let placements: Vec<Placement> = solutions(problem).collect();
        assert_eq!(placements.len() as u128, known, "{problem}");
        assert!(placements.is_sorted_by(|a, b| a < b), "{problem}");
        for placement in &placements {
            let queens: Vec<Square> = placement.squares().collect();
            assert!(placement.n() == n && is_one(placement));
            assert_eq!(attack(n, &queens, rules), None);
        }
        if !matches!(problem, Problem::Fundamental { .. }) {
            let start = Start::with_rules(n, rules, &[]).expect("nothing is given");
            let orbits = Solutions::fundamental(start);
            let images = orbits.map(|placement| placement.orbit().len()).sum::<usize>();
            assert_eq!(images as u128, known, "{problem}");
        }
    }
    let given = Given::new(8, &parse_squares("a1").expect("a square")).expect("it may stand");
    assert_eq!([solutions(Problem::Completions(given)).count(), solutions(0).count()], [4, 1]);
}

#[test]
fn a_search_that_pauses_after_each_step_lists_the_same() {
    // Only eight of 66 queens are free, so the list ends.
    let placement = random_placement(66, 1).expect("there is one");
    let many = start(66, &placement.squares().skip(8).collect::<Vec<_>>());
    let corner = start(8, &[Square::new(0, 0)]);
    let lists = [
        solutions(8),
        solutions(many),
        Solutions::fundamental(1),
        Solutions::fundamental(8),
        Solutions::fundamental(corner),
    ];
    for whole in lists {
        let (mut paused, mut found, mut pauses) = (whole.clone(), Vec::new(), 0);
        loop {
            match paused.next_within(1) {
                Poll::Ready(Some(placement)) => found.push(placement),
                Poll::Ready(None) => break,
                Poll::Pending => pauses += 1,
            }
            assert!(pauses < 100_000, "it goes on where it paused");
        }
        assert!(pauses > found.len() || found[0].n() == 1, "{pauses} pauses");
        assert!(paused.next().is_none());
        assert_eq!(found, whole.collect::<Vec<_>>());
    }
}

/// All ways to place queens in the first `rows` rows, found square by square by the rules alone.
fn by_the_rules(
    n: u32,
    rows: u32,
    given: &[Square],
    rules: Rules,
    blocked: &[Square],
) -> Vec<Vec<Square>> {
    (0..rows).fold(vec![vec![]], |all, row| {
        let squares = (0..n).map(|column| Square { column, row });
        let may = |square: &Square| {
            let stands = given.iter().find(|queen| queen.row == row);
            !blocked.contains(square) && stands.is_none_or(|queen| queen == square)
        };
        let free: Vec<Square> = squares.filter(may).collect();
        let next = all
            .iter()
            .flat_map(|queens| free.iter().map(|&square| [queens.as_slice(), &[square]].concat()));
        let others: Vec<Square> = given.iter().copied().filter(|queen| queen.row > row).collect();
        let stands = |queens: &Vec<Square>| {
            attack(n, &[queens.as_slice(), &others].concat(), rules).is_none()
        };
        next.filter(stands).collect()
    })
}

/// Compares lists and numbers with the rules. Returns the number, and `None` if the squares cannot
/// stand so.
fn follow_the_rules(n: u32, given: &[Square], rules: Rules, blocked: &[Square]) -> Option<u64> {
    let start =
        Start::with_rules(n, rules, given).and_then(|start| start.blocking(blocked)).ok()?;
    let expected = by_the_rules(n, n, given, rules, blocked);
    let listed: Vec<Placement> = solutions(start.clone()).collect();
    let squares = listed.iter().map(|placement| placement.squares().collect::<Vec<_>>());
    assert_eq!(squares.collect::<Vec<_>>(), expected, "{n} {given:?} {blocked:?} {rules:?}");
    assert!(listed.iter().all(|placement| start.admits(placement)));
    let mut counted = 0;
    ways(&start, n, |more| counted += more);
    assert_eq!([counted, solutions(start).count() as u64], [expected.len() as u64; 2]);
    Some(counted)
}

#[test]
fn given_and_blocked_squares_follow_the_rules() {
    let rules = [Rules::Plain, Rules::Torus, Rules::Superqueens];
    let boards = [
        (5, "a1", "b3,e5"),
        (7, "", "a1,b2,c3,d4,e5,f6,g7"),
        (7, "c1", "a2"),
        (7, "b4,d3", "g1"),
        (10, "c1", "a4,b4,c4,d4"),
        (11, "e6", ""),
    ];
    let mut found = 0;
    for (n, given, blocked) in boards {
        let [given, blocked] = [given, blocked].map(|text| parse_squares(text).expect("squares"));
        for rules in rules {
            found += follow_the_rules(n, &given, rules, &blocked).unwrap_or_default();
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
fn boards_of_fewer_rows_follow_the_rules() {
    let corner = parse_squares("a1").expect("a square");
    for n in 0..=7 {
        for rows in 0..=n {
            for rules in [Rules::Plain, Rules::Superqueens] {
                for blocked in [&[][..], &corner[..corner.len().min(n as usize)]] {
                    let start = Start::with_rules(n, rules, &[]).expect("nothing is given");
                    let start = start.blocking(blocked).expect("it is on the board");
                    let mut counted = 0;
                    ways(&start, rows, |more| counted += more);
                    let expected = by_the_rules(n, rows, &[], rules, blocked).len();
                    assert_eq!(counted, expected as u64, "{rows} x {n}, {rules:?}, {blocked:?}");
                }
            }
        }
        ways(&Start::new(n, &[]).expect("nothing is given"), n + 1, |more| assert_eq!(more, 0));
    }
}

#[test]
fn the_first_rows_are_as_many_as_the_polynomials_say() {
    for (n, rows) in [(8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (11, 5), (64, 2)] {
        let found: Vec<Vec<u32>> = first_rows(n, rows).collect();
        assert_eq!(
            Some(found.len() as u128),
            testkit::vectors::prefixes(n, rows),
            "N = {n}, M = {rows}"
        );
        assert!(found.is_sorted_by(|a, b| a < b), "N = {n}, M = {rows}");
        for columns in found {
            let queens = (0..).zip(columns).map(|(row, column)| Square { column, row });
            assert!(check_queens(n, &queens.collect::<Vec<_>>()).is_ok());
        }
    }
}

/// All but the last ten rows of a placement are given, so that the list ends.
#[test]
fn boards_beyond_a_mask_are_listed_too() {
    for n in [64, 65, 70] {
        // The queens are a knight's move apart. N mod 6 is 4, 5 and 4.
        let column = |row| if row < n / 2 { 2 * row + 1 } else { 2 * (row - n / 2) };
        let knights = Placement::new((0..n).map(column).collect()).expect("it is one");
        let given: Vec<Square> = knights.squares().take(n as usize - 10).collect();
        let found = list(n, &given);
        assert!(found.contains(&knights), "N = {n}");
        assert!(found.iter().all(is_one), "N = {n}");
    }
}

#[test]
fn an_iterator_is_lazy_and_fused_and_can_skip() {
    // A list of all placements of 20 queens would take hours.
    assert_eq!(solutions(20).take(100).count(), 100);
    for n in [0, 1, 2, 3, 6] {
        for mut listed in [solutions(n), Solutions::fundamental(n)] {
            let all: Vec<Placement> = listed.clone().collect();
            assert_eq!(listed.clone().count(), all.len(), "N = {n}");
            assert_eq!(listed.nth(all.len()), None, "N = {n}");
            assert_eq!([listed.next(), listed.next()], [None, None], "N = {n}");
        }
    }
    let all = list(8, &[]);
    let mut listed = solutions(8);
    assert_eq!((listed.nth(4), listed.nth(86)), (Some(all[4].clone()), Some(all[91].clone())));
    assert_eq!(listed.next(), None);
}

proptest! {
    #[test]
    fn random_given_queens_are_completed_as_the_rules_say(
        n in 4_u32..=7,
        rules in prop::sample::select(vec![Rules::Plain, Rules::Torus, Rules::Superqueens]),
        squares in prop::collection::vec((0_u32..7, 0_u32..7), 0..3),
        blocked in prop::collection::vec((0_u32..7, 0_u32..7), 0..3),
    ) {
        let on_board = |squares: Vec<(u32, u32)>| -> Vec<Square> {
            squares.into_iter().map(|(column, row)| Square::new(column % n, row % n)).collect()
        };
        let (given, blocked) = (on_board(squares), on_board(blocked));
        prop_assume!(follow_the_rules(n, &given, rules, &blocked).is_some());
    }

    #[test]
    fn given_queens_pick_from_all(
        n in 4_u32..=8,
        squares in prop::collection::vec((0_u32..8, 0_u32..8), 1..3),
    ) {
        let square = |(column, row)| Square { column: column % n, row: row % n };
        let given: Vec<Square> = squares.into_iter().map(square).collect();
        prop_assume!(check_queens(n, &given).is_ok());
        let has = |placement: &Placement| {
            given.iter().all(|queen| placement.squares().any(|square| square == *queen))
        };
        let wanted: Vec<Placement> = list(n, &[]).into_iter().filter(has).collect();
        prop_assert_eq!(&list(n, &given), &wanted);

        let orbits: BTreeSet<Placement> = wanted.iter().map(Placement::canonical).collect();
        let picked = list_fundamental(n, &given);
        prop_assert!(picked.iter().all(has));
        prop_assert_eq!(picked.len(), orbits.len());
        let picked: BTreeSet<Placement> = picked.iter().map(Placement::canonical).collect();
        prop_assert_eq!(picked, orbits);
    }
}

#[test]
fn a_torus_that_has_no_placement_is_not_searched() {
    for n in [30, 100] {
        let given = [Square { column: 0, row: 0 }];
        let start = Start::with_rules(n, Rules::Torus, &given).expect("one queen attacks none");
        assert_eq!(solutions(start.clone()).next(), None);
        assert_eq!(complete(&start), None);
        ways(&start, n, |more| panic!("{more} ways"));
    }
}
