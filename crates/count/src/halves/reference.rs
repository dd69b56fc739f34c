//! The definition of the method. It makes both lists row by row and compares every pair. The other
//! backends are tested against it.

use board::Prefix;
use board::halves::{Shares, Slice, Split};

use crate::halves::CountTasks;
use crate::halves::draws::Draws;
use crate::halves::sum::Sum;

/// Counts tasks of boards of size `n`.
pub(crate) struct Reference {
    pub(crate) n: u32,
}

impl CountTasks for Reference {
    fn count(&mut self, split: Split, sum: &mut Sum) {
        sum.add(completions(self.n, split));
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        None
    }
}

/// The count of a task of a board of size `n`: the sum of the shares of all its boards.
fn completions(n: u32, split: Split) -> u64 {
    let shares = Shares::new(n, split);
    let centre = split.centre;
    let list = |columns, slice| {
        let mut found = Vec::new();
        let wanted = Wanted { n, columns, looked_at: shares.columns, slice };
        wanted.list(n / 2, (Prefix::EMPTY, 0), &mut found);
        found
    };
    let (upper, lower) = (list(split.columns, split.upper), list(split.others(n), split.lower));
    let pairs = upper.iter().flat_map(|upper| lower.iter().map(move |lower| (upper, lower)));
    pairs
        .filter(|(upper, lower)| fit(n, centre, upper.0, lower.0))
        .map(|(upper, lower)| shares.of_board(upper.1, lower.1))
        .sum()
}

/// The half-boards that are listed.
struct Wanted {
    n: u32,
    /// The columns of their queens.
    columns: u32,
    /// The columns that decide about their numbers.
    looked_at: u32,
    slice: Slice,
}

impl Wanted {
    /// Lists every way to place `rows` more queens, row by row from the edge, with its number. The
    /// number has a bit for each row, set if the row's queen is in one of the columns that are
    /// looked at.
    fn list(&self, rows: u32, (prefix, number): (Prefix, u32), found: &mut Vec<(Prefix, u32)>) {
        let half = self.n / 2;
        if half - rows == half / 2 && !self.slice.has(self.columns, prefix.down) {
            return;
        }
        if rows == 0 {
            return found.push((prefix, number));
        }
        let mut free = prefix.free(self.n) & self.columns;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            let number = number << 1 | u32::from(bit & self.looked_at != 0);
            self.list(rows - 1, (prefix.place(self.n, bit), number), found);
        }
    }
}

/// Whether no diagonal of one half continues as a diagonal of the other or meets the centre's
/// queen.
fn fit(n: u32, centre: u32, upper: Prefix, lower: Prefix) -> bool {
    // These are the lower half's diagonals in the row that the upper half's state describes, by the
    // direction in which they lead downwards. A diagonal that leads upwards to lower columns leads
    // downwards to higher columns.
    let (left, right) =
        if n % 2 == 1 { (lower.right, lower.left) } else { (lower.right << 1, lower.left >> 1) };
    let attacked = upper.left | upper.right | lower.left | lower.right;
    upper.left & left == 0 && upper.right & right == 0 && attacked & centre == 0
}
