//! Tests the work of the search with forced lines.

use literature::classical;
use literature::forced::{Looking, count};

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
