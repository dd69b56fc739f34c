//! Compares the tasks of each method with symmetries, closed forms and other enumerations, and
//! ranges of every plan with each other.

mod boards;
mod colours;
mod first_rows;
mod given;
mod rows;

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use queens_board::squares::parse_squares;
use queens_board::{Given, Method, PlanIndex, Problem, Task};

fn plan(n: u32, method: Method) -> PlanIndex {
    PlanIndex::new(Problem::Total { n }, method)
        .unwrap_or_else(|error| panic!("N = {n} by {method}: {error}"))
}

fn filled(plan: &PlanIndex, range: Range<u64>) -> Vec<Task> {
    plan.tasks(range).expect("the plan has the range")
}

fn completions(n: u32, squares: &str) -> Problem {
    let queens = parse_squares(squares).expect("they are squares");
    Problem::Completions(Given::new(n, &queens).expect("they can stand so"))
}

fn small_plans() -> impl Strategy<Value = PlanIndex> {
    let rows =
        (0..=11_u32, 0..=11_u32).prop_map(|(n, rows)| plan(n, Method::Rows { rows: rows.min(n) }));
    let colours = (4..=14_u32).prop_map(|n| plan(n, Method::Colours));
    prop_oneof![rows, colours]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_range_is_the_slice_of_the_whole_walk(
        plan in small_plans(),
        a in any::<u64>(),
        b in any::<u64>(),
    ) {
        let (a, b) = (a % (plan.len() + 1), b % (plan.len() + 1));
        let (start, end) = (a.min(b), a.max(b));
        let whole = filled(&plan, 0..plan.len());
        let part = filled(&plan, start..end);
        prop_assert_eq!(&part, &whole[start as usize..end as usize]);
    }
}

#[test]
fn on_a_large_board_neighbouring_ranges_join() {
    let rows = [(19, 6), (24, 6), (27, 5), (27, 6), (32, 4)];
    let rows = rows.map(|(n, rows)| plan(n, Method::Rows { rows }));
    let colours = [19, 24, 29, 32].map(|n| plan(n, Method::Colours));
    let plans = [&rows[..], &colours].concat();
    let ranges = (0..plans.len(), any::<u64>(), vec(0..3000_u64, 1..6));
    proptest!(|((number, at, lengths) in ranges)| {
        let plan = &plans[number];
        let first = at % plan.len();
        let mut joined = Vec::new();
        let mut start = first;
        for length in lengths {
            let end = plan.len().min(start + length);
            joined.extend(filled(plan, start..end));
            start = end;
        }
        let whole = filled(plan, first..start);
        prop_assert_eq!(whole.len() as u64, start - first);
        prop_assert_eq!(joined, whole);
    });
}

#[test]
fn refusals_name_the_thing_the_limit_and_the_way_out() {
    let total = |n| Problem::Total { n };
    let rows = |rows| Method::Rows { rows };
    let superqueens = Problem::Superqueens { n: u32::MAX };
    for (problem, method, end) in [
        (total(33), rows(4), "a board of size 33: give a size of at most 32"),
        (superqueens, rows(2), "a board of size 4294967295: give a size of at most 32"),
        (total(3), rows(5), "total N=3 cannot be cut by rows M=5: place at most 3 rows"),
        (
            total(32),
            rows(32),
            "total N=32: the first 32 rows can be filled in too many ways: place at most 6 rows",
        ),
        (total(20), Method::Prefixes { rows: 9 }, "too many ways: place at most 8 rows"),
        (total(3), Method::Colours, "it takes sizes from 4 to 32"),
        (total(33), Method::Colours, "a board of size 33: give a size of at most 32"),
        (
            Problem::Superqueens { n: 8 },
            Method::Colours,
            "it is counted by the method rows, M up to 5",
        ),
        (completions(3, ""), Method::Colours, "it is counted by the method rows, M up to 3"),
        (completions(33, "a1"), Method::Colours, "it is counted by the method rows, M up to 5"),
        (
            Problem::Toroidal { n: 11 },
            Method::Colours,
            "toroidal N=11 cannot be cut by colours: it is counted by the method rows, M up to 5",
        ),
        (
            completions(4, "b1,d2"),
            rows(3),
            "completions N=4 (2 given) cannot be cut by rows M=3: it is counted by the method rows, \
             M up to 2",
        ),
        (completions(64, ""), rows(5), "rows can be filled in too many ways: place at most 2 rows"),
    ] {
        let refused = PlanIndex::new(problem, method).expect_err("it is refused").to_string();
        assert!(refused.ends_with(end), "{problem} by {method}: {refused}");
    }
}
