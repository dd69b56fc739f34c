//! A search of the permutations of the columns, in which each new number must have diagonals that
//! no earlier one has.
//!
//! Source: Gauss, in letters to Schumacher of 1850, states the problem as permutations whose sums
//! and differences with their places are all distinct (P. J. Campbell, "Gauss and the Eight Queens
//! Problem", Historia Mathematica 4, 1977). Here a permutation is abandoned at the first number
//! that does not fit. The free columns are kept behind those in use, by exchanging two of them.

use super::Searched;
use super::arrays::Taken;

/// Counts the placements of `n` queens for any N. N = 14 takes two seconds.
pub fn count(n: u32) -> Searched {
    let n = n as usize;
    let mut searched = Searched::default();
    let mut columns: Vec<usize> = (0..n).collect();
    place(0, &mut columns, &mut Taken::none(n), &mut searched);
    searched
}

/// Chooses the column of `row` among those that no earlier row has.
fn place(row: usize, columns: &mut [usize], taken: &mut Taken, searched: &mut Searched) {
    if row == columns.len() {
        searched.total += 1;
        return;
    }
    for next in row..columns.len() {
        let column = columns[next];
        searched.tries += 1;
        if taken.diagonals_are_free(row, column) {
            searched.nodes += 1;
            taken.set(row, column, true);
            columns.swap(row, next);
            place(row + 1, columns, taken, searched);
            columns.swap(row, next);
            taken.set(row, column, false);
        }
    }
}
