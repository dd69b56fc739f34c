//! The definition, as a plain recursion. It is slow on purpose, because the other backends are
//! tested against it.

use board::{Prefix, TaskSlice};

use crate::engine::Engine;
use crate::remaining::Remaining;

/// The recursion, which needs no buffers.
pub(crate) struct Reference;

impl Engine for Reference {
    fn completions(&mut self, remaining: Remaining<'_>, tasks: TaskSlice<'_>) -> u64 {
        let states = (0..tasks.len()).map(|i| tasks.get(i).0);
        if remaining.is_plain() {
            let (n, rows_left) = (remaining.columns.count_ones(), remaining.rows.len());
            states.map(|state| completions(n, state, rows_left)).sum()
        } else {
            states.map(|state| completions_of(remaining, state)).sum()
        }
    }
    fn nodes(&self) -> Option<u64> {
        None
    }
}

/// The number of ways to place `rows_left` more queens below `prefix` on a board of size `n`.
///
/// The number fits in a u64, because no computer has the time to visit 2^64 completions one by one.
fn completions(n: u32, prefix: Prefix, rows_left: usize) -> u64 {
    if rows_left == 0 {
        return 1;
    }
    let mut free = prefix.free(n);
    let mut found = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        found += completions(n, prefix.place(n, bit), rows_left - 1);
    }
    found
}

/// The number of completions of a state on a remaining board with missing rows and closed squares.
fn completions_of(remaining: Remaining<'_>, state: Prefix) -> u64 {
    let Remaining { columns, rows } = remaining;
    let [row, below @ ..] = rows else {
        return 1;
    };
    let step = below.first().map_or(1, |next| next.step);
    let mut free = columns & !(state.left | state.down | state.right | row.closed);
    let mut found = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        let next = Prefix {
            left: (state.left | bit) << step,
            down: state.down | bit,
            right: (state.right | bit) >> step,
        };
        found += completions_of(Remaining { columns, rows: below }, next);
    }
    found
}
