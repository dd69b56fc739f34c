//! The search of [`masks`] for one of every two placements that are images in the horizontal axis,
//! or for one of every four that are images in one axis or both.
//!
//! The horizontal axis exchanges the first row and the last one, so it excludes nothing before the
//! last queen. The search visits all other nodes, and only the last row loses half of its queens.
//! The vertical axis, as in [`mirror`](super::mirror), excludes half of the nodes with the first
//! queen. Both axes together save little more than the vertical one alone: the horizontal one again
//! saves about half of the last row.

use std::ops::Range;

use board::full_mask;

use super::{Searched, masks};

/// Columns that the last queen may take, and the number of placements that each then stands for.
type LastRow = [(u32, u64); 2];

/// Counts the placements of `n` queens, N from 0 to 32. N = 15 takes two seconds.
///
/// A placement and its image have different columns in the first row, unless N = 1. So it is enough
/// to count placements whose last queen is to the right of the first one.
pub fn count(n: u32) -> Searched {
    let all = full_mask(n);
    search(n, 0..n, |column| {
        let queen = 1 << column;
        [(all & !(queen | (queen - 1)), 2), (0, 0)]
    })
}

/// Counts the placements of `n` queens, N from 0 to 32, one for all images in both axes. N = 15
/// takes a second.
///
/// Let the queens of the first and of the last row be in the columns a and b. The vertical axis
/// takes (a, b) to (N - 1 - a, N - 1 - b), and the horizontal one exchanges a and b. So every
/// placement has one image in which a is the nearest to the left edge of the four columns a, b and
/// their mirror images: a is in the left half, and b is between a and N - 1 - a. At b = N - 1 - a
/// both axes have the same effect on (a, b), which then has two images instead of four.
pub fn count_with_mirror(n: u32) -> Searched {
    search(n, 0..n / 2, |column| {
        let (queen, image): (u32, u32) = (1 << column, 1 << (n - 1 - column));
        [((image - 1) & !(queen | (queen - 1)), 4), (image, 2)]
    })
}

/// Searches below a first queen in each of these columns, which decides about the last row.
fn search(n: u32, columns: Range<u32>, last_row: impl Fn(u32) -> LastRow) -> Searched {
    if n <= 1 {
        return masks::count(n);
    }
    let mut searched = Searched::default();
    for column in columns {
        let queen = 1 << column;
        searched.nodes += 1;
        place(
            full_mask(n),
            n - 1,
            [queen << 1, queen, queen >> 1],
            last_row(column),
            &mut searched,
        );
    }
    Searched { tries: searched.nodes, ..searched }
}

/// Fills the last `rows` rows.
fn place(
    all: u32,
    rows: u32,
    [left, down, right]: [u32; 3],
    last_row: LastRow,
    searched: &mut Searched,
) {
    let mut free = all & !(left | down | right);
    if rows == 1 {
        for (columns, images) in last_row {
            let queens = u64::from((free & columns).count_ones());
            searched.nodes += queens;
            searched.total += images * queens;
        }
        return;
    }
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        searched.nodes += 1;
        let below = [(left | queen) << 1, down | queen, (right | queen) >> 1];
        place(all, rows - 1, below, last_row, searched);
    }
}
