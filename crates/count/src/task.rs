//! Checks that a record is a task, and makes the mirror image of a task.
//!
//! A task may come from another machine. A malformed task would give a meaningless number. So each
//! task is checked against the board's size and the number of placed rows before it is counted.

use board::colours::{self, Split};
use board::{Given, Prefix, Problem, Square, TaskKind, first_rows, full_mask};

pub(crate) fn is_task(problem: &Problem, kind: TaskKind, record: Prefix) -> bool {
    let n = problem.n();
    let Prefix { left, down, right } = record;
    match kind {
        TaskKind::Prefix { rows } => {
            (left | down | right) & !full_mask(n) == 0 && down.count_ones() == rows
        }
        TaskKind::Colours => {
            Split::unpack(n, record).is_some()
                && problem.given().is_none_or(|given| colours::agrees(given, down))
        }
        TaskKind::FirstRows { rows } => first_rows::queens(problem, rows, record).is_some(),
    }
}

/// The mirror image of a problem: its columns are reversed, or by colours its rows.
pub(crate) fn mirrored_problem(problem: Problem, kind: TaskKind) -> Problem {
    let Some(given) = problem.given() else { return problem };
    let n = given.n();
    let image = |queen: Square| match kind {
        TaskKind::Colours => Square { row: n - 1 - queen.row, ..queen },
        _ => mirrored_square(n, queen),
    };
    let queens: Vec<Square> = given.queens().map(image).collect();
    let image = Given::new(n, &queens).expect("an image's queens attack no more than queens");
    Problem::Completions(image)
}

/// The mirror image of a task of this problem and kind ([`is_task`]). It is a task of the
/// [image](mirrored_problem) of the problem.
pub(crate) fn mirrored(problem: &Problem, kind: TaskKind, task: Prefix) -> Prefix {
    let n = problem.n();
    match kind {
        TaskKind::Prefix { .. } => {
            let reversed = |mask: u32| mask.reverse_bits().checked_shr(u32::BITS - n).unwrap_or(0);
            // Diagonals that lead to higher columns lead to lower ones.
            Prefix {
                left: reversed(task.right),
                down: reversed(task.down),
                right: reversed(task.left),
            }
        }
        // The rows are read from the other end, because a task is a set of rows.
        TaskKind::Colours => Split::unpack(n, task).expect("it is a task").reversed(n).pack(n),
        TaskKind::FirstRows { rows } => {
            let queens = first_rows::queens(problem, rows, task).expect("it is a task");
            first_rows::record(queens.into_iter().map(|queen| mirrored_square(n, queen)))
        }
    }
}

fn mirrored_square(n: u32, square: Square) -> Square {
    Square { column: n - 1 - square.column, ..square }
}

#[cfg(test)]
mod tests {
    use board::{Method, PlanIndex, Task};

    use super::*;

    #[test]
    fn a_split_that_contradicts_a_given_queen_is_no_task() {
        let given = Given::new(8, &[Square { column: 2, row: 1 }, Square { column: 5, row: 6 }]);
        let problem = Problem::Completions(given.expect("they stand so"));
        let is_task =
            |down| is_task(&problem, TaskKind::Colours, Prefix { left: 0, down, right: 0 });
        assert!(is_task(0b0000_1111) && is_task(0b1011_0010));
        assert!(!is_task(0b0000_1101 | 0b1_0000), "the queen of row 1 is in an even column");
        assert!(!is_task(0b0100_0111), "the queen of row 6 is in an odd column");
        assert!(!is_task(0b0000_0111) && !is_task(0b1_0000_0111));
    }

    #[test]
    fn images_are_tasks_of_the_image_and_their_images_are_the_tasks() {
        let given = Given::new(9, &[Square { column: 1, row: 2 }, Square { column: 6, row: 5 }]);
        let completions = Problem::Completions(given.expect("they stand so"));
        assert_ne!(mirrored_problem(completions, TaskKind::Colours), completions);
        let total = Problem::Total { n: 9 };
        let rows = Method::Rows { rows: 2 };
        for (problem, method) in [
            (Problem::Total { n: 0 }, Method::Rows { rows: 0 }),
            (total, rows),
            (total, Method::Prefixes { rows: 2 }),
            (total, Method::Colours),
            (Problem::Total { n: 10 }, Method::Colours),
            (Problem::Toroidal { n: 11 }, rows),
            (Problem::Superqueens { n: 9 }, rows),
            (completions, rows),
            (completions, Method::Colours),
        ] {
            let kind = TaskKind::of(problem, method).expect("it is cut so");
            let image = mirrored_problem(problem, kind);
            assert_eq!(mirrored_problem(image, kind), problem);
            let index = PlanIndex::new(problem, method).expect("it is cut so");
            let tasks = index.tasks(0..index.len()).expect("the plan has the range");
            assert!(!tasks.is_empty());
            let mut others = 0;
            for &Task { record: task, .. } in &tasks {
                let other = mirrored(&problem, kind, task);
                assert!(is_task(&problem, kind, task) && is_task(&image, kind, other));
                assert_eq!(mirrored(&image, kind, other), task, "{problem} by {method}");
                others += usize::from(other != task);
            }
            assert!(2 * others > tasks.len() || problem.n() == 0, "{problem} by {method}");
        }
    }
}
