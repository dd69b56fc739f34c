//! Tests the promises of the front page against known counts, by the names of this crate alone.

use queens::{
    Placement, Problem, Rules, Solutions, Square, Start, attack, complete, count, is_placement,
    solutions, solve,
};

#[test]
fn every_function_agrees_with_the_known_counts() {
    for n in 4..=11 {
        assert_eq!(count(n), Ok(testkit::vectors::total(n)), "N = {n}");
        assert_eq!(solutions(n).count() as u128, testkit::vectors::total(n), "N = {n}");
        assert_eq!(
            Solutions::fundamental(n).count() as u128,
            testkit::vectors::fundamental(n),
            "N = {n}"
        );
        assert_eq!(count(Problem::Toroidal { n }), Ok(testkit::vectors::toroidal(n)), "N = {n}");
        let found = solve(n).expect("there is one");
        assert!(solutions(n).any(|placement| placement == found), "N = {n}");
    }
}

#[test]
fn given_queens_are_counted_listed_and_completed_alike() {
    let (n, given) = (9, [Square::new(0, 0), Square::new(2, 1)]);
    let counted = count(Problem::completions(n, &given).expect("they may stand"));
    let start = Start::new(n, &given).expect("they may stand");
    let listed: Vec<Placement> = solutions(start.clone()).collect();
    assert_eq!(counted, Ok(listed.len() as u128));
    assert_eq!(complete(&start).is_some(), !listed.is_empty());
    assert!(listed.iter().all(|it| is_placement(n, it.columns().iter().copied())));
    assert!(listed.iter().all(|it| given.iter().all(|queen| it.squares().any(|at| at == *queen))));
    assert_eq!(attack(n, &given, Rules::Superqueens), Some(given));
}

/// A binding to another language keeps an iterator in an object that threads share.
#[test]
fn iterators_and_placements_can_be_sent_and_kept() {
    fn is_kept<T: Send + Sync + Clone + 'static>(_: &T) {}
    is_kept(&solutions(8));
    is_kept(&solve(8).expect("there is one"));
    is_kept(&count(33).expect_err("it is too large"));
}
