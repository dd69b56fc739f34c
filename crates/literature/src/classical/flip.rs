//! The search of [`masks`] for one of every two placements that are images in the horizontal axis,
//! or for one of every four that are images in one axis or both.
//!
//! The horizontal axis exchanges the first row and the last one, so it excludes nothing before the
//! last queen. The search visits all other nodes, and only the last row loses half of its queens.
//! The vertical axis, as in [`mirror`](super::mirror), excludes half of the nodes with the first
//! queen. Both axes together save little more than the vertical one alone: the horizontal one again
//! saves about half of the last row.

use board::full_mask;

use super::{Searched, masks};

/// Counts the placements of `n` queens, N from 0 to 32. N = 15 takes two seconds.
///
/// A placement and its image have different columns in the first row, unless N = 1. So it is enough
/// to count placements whose last queen is to the right of the first one.
#[must_use]
pub fn count(n: u32) -> Searched {
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
    search.searched()
}

/// Counts the placements of `n` queens, N from 0 to 32, one for all images in both axes. N = 15
/// takes a second.
///
/// Let the queens of the first and of the last row be in the columns a and b. The vertical axis
/// takes (a, b) to (N - 1 - a, N - 1 - b), and the horizontal one exchanges a and b. So every
/// placement has one image in which a is the nearest to the left edge of the four columns a, b and
/// their mirror images: a is in the left half, and b is between a and N - 1 - a. At b = N - 1 - a
/// both axes have the same effect on (a, b), which then has two images instead of four.
#[must_use]
pub fn count_with_mirror(n: u32) -> Searched {
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
    search.searched()
}

#[derive(Default)]
struct Search {
    all: u32,
    rows: u32,
    /// The columns that the last queen may take, and the number of placements that each then stands
    /// for.
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

    /// Fills this row and all rows below it. Returns the number of placements that these ways stand
    /// for.
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
