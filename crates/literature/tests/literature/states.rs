//! Tests the algorithm over distinct states: the figures of each row, and its limit of memory.

use literature::states::{StatesCount, StatesError, count, count_plain};

const ENOUGH: u64 = 64 << 20;

fn counted(n: u32) -> StatesCount {
    count(n, ENOUGH).expect("it fits")
}

#[test]
fn each_row_reports_its_states_and_merges() {
    let rows = counted(8).rows;
    assert_eq!(rows.len(), 8);
    // Four of the eight first queens are mirror images of the others.
    assert_eq!((rows[0].states, rows[0].merged), (4, 4));
    // There are 42 ways to place two rows. Their mirror images make 21 pairs.
    assert_eq!(rows[1].states + rows[1].merged, 42 / 2);
    assert_eq!(rows[7].states, 1, "all columns are taken, so there is one state");
    for n in 6..=10 {
        let StatesCount { rows, .. } = counted(n);
        assert!(rows.iter().all(|row| row.states > 0 && row.bytes <= ENOUGH), "N = {n}: {rows:?}");
        assert!(rows.iter().map(|row| row.merged).sum::<u64>() > 0, "N = {n}");
    }
}

#[test]
fn plain_states_are_those_of_the_source() {
    let plain = |n| count_plain(n, ENOUGH).expect("it fits");
    for n in 0..=10 {
        assert_eq!(plain(n).total, testkit::vectors::total(n), "N = {n}");
    }
    let states: Vec<u64> = plain(8).rows.iter().map(|row| row.states).collect();
    assert_eq!(states, [8, 42, 140, 339, 538, 482, 224, 44]);
}

#[test]
fn too_little_memory_is_an_error_that_says_what_is_needed() {
    let needed = counted(10).rows.iter().map(|row| row.bytes).max().expect("there are rows");
    assert_eq!(count(10, needed), Ok(counted(10)), "exactly this memory is enough");

    let refused = count(10, needed - 1).expect_err("one byte less is not");
    let StatesError { n, row, needed: least, given } = refused;
    assert_eq!((n, least, given), (10, needed, needed - 1));
    assert!((1..=10).contains(&row));

    let said = count(32, ENOUGH).expect_err("nothing is enough").to_string();
    assert!(said.contains("of N = 32 need ") && said.contains("67108864 may be used"), "{said}");
    assert!(count(1, 0).is_err());
    assert_eq!(count(0, 0).expect("there is nothing to store").total, 1);
}
