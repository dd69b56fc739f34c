//! The tasks of `colours` for boards with given queens, by ordinal.
//!
//! Given queens leave no symmetry in general, so none is used: every split with which they agree is
//! a task of weight 1. Of the N rows, ceil(N/2) hold a queen in an even column. With g given queens
//! in even columns and m rows without a given queen, ceil(N/2) - g of the m rows are still to be
//! chosen:
//!
//! ```text
//!   order     ascending, by the record's mask of the rows with a queen in an even column
//!   tasks     C(m, ceil(N/2) - g)
//! ```
//!
//! The task of an ordinal is found row by row from binomial coefficients (the combinatorial number
//! system), so the plan holds no tasks.

use super::even_lines;
use crate::{Given, Prefix, Task};

/// The tasks of a board with given queens by ordinal.
#[derive(Clone, Debug)]
pub(crate) struct CompletionsPlan {
    /// The rows with a given queen in an even column.
    given: u32,
    /// The rows without a given queen, in ascending order.
    open: Vec<u32>,
    /// The number of open rows whose queens stand in even columns.
    chosen: u32,
    len: u64,
}

impl CompletionsPlan {
    /// The plan of a board from [`MIN_N`](super::MIN_N) to [`MAX_N`](super::MAX_N).
    pub(crate) fn new(given: &Given) -> CompletionsPlan {
        let (even, open) = (in_even_columns(given), given.open_rows().collect::<Vec<_>>());
        // Queens share no column, so the given ones take at most all even columns.
        let chosen = even_lines(given.n()) - even.count_ones();
        // Each partial product is itself a number of combinations.
        let len =
            (0..u64::from(chosen)).fold(1, |ways, i| ways * (open.len() as u64 - i) / (i + 1));
        CompletionsPlan { given: even, open, chosen, len }
    }

    /// The number of tasks.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// The task of an ordinal, which is less than [`len`](CompletionsPlan::len).
    pub(crate) fn task(&self, mut ordinal: u64) -> Task {
        let (mut down, mut chosen, mut ways) = (self.given, u64::from(self.chosen), self.len);
        for (below, row) in self.open.iter().enumerate().rev() {
            // Of the `ways` to choose from this row and the rows below, those without this row come
            // first.
            let rows = below as u64 + 1;
            let without = ways * (rows - chosen) / rows;
            if ordinal < without {
                ways = without;
            } else {
                (ordinal, ways) = (ordinal - without, ways - without);
                (down, chosen) = (down | 1 << row, chosen - 1);
            }
        }
        Task { record: Prefix { left: 0, down, right: 0 }, weight: 1 }
    }
}

/// Whether given queens, of a board up to [`MAX_N`](super::MAX_N), stand where a split says. `down`
/// has the rows whose queens stand in even columns.
#[must_use]
pub fn agrees(given: &Given, down: u32) -> bool {
    let rows = given.queens().map(|queen| 1 << queen.row).sum::<u32>();
    down & rows == in_even_columns(given)
}

/// The rows with a given queen in an even column.
fn in_even_columns(given: &Given) -> u32 {
    let even = given.queens().filter(|queen| queen.column % 2 == 0);
    even.map(|queen| 1 << queen.row).sum()
}
