//! The search of [`arrays`](super::arrays) without recursion: the list of columns is the stack.
//!
//! Source: Knuth, TAOCP 4B, 7.2.2, Algorithm B* (Algorithm B with the arrays a, b and c).

use super::Searched;
use super::arrays::Taken;

/// Counts the placements of `n` queens for any N. N = 13 takes half a second.
pub fn count(n: u32) -> Searched {
    let n = n as usize;
    let mut taken = Taken::none(n);
    let mut searched = Searched::default();
    // The columns of the queens, and the column to try next in the row below them.
    let (mut columns, mut column) = (Vec::new(), 0);
    loop {
        let row = columns.len();
        if row == n {
            searched.total += 1;
        }
        if row == n || column == n {
            let Some(last) = columns.pop() else { return searched };
            taken.set(row - 1, last, false);
            column = last + 1;
            continue;
        }
        searched.tries += 1;
        if taken.is_free(row, column) {
            searched.nodes += 1;
            taken.set(row, column, true);
            columns.push(column);
            column = 0;
        } else {
            column += 1;
        }
    }
}
