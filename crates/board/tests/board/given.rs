//! Tests of the tasks of `colours` for boards with given queens.

use queens_board::{Given, MAX_N, Method, PlanIndex, Prefix, Problem, Task, full_mask};

use super::{completions, filled};

fn plan(problem: Problem) -> PlanIndex {
    PlanIndex::new(problem, Method::Colours).expect("it is cut so")
}

/// The splits in which every given queen stands, by trial.
fn splits(given: &Given) -> Vec<Task> {
    let n = given.n();
    let stands = |down: u32| {
        let mut queens = given.queens();
        queens.all(|queen| down >> queen.row & 1 == (queen.column + 1) % 2)
    };
    let records =
        (0..=full_mask(n)).filter(|down| down.count_ones() == n.div_ceil(2) && stands(*down));
    records.map(|down| Task { record: Prefix { left: 0, down, right: 0 }, weight: 1 }).collect()
}

fn choices(all: u64, chosen: u64) -> u64 {
    (0..chosen).fold(1, |ways, i| ways * (all - i) / (i + 1))
}

#[test]
fn each_split_with_the_given_queens_is_a_task_once_and_they_are_in_order() {
    for (n, squares) in [
        (4, ""),
        (5, "a1"),
        (6, "b1,d2,f3,a4,c5,e6"),
        (9, "b1,d2,f3,h4"),
        (10, "a1,c2,e3,g4,i5"),
        (13, "c1,g4,d8"),
        (16, "a4,e10,h1"),
    ] {
        let problem = completions(n, squares);
        let given = problem.given().expect("it has them");
        let plan = plan(problem);
        assert_eq!(filled(&plan, 0..plan.len()), splits(given), "{problem}");
        let (open, even) = (
            given.open_rows().count() as u64,
            given.queens().filter(|queen| queen.column % 2 == 0).count() as u64,
        );
        assert_eq!(plan.len(), choices(open, u64::from(n.div_ceil(2)) - even), "{problem}");
    }
}

#[test]
fn a_large_board_has_tasks_from_the_least_to_the_greatest() {
    let plan = plan(completions(MAX_N, ""));
    assert_eq!(plan.len(), 601_080_390);
    let down = |ordinal| filled(&plan, ordinal..ordinal + 1)[0].record.down;
    assert_eq!([down(0), down(plan.len() - 1)], [0xffff, 0xffff_0000]);
    let places: Vec<u32> = (0..1_000).map(|i| down(i * 601_080)).collect();
    assert!(places.is_sorted_by(|a, b| a < b));
    assert!(places.iter().all(|down| down.count_ones() == MAX_N / 2));
}
