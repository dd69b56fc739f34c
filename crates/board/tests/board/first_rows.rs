//! Tests of the tasks of problems that are divided by their first rows.

use queens_board::first_rows::{MAX_ROWS, queens};
use queens_board::{Given, Method, PlanIndex, Problem, Task};

use super::{completions, filled};

fn tasks(problem: Problem, rows: u32) -> Vec<Task> {
    let plan =
        PlanIndex::new(problem, Method::Rows { rows }).expect("the problem has so many rows");
    // The plan is read in two pieces, which must join.
    let middle = plan.len() / 3;
    [filled(&plan, 0..middle), filled(&plan, middle..plan.len())].concat()
}

/// All ways to fill the first rows, without symmetry.
fn all_ways(problem: &Problem, rows: u32) -> u64 {
    fn count(problem: &Problem, rows: &[u32], queens: &mut Vec<queens_board::Square>) -> u64 {
        let [row, rows @ ..] = rows else { return 1 };
        let mut found = 0;
        for column in 0..problem.n() {
            let square = queens_board::Square { column, row: *row };
            if !queens.iter().any(|&queen| problem.attack(queen, square)) {
                queens.push(square);
                found += count(problem, rows, queens);
                queens.pop();
            }
        }
        found
    }
    let mut given: Vec<_> = problem.given().into_iter().flat_map(Given::queens).collect();
    count(problem, &problem.open_rows()[..rows as usize], &mut given)
}

#[test]
fn weights_stand_for_every_way_to_fill_the_first_rows() {
    let mut problems = vec![completions(9, ""), completions(10, "c1,g4,d8"), completions(1, "")];
    problems.extend([1, 5, 7, 11].map(|n| Problem::Toroidal { n }));
    problems.extend((0..10).map(|n| Problem::Superqueens { n }));
    for problem in problems {
        let most = MAX_ROWS.min(problem.open_rows().len() as u32);
        for rows in 0..=most.min(4) {
            let tasks = tasks(problem, rows);
            let weights: u64 = tasks.iter().map(|task| u64::from(task.weight)).sum();
            assert_eq!(weights, all_ways(&problem, rows), "{problem}, M = {rows}");
        }
    }
}

#[test]
fn a_task_is_read_as_written_and_other_records_are_refused() {
    for problem in
        [completions(50, "ax1,a5"), Problem::Toroidal { n: 13 }, Problem::Superqueens { n: 12 }]
    {
        let tasks = tasks(problem, 3);
        let mut before = None;
        for Task { record, .. } in tasks {
            let found = queens(&problem, 3, record).expect("it is a task");
            assert_eq!(found.len(), 3);
            assert!(before.replace(found.clone()).is_none_or(|before| before < found), "in order");
            let mut other = record;
            other.left = 1;
            assert_eq!(queens(&problem, 3, other), None);
            other = record;
            other.down |= 1 << 18;
            assert_eq!(queens(&problem, 3, other), None, "four queens");
            other.down = record.down & !0xfc0 | (record.down & 63) << 6;
            assert_eq!(queens(&problem, 3, other), None, "two in one column");
        }
    }
}

#[test]
fn a_torus_without_placements_has_no_tasks() {
    for n in 1..=32 {
        let plan = PlanIndex::new(Problem::Toroidal { n }, Method::Rows { rows: 1 })
            .expect("there is a row");
        assert_eq!(plan.is_empty(), n % 2 == 0 || n % 3 == 0, "N = {n}");
    }
}
