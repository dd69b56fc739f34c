//! The definition, as the seed program has it. Slow on purpose: the other backends are held
//! against it.

use board::{Prefix, full_mask};

/// The number of ways to place `rows_left` more queens below `prefix` on a board of size `n`.
///
/// It fits u64 as long as a computer has the time to get there: each completion is visited.
pub(crate) fn completions(n: u32, prefix: Prefix, rows_left: u32) -> u64 {
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
