//! Compares the `rows` plan with closed forms, with another enumeration, and with ranges of itself.

use proptest::prelude::*;
use queens_board::rows::{MAX_TASKS, suggested_rows};
use queens_board::{Method, PlanError, PlanIndex, Prefix, Problem, Task};

fn cut(n: u32, rows: u32) -> Result<PlanIndex, PlanError> {
    PlanIndex::new(Problem::Total { n }, Method::Rows { rows })
}

fn plan(n: u32, rows: u32) -> PlanIndex {
    cut(n, rows).unwrap_or_else(|error| panic!("N = {n}, M = {rows}: {error}"))
}

fn filled(plan: &PlanIndex, range: std::ops::Range<u64>) -> Vec<Task> {
    plan.tasks(range).expect("the plan has the range")
}

fn all(plan: &PlanIndex) -> Vec<(Prefix, u8)> {
    let tasks = filled(plan, 0..plan.len());
    tasks.iter().map(|task| (task.record, task.weight)).collect()
}

/// Every placement of the first `rows` rows as the queens' columns, in lexicographic order. All
/// lists of columns are tried, and each pair of queens is compared.
fn placements(n: u32, rows: u32) -> Vec<Vec<u32>> {
    let mut lists = vec![vec![]];
    for row in 0..rows {
        lists = lists
            .into_iter()
            .flat_map(|list: Vec<u32>| {
                (0..n).map(move |column| [list.as_slice(), &[column]].concat())
            })
            .filter(|list| {
                let last = list[row as usize];
                (0..row).all(|r| {
                    let apart = list[r as usize].abs_diff(last);
                    apart != 0 && apart != row - r
                })
            })
            .collect();
    }
    lists
}

/// The masks that the row below these queens sees, one queen at a time.
fn seen_from_below(n: u32, columns: &[u32]) -> Prefix {
    let mut prefix = Prefix::EMPTY;
    for (row, &column) in (0u32..).zip(columns) {
        let distance = columns.len() as u32 - row;
        prefix.down |= 1 << column;
        if column + distance < n {
            prefix.left |= 1 << (column + distance);
        }
        if column >= distance {
            prefix.right |= 1 << (column - distance);
        }
    }
    prefix
}

#[test]
fn prefixes_are_all_placements_of_the_first_rows_in_order() {
    for n in 0..=8 {
        for rows in 0..=n {
            let method = Method::Prefixes { rows };
            let index =
                PlanIndex::new(Problem::Fundamental { n }, method).expect("there are such rows");
            // The plan is read in two parts, which must join.
            let middle = index.len() / 3;
            let found = [filled(&index, 0..middle), filled(&index, middle..index.len())].concat();
            let every = placements(n, rows);
            let record = |columns: &Vec<u32>| seen_from_below(n, columns);
            let expected = every.iter().map(|columns| Task { record: record(columns), weight: 1 });
            assert_eq!(found, expected.collect::<Vec<_>>(), "N = {n}, M = {rows}");
        }
    }
}

/// Calls `found` with the columns of every placement of the next rows, in lexicographic order.
fn each_placement(n: u32, rows: u32, columns: &mut Vec<u32>, found: &mut impl FnMut(&[u32])) {
    if rows == 0 {
        return found(columns);
    }
    for column in 0..n {
        let mut distances = (1..).zip(columns.iter().rev());
        if distances.all(|(rows, &queen)| ![0, rows].contains(&queen.abs_diff(column))) {
            columns.push(column);
            each_placement(n, rows - 1, columns, found);
            columns.pop();
        }
    }
}

#[test]
fn prefixes_below_the_index_are_all_placements_in_order() {
    // Tasks are one, two and three rows below the deepest prefixes that an index can hold.
    for (n, rows) in [(14, 6), (16, 6), (13, 8)] {
        let method = Method::Prefixes { rows };
        let index = PlanIndex::new(Problem::Total { n }, method).expect("there are such rows");
        let mut tasks = Vec::new();
        let (mut ordinal, mut start) = (0, 0);
        each_placement(n, rows, &mut Vec::new(), &mut |columns| {
            if ordinal == start + tasks.len() as u64 {
                start = ordinal;
                // The ranges start anywhere between two prefixes of the index.
                tasks = filled(&index, start..index.len().min(start + 977));
            }
            let expected = Task { record: seen_from_below(n, columns), weight: 1 };
            assert_eq!(tasks[(ordinal - start) as usize], expected, "{method} of N = {n}");
            ordinal += 1;
        });
        assert_eq!(ordinal, index.len(), "{method} of N = {n}");
    }
}

#[test]
fn tasks_are_the_placements_not_after_their_mirror_image() {
    for n in 0..=8 {
        for rows in 0..=n {
            let mut expected = vec![];
            for columns in placements(n, rows) {
                let mirrored: Vec<u32> = columns.iter().map(|c| n - 1 - c).collect();
                if columns <= mirrored {
                    let weight = if columns == mirrored { 1 } else { 2 };
                    expected.push((seen_from_below(n, &columns), weight));
                }
            }
            assert_eq!(all(&plan(n, rows)), expected, "N = {n}, M = {rows}");
        }
    }
}

#[test]
fn tasks_and_their_mirror_images_are_all_placements() {
    for n in 1..=8 {
        let mirror = |mask: u32| mask.reverse_bits() >> (32 - n);
        for rows in 0..=n {
            let mut found = vec![];
            for (task, weight) in all(&plan(n, rows)) {
                found.push(task);
                if weight == 2 {
                    found.push(Prefix {
                        left: mirror(task.right),
                        down: mirror(task.down),
                        right: mirror(task.left),
                    });
                }
            }
            let mut expected: Vec<Prefix> =
                placements(n, rows).iter().map(|columns| seen_from_below(n, columns)).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "N = {n}, M = {rows}");
        }
    }
}

#[test]
fn weights_sum_to_the_closed_forms() {
    let mut checked = 0;
    for n in 0..=18 {
        for rows in 0..=n.min(7) {
            let Some(expected) = vectors::prefixes(n, rows) else {
                continue;
            };
            let plan = plan(n, rows);
            let mut weights = 0;
            for start in (0..plan.len()).step_by(1 << 16) {
                let tasks = filled(&plan, start..plan.len().min(start + (1 << 16)));
                weights += tasks.iter().map(|task| u128::from(task.weight)).sum::<u128>();
            }
            assert_eq!(weights, expected, "N = {n}, M = {rows}");
            checked += 1;
        }
    }
    assert!(checked > 70, "only {checked} closed forms were valid");
}

#[test]
fn a_plan_is_refused_where_closed_forms_pass_the_limit() {
    for n in 23..=32 {
        let mut both_mirror_images = 0;
        for rows in 0..=7 {
            let prefixes = vectors::prefixes(n, rows).expect("closed forms are valid from N = 23");
            both_mirror_images += prefixes;
            match cut(n, rows) {
                Ok(plan) => {
                    assert!(both_mirror_images / 2 <= u128::from(MAX_TASKS));
                    if rows >= 2 {
                        assert_eq!(u128::from(plan.len()) * 2, prefixes, "N = {n}, M = {rows}");
                    }
                }
                Err(error) => {
                    assert!(both_mirror_images / 2 > u128::from(MAX_TASKS), "{error}");
                }
            }
        }
    }
}

#[test]
fn rows_placed_in_full_are_half_the_solutions() {
    for n in 2..=12 {
        let weights = u128::from(plan(n, n).len()) * 2;
        assert_eq!(weights, vectors::total(n), "N = {n}");
    }
}

#[test]
fn the_suggested_rows_make_a_plan_of_the_promised_size() {
    for n in 0..=32 {
        let rows = suggested_rows(n);
        assert!(rows <= n);
        let promised = match n {
            14..=17 => 500..=2_000,
            18..=21 => 100_000..=500_000,
            22..=25 => 5_000_000..=30_000_000,
            26..=32 => 20_000_000..=130_000_000,
            _ => 0..=4_000,
        };
        let tasks = plan(n, rows).len();
        assert!(promised.contains(&tasks), "N = {n}: {tasks} tasks");
    }
}

#[test]
fn refusals_name_the_thing_the_limit_and_the_way_out() {
    let message = |n, rows| cut(n, rows).expect_err("is refused").to_string();
    assert_eq!(message(33, 4), "a board of size 33: give a size of at most 32");
    assert_eq!(message(3, 5), "total N=3 cannot be cut by rows M=5: place at most 3 rows");
    assert_eq!(
        message(32, 32),
        "total N=32: the first 32 rows can be filled in too many ways: place 6 rows"
    );
    let problem = Problem::Total { n: 27 };
    assert_eq!(cut(27, 9).expect_err("is refused"), PlanError::TooManyTasks { problem, rows: 9 });
}

#[test]
fn a_board_without_squares_has_one_task() {
    assert_eq!(all(&plan(0, 0)), [(Prefix::EMPTY, 1)]);
}

#[test]
fn rows_that_cannot_be_placed_have_no_task() {
    assert_eq!((plan(2, 2).len(), plan(3, 3).len()), (0, 0));
}

proptest! {
    #[test]
    fn any_range_is_the_slice_of_the_whole_walk(
        n in 0..=11u32,
        rows in 0..=11u32,
        a in any::<u64>(),
        b in any::<u64>(),
    ) {
        let plan = plan(n, rows.min(n));
        let (a, b) = (a % (plan.len() + 1), b % (plan.len() + 1));
        let (start, end) = (a.min(b), a.max(b));
        let whole = filled(&plan, 0..plan.len());
        let part = filled(&plan, start..end);
        prop_assert_eq!(&part, &whole[start as usize..end as usize]);
    }

    #[test]
    fn on_a_large_board_neighbouring_ranges_join(
        (n, rows) in prop::sample::select(vec![(19, 6), (24, 6), (27, 5), (27, 6), (32, 4)]),
        at in any::<u64>(),
        lengths in prop::collection::vec(0..700u64, 1..6),
    ) {
        let plan = plan(n, rows);
        let first = at % plan.len();
        let mut joined = Vec::new();
        let mut start = first;
        for length in lengths {
            let end = plan.len().min(start + length);
            joined.extend(filled(&plan, start..end));
            start = end;
        }
        let whole = filled(&plan, first..start);
        prop_assert_eq!(whole.len() as u64, start - first);
        prop_assert_eq!(joined, whole);
    }
}
