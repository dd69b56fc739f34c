//! Lists of placements, against known counts and the definition.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use board::squares::{Square, check_queens, parse_squares};
use proptest::prelude::*;
use queens_solve::{Listing, Placement, Rules, Start, arrays, attack, first_rows, ways};

fn all(listing: &Listing) -> Vec<Placement> {
    let mut found = Vec::new();
    let end: ControlFlow<()> = listing.visit(|placement| {
        found.push(placement.clone());
        ControlFlow::Continue(())
    });
    assert!(end.is_continue());
    found
}

fn list(n: u32, given: &[Square]) -> Vec<Placement> {
    all(&Listing::new(n, given.to_vec()).expect("they do not attack each other"))
}

fn list_fundamental(n: u32, given: &[Square]) -> Vec<Placement> {
    let listing = Listing::new(n, given.to_vec()).expect("they do not attack each other");
    all(&listing.fundamental())
}

#[test]
fn as_many_as_are_known_in_order_and_each_is_one() {
    for n in 0..=10 {
        let placements = list(n, &[]);
        assert_eq!(placements.len() as u128, vectors::total(n), "N = {n}");
        assert!(placements.is_sorted_by(|a, b| a < b), "N = {n}");
        for placement in &placements {
            assert_eq!((placement.n(), placement.check()), (n, Ok(())));
        }
        if n > 0 {
            let fundamental = list_fundamental(n, &[]).len();
            assert_eq!(fundamental as u128, vectors::fundamental(n), "N = {n}");
        }
    }
}

#[test]
fn tori_and_superqueens_have_as_many_as_are_known_and_each_is_one() {
    for n in 1..=13 {
        for rules in [Rules::Torus, Rules::Superqueens] {
            let start = Start::by(n, &[], rules, &[]).expect("nothing is given");
            let listing = Listing::of(start).expect("it is small");
            let placements = all(&listing);
            let known = match rules {
                Rules::Torus => vectors::toroidal(n),
                _ if n < 10 => u128::from(n == 1),
                _ => vectors::superqueens(n),
            };
            assert_eq!(placements.len() as u128, known, "N = {n}, {rules:?}");
            assert!(placements.is_sorted_by(|a, b| a < b), "N = {n}, {rules:?}");
            for placement in &placements {
                let queens: Vec<Square> = placement.squares().collect();
                assert_eq!(attack(n, &queens, rules), None);
            }
            let orbits = all(&listing.fundamental());
            let images = orbits.iter().map(|placement| placement.orbit().len()).sum::<usize>();
            assert_eq!(images as u128, known, "N = {n}, {rules:?}");
        }
    }
    let large = Start::by(65, &[], Rules::Torus, &[]).expect("nothing is given");
    assert!(Listing::of(large).is_none());
}

/// All ways to place queens in the first `rows` rows, square by square, by the rules alone.
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

#[test]
fn what_is_given_and_blocked_is_as_the_rules_say() {
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
            let Ok(start) = Start::by(n, &given, rules, &blocked) else { continue };
            let expected = by_the_rules(n, n, &given, rules, &blocked);
            let listed = all(&Listing::of(start.clone()).expect("it is small"));
            let squares = listed.iter().map(|placement| placement.squares().collect::<Vec<_>>());
            assert_eq!(
                squares.collect::<Vec<_>>(),
                expected,
                "{n} {given:?} {blocked:?} {rules:?}"
            );
            assert!(listed.iter().all(|placement| start.admits(placement)));
            let mut counted = 0;
            ways(&start, n, |more| counted += more);
            assert_eq!(counted, expected.len() as u64);
            found += counted;
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
fn boards_of_fewer_rows_have_as_many_as_the_rules_say() {
    let corner = parse_squares("a1").expect("a square");
    for n in 0..=7 {
        for rows in 0..=n {
            for rules in [Rules::Plain, Rules::Superqueens] {
                for blocked in [&[][..], &corner[..corner.len().min(n as usize)]] {
                    let start = Start::by(n, &[], rules, blocked).expect("nothing is given");
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
fn the_first_rows_of_a_board_are_as_many_as_the_polynomials_say() {
    for (n, rows) in [(8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (11, 5), (64, 2)] {
        let mut found: Vec<Vec<u32>> = Vec::new();
        let _: ControlFlow<()> = first_rows(n, rows, |columns| {
            found.push(columns.to_vec());
            ControlFlow::Continue(())
        });
        assert_eq!(Some(found.len() as u128), vectors::prefixes(n, rows), "N = {n}, M = {rows}");
        assert!(found.is_sorted_by(|a, b| a < b), "N = {n}, M = {rows}");
        for columns in found {
            let queens = (0..).zip(columns).map(|(row, column)| Square { column, row });
            assert!(check_queens(n, &queens.collect::<Vec<_>>()).is_ok());
        }
    }
}

#[test]
fn one_of_each_orbit_makes_them_all() {
    for n in 0..=8 {
        let mut images = BTreeSet::new();
        for placement in list_fundamental(n, &[]) {
            for image in placement.orbit() {
                assert!(images.insert(image), "N = {n}: two of one orbit");
            }
        }
        assert!(images.into_iter().eq(list(n, &[])), "N = {n}");
    }
}

#[test]
fn control_arrays_find_the_same() {
    let given = parse_squares("b4 e2").expect("they are squares");
    for (n, given) in (0..=8).map(|n| (n, [].as_slice())).chain([(8, given.as_slice())]) {
        let wanted = list(n, given);
        let (mut recursive, mut iterative) = (Vec::new(), Vec::new());
        let _: ControlFlow<()> = arrays::recursive(n, given, |columns| {
            recursive.push(Placement::new(columns.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("the queens can be given");
        let _: ControlFlow<()> = arrays::iterative(n, given, |columns| {
            iterative.push(Placement::new(columns.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("the queens can be given");
        assert_eq!((&recursive, &iterative), (&wanted, &wanted), "N = {n}");
    }
}

/// A placement of 65 queens of which all but the last ten rows are given.
#[test]
fn boards_beyond_a_mask_are_listed_too() {
    for n in [64, 65, 70] {
        // Knights' moves; N mod 6 is 4, 5 and 4.
        let column = |row| if row < n / 2 { 2 * row + 1 } else { 2 * (row - n / 2) };
        let knights = Placement::new((0..n).map(column).collect());
        assert_eq!(knights.check(), Ok(()), "N = {n}");
        let given: Vec<Square> = knights.squares().take(n as usize - 10).collect();
        let found = list(n, &given);
        assert!(found.contains(&knights), "N = {n}");
        assert!(found.iter().all(|placement| placement.check().is_ok()), "N = {n}");
    }
}

#[test]
fn queens_that_cannot_be_given_are_refused() {
    for squares in ["a1 b2", "i1", "a1 a1"] {
        let given = parse_squares(squares).expect("they are squares");
        let visit = |_: &[u32]| ControlFlow::<()>::Continue(());
        assert!(arrays::recursive(8, &given, visit).is_err(), "{squares}");
        assert!(arrays::iterative(8, &given, visit).is_err(), "{squares}");
        assert!(Listing::new(8, given).is_err(), "{squares}");
    }
}

proptest! {
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
