//! Upper bounds for the count of a task.

use crate::{Method, Problem, TaskKind, colours};

/// The most that one task of `problem`, cut by `method`, contributes to the sum: weight times
/// count. `None` if the problem cannot be cut so. It saturates at 2^128 - 1.
///
/// The bounds follow from the queens that are missing. There are as many rows without a queen as
/// columns without one, and each way to fill the rows gives every one of them another of these
/// columns. There are k! ways to do that with k rows, and only some of them are placements:
///
/// - A *prefix* of M rows lacks N - M queens, and its weight is at most 2: 2 (N - M)! The method
///   `prefixes` keeps both mirror images, so that its weights are 1: (N - M)!
/// - A *split* gives the e = N/2 (rounded up) even columns to e rows, and the o odd ones to the
///   other o rows. Each way to place the queens counts at most eight times, by its share and the
///   task's weight: 8 e! o! With given queens there are fewer ways.
/// - *First rows*, M of the R rows that are open, lack R - M queens. The weight is at most 2N on a
///   torus, 2 for superqueens and 1 for completions: the weight times (R - M)!
///
/// ```
/// use queens_board::{Method, Problem, most_per_task};
///
/// let most = most_per_task(Problem::Total { n: 14 }, Method::Rows { rows: 4 });
/// assert_eq!(most, Some(2 * 3_628_800));
/// ```
#[must_use]
pub fn most_per_task(problem: Problem, method: Method) -> Option<u128> {
    let n = problem.n();
    Some(match TaskKind::of(problem, method)? {
        TaskKind::Prefix { rows } if method == (Method::Prefixes { rows }) => factorial(n - rows),
        TaskKind::Prefix { rows } => factorial(n - rows).saturating_mul(2),
        TaskKind::Colours => {
            let (even, odd) = (factorial(colours::even_lines(n)), factorial(colours::odd_lines(n)));
            even.saturating_mul(odd).saturating_mul(8)
        }
        TaskKind::FirstRows { rows } => {
            let open = u32::try_from(problem.open_rows().len()).expect("rows are few");
            factorial(open - rows).saturating_mul(heaviest(problem).into())
        }
    })
}

/// The largest weight of a task that has first rows.
fn heaviest(problem: Problem) -> u32 {
    match problem {
        Problem::Toroidal { n } => (2 * n).max(1),
        Problem::Superqueens { .. } | Problem::Total { .. } | Problem::Fundamental { .. } => 2,
        Problem::Completions(_) => 1,
    }
}

fn factorial(k: u32) -> u128 {
    (1..=u128::from(k)).fold(1, u128::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, MAX_N, PlanIndex};

    #[test]
    fn no_weight_is_larger_than_the_bound_says() {
        let given = Given::new(7, &[]).expect("an empty board");
        let cuts = [
            (Problem::Total { n: 7 }, Method::Rows { rows: 7 }),
            (Problem::Total { n: 7 }, Method::Prefixes { rows: 7 }),
            (Problem::Toroidal { n: 7 }, Method::Rows { rows: 2 }),
            (Problem::Superqueens { n: 10 }, Method::Rows { rows: 3 }),
            (Problem::Completions(given), Method::Rows { rows: 2 }),
        ];
        for (problem, method) in cuts {
            let most = match TaskKind::of(problem, method).expect("it is cut so") {
                TaskKind::FirstRows { .. } => heaviest(problem).into(),
                // These tasks have all queens, so that the bound is that of their weight.
                _ => most_per_task(problem, method).expect("it is cut so"),
            };
            let index = PlanIndex::new(problem, method).expect("it is cut so");
            let tasks = index.tasks(0..index.len()).expect("it is the whole plan");
            let heaviest = tasks.iter().map(|task| task.weight).max().unwrap_or_default();
            assert!(
                heaviest > 0 && u128::from(heaviest) <= most,
                "{problem} by {method}: {heaviest}"
            );
        }
    }

    #[test]
    fn a_full_board_counts_its_weight_and_large_boards_have_bounds() {
        let full = |method| most_per_task(Problem::Total { n: 8 }, method);
        assert_eq!(full(Method::Rows { rows: 8 }), Some(2));
        assert_eq!(full(Method::Prefixes { rows: 8 }), Some(1));
        for n in 0..=MAX_N {
            assert!(most_per_task(Problem::Total { n }, Method::Rows { rows: 0 }).is_some());
        }
        let largest = Problem::Completions(Given::new(64, &[]).expect("an empty board"));
        assert_eq!(most_per_task(largest, Method::Rows { rows: 0 }), Some(u128::MAX));
        assert_eq!(most_per_task(Problem::Total { n: 3 }, Method::Colours), None);
    }
}
