//! The definition, as the seed program has it. Slow on purpose: the other backends are held
//! against it.

use board::{Prefix, TaskSlice};

use crate::ground::Ground;

/// The recursion: it has no buffers.
pub(crate) struct Reference;

impl Reference {
    /// The number of completions of all `tasks`.
    pub(crate) fn completions(&self, ground: Ground<'_>, tasks: TaskSlice<'_>) -> u64 {
        let states = (0..tasks.len()).map(|i| tasks.get(i).0);
        match ground.is_plain() {
            true => {
                let (n, rows_left) = (ground.columns.count_ones(), ground.rows.len());
                states.map(|state| completions(n, state, rows_left)).sum()
            }
            false => states.map(|state| completions_of(ground, state)).sum(),
        }
    }
}

/// The number of ways to place `rows_left` more queens below `prefix` on a board of size `n`.
///
/// It fits u64 as long as a computer has the time to get there: each completion is visited.
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

/// The same where rows are missing and squares are closed.
fn completions_of(ground: Ground<'_>, state: Prefix) -> u64 {
    let Ground { columns, rows } = ground;
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
        found += completions_of(Ground { columns, rows: below }, next);
    }
    found
}
