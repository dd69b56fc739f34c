//! Tests the work of the search with forced lines.

use board::squares::parse_squares;
use literature::classical;
use literature::forced::{Looking, count, count_with, first_branch};

const ALL: [Looking; 2] = [Looking::Columns, Looking::ColumnsAndRows];

#[test]
fn eight_queens_take_the_tries_that_are_reported() {
    let found = ALL.map(|looking| count(8, looking));
    assert_eq!(found.map(|found| found.tries), [672, 592]);
    assert_eq!(found.map(|found| found.forced), [762, 622]);
    assert_eq!(found.map(|found| found.dead), [324, 258]);
}

#[test]
fn more_examined_lines_take_fewer_tries() {
    for n in 4..=10 {
        let [columns, both] = ALL.map(|looking| count(n, looking).tries);
        let nothing = classical::masks::count(n).nodes;
        assert!(columns < nothing && both <= columns, "N = {n}: {nothing}, {columns}, {both}");
    }
}

#[test]
fn small_boards_are_settled_by_looking() {
    // On the board of size 3, any first queen leaves a dead line, and nothing else is tried.
    let three = count(3, Looking::Columns);
    assert_eq!((three.total, three.tries, three.dead), (0, 3, 3));
    let one = count(1, Looking::Columns);
    assert_eq!((one.total, one.tries, one.forced), (1, 0, 1));
}

#[test]
fn given_queens_leave_their_completions() {
    let given = parse_squares("a1,b5").expect("they are squares");
    let listed = solve::solutions(8)
        .filter(|it| given.iter().all(|queen| it.squares().any(|square| square == *queen)));
    let all = listed.count() as u64;
    assert!(all > 0);
    assert_eq!(ALL.map(|looking| count_with(8, &given, looking).total), [all, all]);
}

#[test]
fn the_first_branch_has_the_queens_that_the_search_places_first() {
    let branch = first_branch(8, Looking::ColumnsAndRows);
    let squares: Vec<String> = branch.iter().map(|(square, _)| square.to_string()).collect();
    assert_eq!(squares, ["a1", "b3", "c5", "f4", "h7"]);
    assert_eq!(branch.iter().map(|it| it.1).collect::<Vec<_>>(), [false, false, false, true, true]);
    // All queens of the only branch of size 1 are forced, and a whole placement ends it.
    assert_eq!(first_branch(1, Looking::Columns), [("a1".parse().expect("a square"), true)]);
}
