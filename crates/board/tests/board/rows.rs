//! Compares the `rows` plan with closed forms and with another enumeration.

use queens_board::rows::{MAX_TASKS, suggested_rows};
use queens_board::{Method, PlanIndex, Prefix, Problem, Task};

use super::filled;

fn plan(n: u32, rows: u32) -> PlanIndex {
    super::plan(n, Method::Rows { rows })
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

/// Every placement of the first `rows` rows as the queens' columns, in lexicographic order.
fn placements(n: u32, rows: u32) -> Vec<Vec<u32>> {
    let mut lists = Vec::new();
    each_placement(n, rows, &mut Vec::new(), &mut |columns| lists.push(columns.to_vec()));
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
fn tasks_are_all_placements_of_the_first_rows_or_those_not_after_their_mirror_image() {
    for (n, rows) in (0..=8).flat_map(|n| (0..=n).map(move |rows| (n, rows))) {
        let every = placements(n, rows);
        let task = |columns: &[u32], weight| Task { record: seen_from_below(n, columns), weight };
        let all = every.iter().map(|columns| task(columns, 1)).collect();
        let of_pair = |columns: &Vec<u32>| {
            let mirrored: Vec<u32> = columns.iter().map(|column| n - 1 - column).collect();
            let weight = if *columns == mirrored { 1 } else { 2 };
            (*columns <= mirrored).then(|| task(columns, weight))
        };
        let pairs: Vec<Task> = every.iter().filter_map(of_pair).collect();
        for (method, expected) in [(Method::Prefixes { rows }, all), (Method::Rows { rows }, pairs)]
        {
            let index = super::plan(n, method);
            // The plan is read in two parts, which must join.
            let middle = index.len() / 3;
            let found = [filled(&index, 0..middle), filled(&index, middle..index.len())].concat();
            assert_eq!(found, expected, "N = {n} by {method}");
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
fn weights_sum_to_the_closed_forms() {
    let mut checked = 0;
    for n in 0..=18 {
        for rows in 0..=n.min(7) {
            let Some(expected) = testkit::vectors::prefixes(n, rows) else {
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
            let prefixes =
                testkit::vectors::prefixes(n, rows).expect("closed forms are valid from N = 23");
            both_mirror_images += prefixes;
            match PlanIndex::new(Problem::Total { n }, Method::Rows { rows }) {
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
