//! Compares counts by symmetry that were found in two ways with each other and with known counts.

use board::{Census, Problem};
use count::Answering;
use count::rotations::{HALF_TURN_MAX, QUARTER_TURN_MAX, fixed_by_rules, half_turn, quarter_turn};
use queens_solve::{Placement, Solutions, Symmetry, SymmetryClass, census, solutions};

/// The largest board that a test searches within moments.
const SMALL: u32 = 14;

#[test]
fn the_known_totals_and_rotations_make_the_known_orbits_as_the_direct_search_does() {
    for n in 1..=27 {
        let (half, quarter) =
            (testkit::vectors::centrosymmetric(n), testkit::vectors::quarter_turn(n));
        let known =
            Census::from_counts(n, testkit::vectors::total(n), half, quarter).expect("it is known");
        assert_eq!(known.fundamental, testkit::vectors::fundamental(n), "N = {n}");
        assert!(n > SMALL || census(n) == known, "N = {n}");
    }
}

#[test]
fn rotations_fix_the_known_numbers() {
    for n in 1..=20 {
        assert_eq!(half_turn(n), Some(testkit::vectors::centrosymmetric(n)), "N = {n}");
    }
    for n in 1..=33 {
        assert_eq!(quarter_turn(n), Some(testkit::vectors::quarter_turn(n)), "N = {n}");
    }
    assert_eq!([half_turn(0), quarter_turn(0)], [Some(1); 2]);
    assert_eq!(quarter_turn(QUARTER_TURN_MAX - 2), Some(0));
    assert_eq!([half_turn(HALF_TURN_MAX + 1), quarter_turn(QUARTER_TURN_MAX + 1)], [None; 2]);
}

/// The direct search is compared with another way: all placements, and the images of each.
#[test]
fn the_direct_search_visits_the_least_of_each_orbit_in_order() {
    for n in 0..=10 {
        let seen: Vec<Placement> = Solutions::fundamental(n).collect();
        for placement in &seen {
            assert_eq!(Placement::new(placement.columns().to_vec()).as_ref(), Ok(placement));
            assert_eq!(placement.canonical(), *placement);
            let class = match placement.orbit().len() {
                8 => SymmetryClass::Asymmetric,
                4 => SymmetryClass::HalfTurn,
                _ => SymmetryClass::QuarterTurn,
            };
            assert_eq!(placement.symmetry_class(), class);
        }
        assert!(seen.is_sorted_by(|a, b| a < b), "N = {n}");
        let placements: usize = seen.iter().map(|placement| placement.orbit().len()).sum();
        assert_eq!(placements as u128, testkit::vectors::total(n), "N = {n}");
    }
}

#[test]
fn counts_of_orbits_agree_with_the_lists() {
    let [_, quarter_turn, half_turn, ..] = Symmetry::all();
    for n in 0..=11 {
        for problem in [Problem::Total { n }, Problem::Toroidal { n }, Problem::Superqueens { n }] {
            let (mut all, mut orbits, mut fixed) = (0, 0, (0, 0));
            for placement in solutions(problem) {
                all += 1;
                let fixes = |turn| u128::from(placement.image(turn) == placement);
                fixed.0 += fixes(half_turn);
                fixed.1 += fixes(quarter_turn);
                orbits += u128::from(placement.canonical() == placement);
            }
            assert_eq!(fixed_by_rules(&problem), Some(fixed), "{problem}");
            let answer = Answering::new(problem, true).expect("it is small").answer(all);
            assert_eq!(answer.expect("whole orbits").count(), orbits, "{problem}");
        }
    }
}
