//! Dynamic programming over the distinct states of a row, each with its multiplicity.
//!
//! Two ways to place the first rows that leave the same attacks have the same completions. So this
//! algorithm keeps each distinct state (left, down, right) of a row once, with the number of ways
//! that lead to it.
//!
//! Source: I. Rivin and R. Zabih, "A Dynamic Programming Solution to the N-Queens Problem"
//! (Information Processing Letters 41, 1992). Time and memory are at most of the order of 8^N, up
//! to a polynomial, where a search takes at most N!. Two things are added here. Attacks that meet
//! no free column in any row below are dropped, which makes more states equal. A state also stands
//! for its mirror image, which halves the number of states.

use board::{bits, full_mask};
use serde::Serialize;
use thiserror::Error;

/// The size of a state with its multiplicity, in bytes.
const ENTRY: u64 = size_of::<Entry>() as u64;

/// The total and the work of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatesCount {
    /// Number of placements of N queens.
    pub total: u128,
    /// The states after each row, from row 0 on.
    pub rows: Vec<RowStats>,
}

/// The states after one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RowStats {
    /// Number of distinct states after this row.
    pub states: u64,
    /// Number of states that were known already when they arrived: all arrivals less the states.
    pub merged: u64,
    /// The most bytes in use while the row was formed: the states before it, and the room for those
    /// after it. This room exists twice while it grows.
    pub bytes: u64,
}

/// The states do not fit into the allowed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the states after row {row} of N = {n} need {needed} bytes or more, and {given} may be used"
)]
pub struct StatesError {
    /// Board size.
    pub n: u32,
    /// The row that could not be finished, counted from 1.
    pub row: u32,
    /// The bytes that this row needs before it can continue. Later rows can need more.
    pub needed: u64,
    /// The bytes that were allowed.
    pub given: u64,
}

/// The words of a state: left, down, right.
type State = [u32; 3];

#[derive(Clone, Copy)]
struct Entry {
    state: State,
    times: u64,
}

/// Counts the placements of `n` queens, N from 0 to 32, in at most `memory` bytes.
///
/// N = 14 takes some seconds and 0.2 GB, N = 16 about 40 times as long and 3 GB.
///
/// # Errors
///
/// [`StatesError`] if the states do not fit. Memory grows in steps. A step that does not fit is
/// refused before it is taken.
pub fn count(n: u32, memory: u64) -> Result<StatesCount, StatesError> {
    counted(n, memory, canonical)
}

/// Counts as [`count()`] does, with the same error, but without the two things that are added here:
/// each state is kept as it is.
pub fn count_plain(n: u32, memory: u64) -> Result<StatesCount, StatesError> {
    counted(n, memory, |state, _, _| state)
}

/// Counts, and replaces each state by `kept` of the state, N and the number of rows that are left.
fn counted(
    n: u32,
    memory: u64,
    kept: impl Fn(State, u32, u32) -> State,
) -> Result<StatesCount, StatesError> {
    let all = full_mask(n);
    let mut states = vec![Entry { state: [0; 3], times: 1 }];
    let mut rows = Vec::new();
    for row in 1..=n {
        let before = states.capacity() as u64 * ENTRY;
        let (mut next, mut arrived, mut bytes) = (Vec::new(), 0, before);
        for &Entry { state: [left, down, right], times } in &states {
            for queen in bits(all & !(left | down | right)) {
                let down = down | queen;
                let left = (left | queen) << 1 & all;
                let right = (right | queen) >> 1;
                let state = kept([left, down, right], n, n - row);
                if let Some(room) = room_to_take(&mut next) {
                    // A vector is in memory twice while it grows.
                    bytes = before + (next.capacity() + room) as u64 * ENTRY;
                    if bytes > memory {
                        return Err(StatesError { n, row, needed: bytes, given: memory });
                    }
                    next.reserve_exact(room - next.len());
                }
                next.push(Entry { state, times });
                arrived += 1;
            }
        }
        merge(&mut next);
        states = next;
        let found = states.len() as u64;
        rows.push(RowStats { states: found, merged: arrived - found, bytes });
    }
    let total = states.iter().map(|entry| u128::from(entry.times)).sum();
    Ok(StatesCount { total, rows })
}

/// The state that stands for all states that are equal or mirror images, with `rows` rows left to
/// fill.
fn canonical([left, down, right]: State, n: u32, rows: u32) -> State {
    // The columns from which a diagonal meets a free column in some row below it.
    let free = full_mask(n) & !down;
    let (mut lefts, mut rights) = (0, 0);
    for row in 0..rows {
        lefts |= free >> row;
        rights |= free << row;
    }
    let (left, right) = (left & lefts, right & rights);
    let mirror = |mask: u32| mask.reverse_bits() >> (32 - n);
    [left, down, right].min([mirror(right), mirror(down), mirror(left)])
}

/// Merges equal states of a list that is full. Returns the capacity that the list needs to take
/// another state, or `None` if its capacity is enough.
fn room_to_take(arrived: &mut Vec<Entry>) -> Option<usize> {
    let room = arrived.capacity();
    if arrived.len() < room {
        return None;
    }
    merge(arrived);
    (arrived.len() > room / 2 || room == 0).then_some((2 * room).max(1024))
}

fn merge(states: &mut Vec<Entry>) {
    states.sort_unstable_by_key(|entry| packed(entry.state));
    states.dedup_by(|entry, kept| {
        let equal = entry.state == kept.state;
        if equal {
            kept.times = kept.times.checked_add(entry.times).expect("below 2^64");
        }
        equal
    });
}

/// The three words as one number, which is compared faster.
fn packed([left, down, right]: State) -> u128 {
    u128::from(left) << 64 | u128::from(down) << 32 | u128::from(right)
}
