//! A search with three bit masks, in which one expression gives the free squares of a row.
//!
//! Source: M. Richards, "Backtracking Algorithms in MCPL using Bit Patterns and Recursion"
//! (University of Cambridge Computer Laboratory, Technical Report 433, 1997).

use board::full_mask;

use super::Searched;

/// Counts the placements of `n` queens, N from 0 to 32. N = 15 takes two seconds.
///
/// Only free squares are tried, so each try is a node.
pub fn count(n: u32) -> Searched {
    let mut nodes = 0;
    let total = place(full_mask(n), 0, 0, 0, &mut nodes);
    Searched { total, tries: nodes, nodes }
}

/// The number of ways to fill the row with these attacks, and all rows below it.
pub(super) fn place(all: u32, left: u32, down: u32, right: u32, nodes: &mut u64) -> u64 {
    if down == all {
        return 1;
    }
    let mut free = all & !(left | down | right);
    let mut total = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        *nodes += 1;
        total += place(all, (left | queen) << 1, down | queen, (right | queen) >> 1, nodes);
    }
    total
}
