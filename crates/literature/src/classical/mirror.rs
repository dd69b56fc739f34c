//! The search of [`masks`] for one of every two mirror images, which takes half of the work.
//!
//! Source: folklore. J. Somers, "The N Queens Problem: a study in optimization" (2002), made it
//! widely known.

use board::full_mask;

use super::{Searched, masks};

/// Counts the placements of `n` queens, N from 0 to 32. N = 15 takes a second.
///
/// A placement and its mirror image are different, unless N = 1. So it is enough to count
/// placements whose first queen is in the left half. If the first queen is in the middle of an odd
/// board, the second queen cannot be there, and it is enough to count placements whose second queen
/// is in the left half.
pub fn count(n: u32) -> Searched {
    let all = full_mask(n);
    if n <= 1 {
        return masks::count(n);
    }
    let mut nodes = 0;
    let mut half = 0;
    for column in 0..n / 2 {
        let queen = 1 << column;
        nodes += 1;
        half += masks::place(all, queen << 1, queen, queen >> 1, &mut nodes);
    }
    if n % 2 == 1 {
        let first = 1_u32 << (n / 2);
        nodes += 1;
        // The first queen attacks the squares beside the middle.
        for column in 0..(n / 2 - 1) {
            let second = 1 << column;
            nodes += 1;
            let (left, right) = ((first << 1 | second) << 1, (first >> 1 | second) >> 1);
            half += masks::place(all, left, first | second, right, &mut nodes);
        }
    }
    Searched { total: 2 * half, tries: nodes, nodes }
}
