//! Plain backtracking that compares each new queen with all earlier ones.
//!
//! Source: Wirth ("Program Development by Stepwise Refinement", CACM 14, 1971) and Knuth (TAOCP 4B,
//! 7.2.2, the first form of Algorithm B) begin with this algorithm.

use super::Searched;

/// Counts the placements of `n` queens for any N. N = 13 takes a second.
pub fn count(n: u32) -> Searched {
    let mut searched = Searched::default();
    place(n, &mut Vec::new(), &mut searched);
    searched
}

/// Fills the rows below the queens that stand in `columns`.
fn place(n: u32, columns: &mut Vec<u32>, searched: &mut Searched) {
    if columns.len() as u32 == n {
        searched.total += 1;
        return;
    }
    for column in 0..n {
        searched.tries += 1;
        if is_safe(columns, column) {
            searched.nodes += 1;
            columns.push(column);
            place(n, columns, searched);
            columns.pop();
        }
    }
}

fn is_safe(columns: &[u32], column: u32) -> bool {
    // The last queen is one row away, and the one before it is two rows away.
    columns.iter().rev().zip(1..).all(|(&other, rows)| {
        let apart = other.abs_diff(column);
        apart != 0 && apart != rows
    })
}
