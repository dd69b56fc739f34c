//! The words of bits, counting one of every two placements that are images in the horizontal axis, or one of
//! every four that are images in one axis or both.
//!
//! The axis exchanges the first row and the last one, so that nothing is known before the last queen: the
//! search visits all other nodes, and only the last row loses half of its queens. Reflection in the vertical
//! axis, as in [`mirror`](super::mirror), decides at the first queen instead. Together they save little more than that
//! one alone: what the horizontal axis adds is again about half of the last row.

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
    let mut search = Search { all, rows: n, ..Search::default() };
    for column in 0..n {
        let queen: u32 = 1 << column;
        search.last_row = [(all & !(queen | (queen - 1)), 2), (0, 0)];
        search.begin(queen);
    }
    Ok(search.searched())
}

/// Counts the placements of `n` queens, N from 0 to 32, one for all images in both axes. N = 15 takes a second.
///
/// Let the first row's queen stand in column a and the last row's in column b. The vertical axis takes (a, b) to
/// (N - 1 - a, N - 1 - b), the horizontal one exchanges a and b. So there is one image of every placement in which
/// a is the nearest of the four columns a, b and their mirror images to the left edge: a is in the left half, and b
/// is beyond a and not beyond N - 1 - a. At b = N - 1 - a both axes have the same effect on (a, b), which has two
/// images and otherwise four.
///
/// # Errors
///
/// [`BoardTooLarge`], if N is greater than 32.
pub fn count_with_mirror(n: u32) -> Result<Searched, BoardTooLarge> {
    BoardTooLarge::check(n)?;
    if n <= 1 {
        return masks::count(n);
    }
    let all = full_mask(n);
    let mut search = Search { all, rows: n, ..Search::default() };
    for column in 0..n / 2 {
        let (queen, image): (u32, u32) = (1 << column, 1 << (n - 1 - column));
        search.last_row = [((image - 1) & !(queen | (queen - 1)), 4), (image, 2)];
        search.begin(queen);
    }
    Ok(search.searched())
}

#[derive(Default)]
struct Search {
    all: u32,
    rows: u32,
    /// The columns that the last queen may take, and for how many placements it then stands.
    last_row: [(u32, u64); 2],
    total: u64,
    nodes: u64,
}

impl Search {
    /// Searches the rows below this first queen.
    fn begin(&mut self, queen: u32) {
        self.nodes += 1;
        self.total += self.place(1, [queen << 1, queen, queen >> 1]);
    }

    fn searched(self) -> Searched {
        Searched { total: self.total, tries: self.nodes, nodes: self.nodes }
    }

    /// The number of placements for which the ways to fill this row, which sees these attacks, and all rows below
    /// it stand.
    fn place(&mut self, row: u32, [left, down, right]: [u32; 3]) -> u64 {
        let mut free = self.all & !(left | down | right);
        if row + 1 == self.rows {
            let mut total = 0;
            for (columns, images) in self.last_row {
                let queens = u64::from((free & columns).count_ones());
                self.nodes += queens;
                total += images * queens;
            }
            return total;
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
