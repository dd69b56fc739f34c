//! The definition, as the seed program has it. Slow on purpose: the other backends are held
//! against it.

use board::{Prefix, TaskSlice, full_mask};

/// The recursion of one board size and number of rows left.
pub(crate) struct Reference {
    n: u32,
    rows_left: u32,
}

impl Reference {
    pub(crate) fn new(n: u32, rows: u32) -> Reference {
        Reference { n, rows_left: n - rows }
    }

    /// The number of completions of all `tasks`.
    pub(crate) fn completions(&self, tasks: TaskSlice<'_>) -> u64 {
        (0..tasks.len()).map(|i| completions(self.n, tasks.get(i).0, self.rows_left)).sum()
    }
}

/// The number of ways to place `rows_left` more queens below `prefix` on a board of size `n`.
///
/// It fits u64 as long as a computer has the time to get there: each completion is visited.
fn completions(n: u32, prefix: Prefix, rows_left: u32) -> u64 {
    if rows_left == 0 {
        return 1;
    }
    let Prefix { left, down, right } = prefix;
    let mut free = full_mask(n) & !(left | down | right);
    let mut found = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        found += completions(n, prefix.place(n, bit), rows_left - 1);
    }
    found
}
