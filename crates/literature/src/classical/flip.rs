//! The words of bits, counting one of every two placements that are images in the horizontal axis.
//!
//! The axis exchanges the first row and the last one, so that nothing is known before the last queen: the
//! search visits all other nodes, and only the last row loses half of its queens. Reflection in the vertical
//! axis, as in [`mirror`](super::mirror), decides at the first queen instead.

use board::full_mask;

use super::{Searched, masks};
use solve::BoardTooLarge;

/// Counts the placements of `n` queens, N from 0 to 32. N = 15 takes two seconds.
///
/// A placement and its image have different columns in the first row, unless N = 1. It is therefore enough to
/// count placements whose last queen stands to the right of the first one.
///
/// # Errors
///
/// [`BoardTooLarge`], if N is greater than 32.
pub fn count(n: u32) -> Result<Searched, BoardTooLarge> {
    BoardTooLarge::check(n)?;
    if n <= 1 {
        return masks::count(n);
    }
    let all = full_mask(n);
    let mut search = Search { all, rows: n, right_of_first: 0, nodes: 0 };
    let mut half = 0;
    for column in 0..n {
        let queen = 1 << column;
        search.right_of_first = all & !(queen | (queen - 1));
        search.nodes += 1;
        half += search.place(1, [queen << 1, queen, queen >> 1]);
    }
    Ok(Searched { total: 2 * half, tries: search.nodes, nodes: search.nodes })
}

struct Search {
    all: u32,
    rows: u32,
    /// The columns to the right of the first queen's.
    right_of_first: u32,
    nodes: u64,
}

impl Search {
    /// The number of ways to fill this row, which sees these attacks, and all rows below it.
    fn place(&mut self, row: u32, [left, down, right]: [u32; 3]) -> u64 {
        let mut free = self.all & !(left | down | right);
        if row + 1 == self.rows {
            let last = u64::from((free & self.right_of_first).count_ones());
            self.nodes += last;
            return last;
        }
        let mut total = 0;
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            self.nodes += 1;
            total += self.place(row + 1, [(left | queen) << 1, down | queen, (right | queen) >> 1]);
        }
        total
    }
}
