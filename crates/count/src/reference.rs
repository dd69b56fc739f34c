//! The definition, as a plain recursion. It is slow on purpose, because the other backends are
//! tested against it.

use board::{Prefix, bits};

use crate::engine::Engine;
use crate::remaining::Remaining;
use crate::stop::Stop;

/// The recursion, which needs no buffers.
pub(crate) struct Reference;

impl Engine for Reference {
    fn completions(&mut self, remaining: Remaining<'_>, states: &[Prefix], stop: &Stop) -> u64 {
        states.iter().map(|state| completions(remaining, *state, stop)).sum()
    }
}

/// The number of ways to place a queen in each of the remaining rows below a state.
///
/// The number fits in a u64, because no computer has the time to visit 2^64 completions one by one.
fn completions(remaining: Remaining<'_>, state: Prefix, stop: &Stop) -> u64 {
    let Remaining { columns, rows } = remaining;
    let [row, below @ ..] = rows else {
        return 1;
    };
    if stop.is_asked() {
        return 0;
    }
    let step = below.first().map_or(1, |next| next.step);
    let free = columns & !(state.left | state.down | state.right | row.closed);
    let below_queen = |bit| {
        let next = Prefix {
            left: (state.left | bit) << step,
            down: state.down | bit,
            right: (state.right | bit) >> step,
        };
        completions(Remaining { columns, rows: below }, next, stop)
    };
    bits(free).map(below_queen).sum()
}
